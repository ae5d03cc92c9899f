//! libc's own allocator, for pointers that are not ours, reached through weak references: a static program that links
//! this crate must not pull libc's malloc in beside it, and finds null here.

use core::arch::global_asm;
use core::ffi::c_void;

global_asm!(
    ".pushsection .data.rel.ro.hakmem_foreign,\"aw\",@progbits",
    ".balign 8",
    ".weak __libc_free",
    ".weak __libc_realloc",
    ".globl hakmem_libc_free",
    ".hidden hakmem_libc_free",
    "hakmem_libc_free: .quad __libc_free",
    ".globl hakmem_libc_realloc",
    ".hidden hakmem_libc_realloc",
    "hakmem_libc_realloc: .quad __libc_realloc",
    // The `free` that the dynamic linker gives everybody: ours, unless the executable has a malloc of its own.
    ".globl hakmem_public_free",
    ".hidden hakmem_public_free",
    "hakmem_public_free: .quad free",
    ".popsection",
);

type Free = unsafe extern "C" fn(*mut c_void);
type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;

unsafe extern "C" {
    #[link_name = "hakmem_libc_free"]
    static LIBC_FREE: Option<Free>;
    #[link_name = "hakmem_libc_realloc"]
    static LIBC_REALLOC: Option<Realloc>;
    #[link_name = "hakmem_public_free"]
    static PUBLIC_FREE: Free;
}

/// libc's `free`, if the process has one.
#[must_use]
pub fn libc_free() -> Option<Free> {
    // SAFETY: the word is written by the dynamic linker before any code of this image runs, and never again.
    unsafe { LIBC_FREE }
}

/// libc's `realloc`, if the process has one.
#[must_use]
pub fn libc_realloc() -> Option<Realloc> {
    // SAFETY: as in `libc_free`.
    unsafe { LIBC_REALLOC }
}

/// Calls the `free` that other objects of the process call: what C++'s `operator delete` does, since `operator new` calls
/// their `malloc`.
///
/// # Safety
/// As for `free`.
#[inline(always)]
pub unsafe fn public_free(block: *mut c_void) {
    // SAFETY: as in `libc_free`; this image is linked into a process that has a `free`.
    unsafe { PUBLIC_FREE(block) }
}

/// Usable bytes of a block of libc's, from the size word before it (glibc's layout since 2.0: chunk size with three
/// flag bits; a chunk of its own mapping has two words of overhead, any other one).
///
/// # Safety
/// `block` came from libc's allocator and is live.
#[must_use]
pub unsafe fn libc_usable_size(block: *mut u8) -> usize {
    const FLAGS: usize = 7;
    const MAPPED: usize = 2;
    // SAFETY: glibc keeps the size word directly below every live block.
    let word = unsafe { *block.cast::<usize>().sub(1) };
    (word & !FLAGS) - if word & MAPPED != 0 { 16 } else { 8 }
}

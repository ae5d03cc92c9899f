//! libc's own allocator, for pointers that are not ours, reached through weak references: a static program that links
//! this crate must not pull libc's malloc in beside it, and finds null here.

use crate::config::bins::OS_PAGE;
use core::arch::{asm, global_asm};
use core::ffi::c_void;
use core::ptr::without_provenance_mut;

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

/// Whether a pointer that is not ours can be a block of another allocator: its surroundings are mapped, and it points
/// neither into a loaded object (a static variable) nor into the calling thread's stack. libc's own checks would miss many
/// of these, and take the pointer.
#[must_use]
pub fn plausible(block: *mut u8) -> bool {
    mapped(block) && !on_stack(block.addr()) && !in_object(block.addr())
}

/// Whether a block and the words that libc keeps below it can be read.
fn mapped(block: *mut u8) -> bool {
    let mut resident = [0u8; 2];
    let page = block.wrapping_sub(16).map_addr(|address| address & !(OS_PAGE - 1));
    // SAFETY: mincore writes one byte for each page of the range, one or two, and fails if one is not mapped.
    unsafe { libc::mincore(page.cast(), block.addr() - page.addr() + 1, (&raw mut resident).cast()) == 0 }
}

/// Whether `address` lies between here and the end of the calling thread's stack. That is where the kernel put the
/// program's random bytes for the first thread, and the thread's control block for any other.
fn on_stack(address: usize) -> bool {
    let here = (&raw const address).addr();
    let control: usize;
    // SAFETY: the word at fs:0 holds the control block's own address, by the ABI of thread-local storage.
    unsafe { asm!("mov {0}, qword ptr fs:[0]", out(reg) control, options(pure, readonly, nostack, preserves_flags)) };
    // SAFETY: getauxval only reads.
    let random = unsafe { libc::getauxval(libc::AT_RANDOM) } as usize;
    [control, random].into_iter().filter(|&end| end > here).min().is_some_and(|end| (here..end).contains(&address))
}

/// Whether `address` lies in a segment of a loaded object.
fn in_object(address: usize) -> bool {
    unsafe extern "C" fn holds(info: *mut libc::dl_phdr_info, _: usize, address: *mut c_void) -> libc::c_int {
        // SAFETY: the dynamic linker describes a loaded object, with as many program headers as it says.
        let (start, headers) = unsafe {
            let info = &*info;
            (info.dlpi_addr as usize, core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)))
        };
        let inside = headers.iter().any(|header| {
            header.p_type == libc::PT_LOAD
                && address.addr().wrapping_sub(start.wrapping_add(header.p_vaddr as usize)) < header.p_memsz as usize
        });
        libc::c_int::from(inside)
    }
    // SAFETY: the callback reads what it is given and nothing else; the address is passed as an opaque pointer.
    unsafe { libc::dl_iterate_phdr(Some(holds), without_provenance_mut(address)) != 0 }
}

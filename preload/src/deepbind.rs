//! `dlopen` without `RTLD_DEEPBIND`.
//!
//! A library opened with that flag binds `free` to libc's before it looks anywhere else, and then frees blocks that the
//! rest of the program got from here (PHP opens its extensions so). No `malloc` replacement can survive that, so the
//! flag is taken away, as the sanitizers do: the library then binds as every other one.
//!
//! The real `dlopen` finds search paths and namespaces by its caller's address, so this one may not call it: it jumps.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// The function of <dlfcn.h>.
///
/// # Safety
/// As libc has it.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void {
    core::arch::naked_asm!(
        "and esi, {mask}",
        "mov rax, qword ptr [rip + {real}]",
        "test rax, rax",
        "je 2f",
        "jmp rax",
        "2: push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {find}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        mask = const !RTLD_DEEPBIND,
        real = sym REAL,
        find = sym find,
    )
}

/// From <dlfcn.h>: bind to the library's own dependencies first.
const RTLD_DEEPBIND: c_int = 8;
/// From <dlfcn.h>: the handle that finds the next definition after the caller's.
const RTLD_NEXT: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);

/// libc's `dlopen`, once it was looked up.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

extern "C" fn find() -> *mut c_void {
    // SAFETY: the name ends with a null byte. Every glibc that can load this library has a dlopen.
    let real = unsafe { dlsym(RTLD_NEXT, c"dlopen".as_ptr()) };
    // Relaxed: the address is all that matters, and it is the same for everybody.
    REAL.store(real, Ordering::Relaxed);
    real
}

//! `errno`: set where the C ABI reports a failure, kept everywhere else.

use libc::c_int;

/// The error code of a request that cannot be met.
pub const ENOMEM: c_int = libc::ENOMEM;
/// The error code of an argument that no call accepts.
pub const EINVAL: c_int = libc::EINVAL;

/// Sets the calling thread's `errno`.
pub fn set(code: c_int) {
    // SAFETY: glibc returns the address of the calling thread's errno, valid for the life of the thread.
    unsafe { *libc::__errno_location() = code }
}

/// The calling thread's `errno`.
#[must_use]
pub fn get() -> c_int {
    // SAFETY: as in `set`.
    unsafe { *libc::__errno_location() }
}

/// Runs `work`, system calls included, and puts `errno` back to what it was before.
#[inline(always)]
pub fn kept<R>(work: impl FnOnce() -> R) -> R {
    let before = get();
    let result = work();
    set(before);
    result
}

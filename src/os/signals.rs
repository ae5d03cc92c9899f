//! The calling thread's signal mask: tells a signal handler from ordinary code, where it is worth a system call.

/// The signals that are blocked, one bit each. A handler runs with its own signal blocked (unless it asked for
/// SA_NODEFER), so a mask that has changed may mean that a handler is at work.
#[must_use]
pub fn blocked() -> u64 {
    let mut mask = 0u64;
    // SAFETY: with a null new mask the call only writes the old one, eight bytes as the kernel's sets have.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_BLOCK,
            core::ptr::null::<u64>(),
            &raw mut mask,
            size_of::<u64>(),
        );
    }
    mask
}

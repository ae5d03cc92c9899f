//! The calling thread's signal mask, which tells a signal handler from ordinary code where it is worth a system call; and the
//! one signal that a counting preset answers.

use core::ffi::c_int;
use core::mem::zeroed;
use core::ptr::{null, null_mut};

/// The signal on which a program reports what it has counted.
const REPORT: c_int = libc::SIGUSR2;

/// Has `handler` run on SIGUSR2, unless the program has a use for that signal already.
pub fn on_report(handler: extern "C" fn(c_int)) {
    // SAFETY: all-zero is valid for the structure, which both calls may access; the handler is safe in any state.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        if libc::sigaction(REPORT, null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(REPORT, &raw const action, null_mut());
        }
    }
}

/// Blocks every signal that can be blocked and returns the mask as it was.
#[must_use]
pub fn block_all() -> u64 {
    change(&u64::MAX)
}

/// Makes `mask` the calling thread's signal mask.
pub fn restore(mask: u64) {
    change(&mask);
}

/// The signals that are blocked, one bit each. A handler runs with its own signal blocked (unless it asked for
/// SA_NODEFER), so a mask that has changed may mean that a handler is at work.
#[must_use]
pub fn blocked() -> u64 {
    change(null())
}

/// Sets the mask, unless `new` is null; returns the old one.
fn change(new: *const u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: `new` is null or points to a set, `old` is writable; sets are eight bytes for the kernel. The system call
    // itself, since libc keeps some signals out of a caller's hands, and those have handlers too.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, new, &raw mut old, size_of::<u64>());
    }
    old
}

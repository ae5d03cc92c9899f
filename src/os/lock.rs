//! A futex lock of four bytes, zero when free, so that it can live in zeroed statics and mapped metadata.
//!
//! Held for short stretches only: no holder maps, unmaps, purges or clears memory.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody may sleep on it.
const CONTENDED: u32 = 2;

/// Looks at a held lock this often before going to sleep: longer than most holders take, shorter than a system call.
const SPINS: u32 = 60;

/// The bare lock. Where it guards a value, use [`Locked`].
#[repr(transparent)]
pub struct Lock(AtomicU32);

impl Lock {
    /// A free lock.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Takes the lock, sleeping while another thread has it.
    #[inline]
    pub fn lock(&self) {
        // Acquire: what the last holder wrote is seen from here on.
        if self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.lock_contended();
        }
    }

    /// Takes the lock if nobody has it.
    pub fn try_lock(&self) -> bool {
        // Acquire as in `lock`.
        self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn lock_contended(&self) {
        for _ in 0..SPINS {
            // Relaxed: only the exchange below takes the lock.
            if self.0.load(Ordering::Relaxed) == FREE
                && self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            core::hint::spin_loop();
        }
        // Acquire as in `lock`. Marked contended even when it was free: others may sleep still.
        while self.0.swap(CONTENDED, Ordering::Acquire) != FREE {
            futex(&self.0, libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, CONTENDED);
        }
    }

    /// Gives the lock back. The caller holds it.
    #[inline]
    pub fn unlock(&self) {
        // Release: the next holder sees what this one wrote.
        if self.0.swap(FREE, Ordering::Release) == CONTENDED {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        futex(&self.0, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
    }

    /// Makes the lock free, whoever held it: for the child of a fork, which has one thread and no sleepers.
    pub fn reset(&self) {
        // Relaxed: the only thread of the process writes it.
        self.0.store(FREE, Ordering::Relaxed);
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}

fn futex(word: &AtomicU32, operation: libc::c_int, value: u32) {
    // errno is kept: waiting returns EAGAIN or EINTR as a matter of course, on calls that succeed.
    super::errno::kept(|| {
        // SAFETY: the word outlives the call; wait and wake read no other argument (the time-out is null: none).
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, core::ptr::null::<u8>()) }
    });
}

/// What to do about a lock that is held.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Wait for it.
    Wait,
    /// Do without: the holder may be the very code that a signal handler interrupted.
    Try,
}

/// A value and the lock that guards it.
pub struct Locked<T> {
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, and a guard exists only while its thread holds the lock.
unsafe impl<T> Sync for Locked<T> {}

impl<T> Locked<T> {
    /// A free lock around `value`.
    pub const fn new(value: T) -> Self {
        Self { lock: Lock::new(), value: UnsafeCell::new(value) }
    }

    /// Takes the lock; dropping the guard gives it back.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        self.lock.lock();
        Guard { of: self }
    }

    /// Takes the lock as `patience` says; None if it is held and that may not be waited for.
    #[inline]
    pub fn lock_with(&self, patience: Patience) -> Option<Guard<'_, T>> {
        match patience {
            Patience::Wait => Some(self.lock()),
            // Lazily: a guard that exists gives the lock back when it goes.
            Patience::Try => self.lock.try_lock().then(|| Guard { of: self }),
        }
    }

    /// The lock itself, for the fork hooks, which hold every lock at once.
    pub fn raw(&self) -> &Lock {
        &self.lock
    }
}

/// The right to use what a [`Locked`] guards.
pub struct Guard<'a, T> {
    of: &'a Locked<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard's existence means that this thread holds the lock.
        unsafe { &*self.of.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; the guard is borrowed mutably, so no other reference exists.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.of.lock.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_wait_leaves_a_held_lock_held() {
        let locked = Locked::new(1);
        let mut first = locked.lock();
        assert!(locked.lock_with(Patience::Try).is_none());
        assert!(locked.lock_with(Patience::Try).is_none(), "the refusal gave the lock back");
        *first += 1;
        drop(first);
        assert_eq!(locked.lock_with(Patience::Try).map(|guard| *guard), Some(2));
    }
}

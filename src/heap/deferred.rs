//! Blocks that could not be freed on the spot: a signal handler freed them while its thread was in a slow path, whose
//! locks and lists it must not touch. Whoever comes through a slow path next frees them.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A stack of freed blocks, linked through their first words. Pushed one by one and taken whole, so it has no ABA.
pub struct Deferred(AtomicPtr<*mut u8>);

impl Deferred {
    /// No blocks.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// Adds a block.
    ///
    /// # Safety
    /// `block` is a live block, which the caller gives up; every block has room for a link.
    pub unsafe fn push(&self, block: *mut u8) {
        let link: *mut *mut u8 = block.cast();
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the block is the caller's until the exchange succeeds.
            unsafe { *link = head.cast() };
            // Release: whoever takes the stack sees the links.
            match self.0.compare_exchange_weak(head, link, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes all blocks and hands each to `free`.
    #[inline]
    pub fn drain(&self, mut free: impl FnMut(*mut u8)) {
        // Relaxed: a hint, in the way of every slow path.
        if self.0.load(Ordering::Relaxed).is_null() {
            return;
        }
        // Acquire: pairs with the release in `push`.
        let mut link = self.0.swap(null_mut(), Ordering::Acquire);
        while !link.is_null() {
            // SAFETY: blocks on the stack belong to whoever took it.
            let next = unsafe { *link };
            free(link.cast());
            link = next.cast();
        }
    }
}

impl Default for Deferred {
    fn default() -> Self {
        Self::new()
    }
}

//! Magazines: fixed stacks of free blocks, the currency between thread heaps, depots and central bins.
//!
//! A magazine is 64 slots, 512 bytes, aligned to its size. Blocks fill it downwards from the last slot in memory to a
//! null slot below the lowest block, and `top` points to the last block pushed:
//!
//! ```text
//! slot   0 ...  n      n+1 ...        t       t+1 ... 63
//!        ?     null    block ... block(top)   stale
//! ```
//!
//! So *empty* is "the slot at top is null", and *full* is "the slot above top is in the next 512 bytes". Where the null
//! slot lies decides the capacity: `63 - n` blocks.
//!
//! One static dummy, all null and with its top at slot 63, is empty and full at once. It stands wherever a thread heap
//! has no magazine, and is never written.

use crate::config::bins::MAGAZINE_SLOTS;
use core::ptr::null_mut;

/// Entries of a thread heap's table: every code of the page map has one.
pub const TABLE: usize = 96;

/// One slot: a free block, or null.
pub type Slot = *mut u8;

/// A stack of free blocks; see the module's head for its invariants.
#[repr(C, align(512))]
pub struct Magazine {
    slots: [Slot; MAGAZINE_SLOTS],
}

const LAST: usize = MAGAZINE_SLOTS - 1;

/// Whether `top`, the slot to be written by a push, lies beyond its magazine.
#[inline(always)]
#[must_use]
pub fn beyond(top: *mut Slot) -> bool {
    top.addr().is_multiple_of(size_of::<Magazine>())
}

impl Magazine {
    /// Makes the magazine empty with room for `capacity` blocks; returns its top.
    ///
    /// # Safety
    /// `this` is a magazine that the caller owns, and `1 <= capacity < MAGAZINE_SLOTS`.
    pub unsafe fn empty(this: *mut Self, capacity: usize) -> *mut Slot {
        debug_assert!((1..MAGAZINE_SLOTS).contains(&capacity));
        // SAFETY: the index is below 63 by the caller's promise.
        unsafe {
            let null = Self::slot(this, LAST - capacity);
            *null = null_mut();
            null
        }
    }

    /// Index of the lowest block's slot in a magazine with room for `capacity` blocks.
    #[inline]
    pub fn lowest(capacity: usize) -> usize {
        MAGAZINE_SLOTS - capacity
    }

    /// Moves the `count` blocks that lie from slot `from` on to where they belong with room for `capacity` blocks, above a
    /// null slot; returns the top.
    ///
    /// # Safety
    /// The caller owns the magazine; `count <= capacity < MAGAZINE_SLOTS` and `from + count <= MAGAZINE_SLOTS`.
    pub unsafe fn settle(this: *mut Self, from: usize, count: usize, capacity: usize) -> *mut Slot {
        // SAFETY: all slots named lie within the magazine by the caller's promise.
        unsafe {
            let null = Self::slot(this, Self::lowest(capacity) - 1);
            // The null slot may hold a block of a magazine that has less room now, so it is written last.
            core::ptr::copy(Self::slot(this, from), null.add(1), count);
            *null = null_mut();
            null.add(count)
        }
    }

    /// The top of a magazine that is full.
    ///
    /// # Safety
    /// `this` is a magazine.
    #[inline]
    pub unsafe fn full_top(this: *mut Self) -> *mut Slot {
        // SAFETY: the last slot exists.
        unsafe { Self::slot(this, LAST) }
    }

    /// The magazine that `top` points into.
    #[inline]
    pub fn of(top: *mut Slot) -> *mut Self {
        top.map_addr(|address| address & !(size_of::<Self>() - 1)).cast()
    }

    /// Blocks below and at `top`, whose magazine has room for `capacity` blocks.
    #[inline]
    pub fn count(top: *mut Slot, capacity: usize) -> usize {
        let index = top.addr() / size_of::<Slot>() % MAGAZINE_SLOTS;
        // Another thread's top and capacity may not belong together, if only for the sum of statistics.
        index.saturating_sub(LAST - capacity)
    }

    /// The link of a magazine at rest (in a chain, a depot or a stock); it lies in slot 0, which holds no block.
    ///
    /// # Safety
    /// `this` is a magazine that the caller owns or whose list is locked by the caller.
    #[inline]
    pub unsafe fn link(this: *mut Self) -> *mut *mut Self {
        // SAFETY: slot 0 exists and is free to use: the lowest block of any capacity lies above it.
        unsafe { Self::slot(this, 0).cast() }
    }

    /// The slots of the `count` blocks from `top` downwards, as a slice in memory order.
    ///
    /// # Safety
    /// The caller owns the magazine, which holds at least `count` blocks, and nobody else touches it during `'a`.
    pub unsafe fn blocks<'a>(top: *mut Slot, count: usize) -> &'a [Slot] {
        // SAFETY: the slots lie within the magazine by the caller's promise.
        unsafe { core::slice::from_raw_parts(top.sub(count.wrapping_sub(1)), count) }
    }

    /// Address of slot `index`.
    ///
    /// # Safety
    /// `this` is a magazine and `index < MAGAZINE_SLOTS`.
    #[inline]
    pub unsafe fn slot(this: *mut Self, index: usize) -> *mut Slot {
        // SAFETY: by the caller's promise the slot is inside the magazine.
        unsafe { (&raw mut (*this).slots).cast::<Slot>().add(index) }
    }
}

/// Magazines at rest, linked through [`Magazine::link`]; the last pushed comes out first. Who guards it is up to its
/// owner.
#[repr(transparent)]
pub struct MagazineStack(*mut Magazine);

impl MagazineStack {
    /// No magazines.
    #[must_use]
    pub const fn new() -> Self {
        Self(null_mut())
    }

    /// Adds a magazine.
    ///
    /// # Safety
    /// The caller owns `magazine` and gives it up.
    pub unsafe fn push(&mut self, magazine: *mut Magazine) {
        // SAFETY: owned by the caller, so the link may be written.
        unsafe { *Magazine::link(magazine) = self.0 };
        self.0 = magazine;
    }

    /// Takes a magazine, its slot 0 null again; None if there is none.
    pub fn pop(&mut self) -> Option<*mut Magazine> {
        if self.0.is_null() {
            return None;
        }
        let magazine = self.0;
        // SAFETY: magazines on the stack belong to it, and it is borrowed mutably.
        unsafe {
            let link = Magazine::link(magazine);
            self.0 = *link;
            *link = null_mut();
        }
        Some(magazine)
    }
}

/// A [`MagazineStack`] that knows its length.
pub struct MagazineList {
    stack: MagazineStack,
    /// Magazines in the list.
    pub len: u32,
}

impl MagazineList {
    /// No magazines.
    #[must_use]
    pub const fn new() -> Self {
        Self { stack: MagazineStack::new(), len: 0 }
    }

    /// Adds a magazine.
    ///
    /// # Safety
    /// The caller owns `magazine` and gives it up.
    pub unsafe fn push(&mut self, magazine: *mut Magazine) {
        // SAFETY: by the caller's promise.
        unsafe { self.stack.push(magazine) };
        self.len += 1;
    }

    /// Takes a magazine, its slot 0 null again; None if there is none.
    pub fn pop(&mut self) -> Option<*mut Magazine> {
        let magazine = self.stack.pop()?;
        self.len -= 1;
        Some(magazine)
    }
}

/// The static dummy: empty and full at once, never written.
#[repr(transparent)]
pub struct Dummy(Magazine);

// SAFETY: it is read-only and all null.
unsafe impl Sync for Dummy {}

/// See [`Dummy`].
pub static DUMMY: Dummy = Dummy(Magazine { slots: [null_mut(); MAGAZINE_SLOTS] });

impl Dummy {
    /// The dummy's top: its last slot.
    #[must_use]
    pub const fn top(&'static self) -> *mut Slot {
        (&raw const self.0.slots[LAST]).cast_mut()
    }
}

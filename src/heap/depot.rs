//! Depots: full magazines on their way from one thread to another, per bin of an arena.
//!
//! A full magazine changes hands whole: 63 blocks an exchange, no bitmap touched. Whoever takes one leaves an empty one,
//! whoever brings one takes an empty one along, so producers and consumers do not meet at a common stock.
//! Bounded by bytes per arena against what is out: blocks beyond that go home to their pages.

use super::arena::Arena;
use super::magazine::{Magazine, MagazineList};
use super::{central, stock};
use crate::config::Config;
use crate::os::lock::Locked;
use core::sync::atomic::{AtomicU32, Ordering};

/// Bytes that the depots of an arena may hold whatever is out.
const FLOOR: usize = 128 << 10;
/// Of the bytes that are out, one in this many may rest in depots.
const SHARE: usize = 8;
/// Empty magazines that wait in one depot; more go back to the stock.
const EMPTIES: u32 = 8;

struct Both {
    full: MagazineList,
    empty: MagazineList,
}

/// The depot of one bin.
pub struct Depot {
    /// Full magazines, readable without the lock: most refills find none and need not take it.
    full: AtomicU32,
    both: Locked<Both>,
}

/// Blocks of a full magazine of `bin`, in bytes.
fn weight<C: Config>(bin: usize) -> usize {
    // SAFETY: callers pass bins.
    let shape = unsafe { C::shape(bin) };
    usize::from(shape.capacity) * shape.size as usize
}

impl Depot {
    /// A depot without magazines.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            full: AtomicU32::new(0),
            both: Locked::new(Both { full: MagazineList::new(), empty: MagazineList::new() }),
        }
    }

    /// The lock, for the fork hooks.
    pub fn raw(&self) -> &crate::os::lock::Lock {
        self.both.raw()
    }

    /// Number of full magazines.
    pub fn len(&self) -> usize {
        // Relaxed: a hint; the lock decides.
        self.full.load(Ordering::Relaxed) as usize
    }

    /// Whether there is no full magazine.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Depot {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes a full magazine of `bin` from `arena`'s depot.
pub fn take_full<C: Config>(arena: &Arena<C>, bin: usize) -> Option<*mut Magazine> {
    let depot = &arena.bin(bin).depot;
    if depot.is_empty() {
        return None;
    }
    let mut both = depot.both.lock();
    let full = both.full.pop()?;
    // Relaxed, here and below: counts, compared with limits.
    depot.full.store(both.full.len, Ordering::Relaxed);
    drop(both);
    arena.depot_bytes.fetch_sub(weight::<C>(bin), Ordering::Relaxed);
    Some(full)
}

/// Leaves an empty magazine in the depot of `bin`, in exchange for a full one; false if it has enough of them.
///
/// # Safety
/// The caller owns `empty` and gives it up if that is true.
pub unsafe fn give_empty<C: Config>(arena: &Arena<C>, bin: usize, empty: *mut Magazine) -> bool {
    let mut both = arena.bin(bin).depot.both.lock();
    let room = both.empty.len < EMPTIES;
    if room {
        // SAFETY: by the caller's promise.
        unsafe { both.empty.push(empty) };
    }
    room
}

/// Gives a full magazine of `bin` to `arena`'s depot: Ok with an empty one in exchange, or null if there is none; Err if
/// the depots hold enough, and the magazine stays with the caller.
///
/// # Safety
/// The caller owns `full`, a full magazine of `bin`.
pub unsafe fn give_full<C: Config>(arena: &Arena<C>, bin: usize, full: *mut Magazine) -> Result<*mut Magazine, ()> {
    // Relaxed, here and below: counts, compared with limits.
    let limit = FLOOR + arena.out.load(Ordering::Relaxed) / SHARE;
    if arena.depot_bytes.load(Ordering::Relaxed) + weight::<C>(bin) > limit {
        return Err(());
    }
    arena.depot_bytes.fetch_add(weight::<C>(bin), Ordering::Relaxed);
    let depot = &arena.bin(bin).depot;
    let mut both = depot.both.lock();
    // SAFETY: the caller owned it and gives it up.
    unsafe { both.full.push(full) };
    depot.full.store(both.full.len, Ordering::Relaxed);
    Ok(both.empty.pop().unwrap_or(core::ptr::null_mut()))
}

/// Returns every block in `arena`'s depots to its page, and every magazine to the stock.
pub fn drain<C: Config>(arena: &Arena<C>) {
    (1..C::BINS).for_each(|bin| drain_bin(arena, bin));
}

/// [`drain`] for one bin.
pub fn drain_bin<C: Config>(arena: &Arena<C>, bin: usize) {
    // SAFETY: callers pass bins.
    let capacity = usize::from(unsafe { C::shape(bin) }.capacity);
    while let Some(full) = take_full(arena, bin) {
        // SAFETY: what was taken is this thread's, with `capacity` blocks up to its last slot.
        unsafe {
            central::give_back::<C>(bin, Magazine::blocks(Magazine::full_top(full), capacity));
            stock::give_magazine(arena, full);
        }
    }
}

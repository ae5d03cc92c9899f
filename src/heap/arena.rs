//! Arenas: independent sets of central bins, depots, pages and metadata.
//!
//! A thread belongs to one arena, a page too. Threads in different arenas share no lock and no page, so neighbouring
//! blocks do not end up with different threads. A thread that allocates more than a little gets the arena with the
//! fewest live threads, the lowest such: programs that start and end threads stay within few arenas. All others are
//! guests of the first arena.

use super::central::Central;
use super::depot::Depot;
use super::pages::Pages;
use super::scavenge::Scavenger;
use super::state::State;
use super::stock::Stock;
use crate::config::Config;
use crate::config::bins::MAX_BINS;
use crate::os::lock::Locked;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Most arenas; threads are spread over fewer where there are few processors, and share them beyond that.
pub const ARENAS: usize = 64;

/// What the threads of an arena share for one bin.
#[repr(align(64))]
pub struct Bin<C: Config> {
    /// Full magazines, and empty ones to exchange for them.
    pub depot: Depot,
    /// Pages with free blocks.
    pub central: Locked<Central<C>>,
}

/// One arena. All-zero is its initial state, so that unused arenas cost no memory.
pub struct Arena<C: Config> {
    /// The front end's state that it belongs to; null until its first thread comes.
    state: AtomicPtr<State<C>>,
    /// Magazines and thread heaps.
    pub stock: Locked<Stock<C>>,
    /// Per bin.
    pub bins: [Bin<C>; MAX_BINS],
    /// Segments and pages.
    pub pages: Locked<Pages<C>>,
    /// Bytes of all blocks that are out of its bitmaps: with the program, or cached in magazines.
    pub out: AtomicUsize,
    /// Pages that serve bins.
    pub bin_pages: AtomicUsize,
    /// Bytes of the purged OS pages in them.
    pub scavenged: AtomicUsize,
    /// When and how its pages are scavenged.
    pub scavenger: Scavenger,
    /// Pages of its live spans.
    pub span_pages: AtomicUsize,
    /// Bytes of the blocks in its depots' full magazines.
    pub depot_bytes: AtomicUsize,
}

impl<C: Config> Arena<C> {
    /// An arena that nobody has used.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: AtomicPtr::new(core::ptr::null_mut()),
            stock: Locked::new(Stock::new()),
            bins: [const { Bin { depot: Depot::new(), central: Locked::new(Central::new()) } }; MAX_BINS],
            pages: Locked::new(Pages::new()),
            out: AtomicUsize::new(0),
            bin_pages: AtomicUsize::new(0),
            scavenged: AtomicUsize::new(0),
            scavenger: Scavenger::new(),
            span_pages: AtomicUsize::new(0),
            depot_bytes: AtomicUsize::new(0),
        }
    }

    /// Ties the arena to its state, before its first use.
    pub fn belong_to(&self, state: &'static State<C>) {
        // Release: whoever sees the pointer may follow it.
        self.state.store((&raw const *state).cast_mut(), Ordering::Release);
    }

    /// Whether it was ever used.
    pub fn used(&self) -> bool {
        !self.state.load(Ordering::Acquire).is_null()
    }

    /// The state it belongs to. Only for arenas in use.
    pub fn state(&self) -> &'static State<C> {
        // SAFETY: an arena is tied to its state, a static, before a thread or a page can refer to it. Acquire: pairs
        // with `belong_to`.
        unsafe { &*self.state.load(Ordering::Acquire) }
    }

    /// Bytes in blocks that are with the program or cached, spans included.
    pub fn live(&self) -> usize {
        // Relaxed: counts, compared with limits.
        self.out.load(Ordering::Relaxed) + self.span_pages.load(Ordering::Relaxed) * C::PAGE
    }

    /// What the threads of this arena share for `bin`, which must be below `C::BINS`.
    #[inline]
    pub fn bin(&self, bin: usize) -> &Bin<C> {
        debug_assert!(bin < C::BINS);
        // SAFETY: bins come from the page map and the size tables, which hold nothing else.
        unsafe { self.bins.get_unchecked(bin) }
    }
}

impl<C: Config> Default for Arena<C> {
    fn default() -> Self {
        Self::new()
    }
}

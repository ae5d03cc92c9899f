//! What a counting preset counts: plain counters of each thread behind its heap, and one set for all that is no thread's.
//!
//! A thread's counters lie in memory behind its [`ThreadHeap`](super::thread::ThreadHeap), and only if its preset counts:
//! see [`ThreadHeap::counters`](super::thread::ThreadHeap::counters). One thread writes them, so they need no locked
//! instruction; whoever sums them up may be a few calls behind. Called by the front and by whoever asks for the sums.

use super::state::State;
use crate::config::bins::MAX_BINS;
use crate::config::{Class, Config};
use crate::os::report::Line;
use core::sync::atomic::{AtomicU64, Ordering};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Path {
    /// `malloc` took a block from the current magazine.
    AllocateHit,
    /// `malloc` found the magazine empty.
    AllocateRefill,
    /// `malloc` took whole pages.
    AllocateSpan,
    /// `malloc` took a mapping of its own.
    AllocateHuge,
    /// `malloc` served a thread without a heap, or a signal handler in the middle of a slow path.
    AllocateWithoutHeap,
    /// `free` put a block on the current magazine.
    FreeHit,
    /// `free` found the magazine full, or none.
    FreeFlush,
    /// `free` gave whole pages back.
    FreeSpan,
    /// `free` gave a mapping of its own back.
    FreeHuge,
    /// `free` handed a block to libc.
    FreeForeign,
    /// `free` was given null.
    FreeNull,
    /// `free` served a thread without a heap.
    FreeWithoutHeap,
}

impl Path {
    /// Every path, in order.
    pub const ALL: [Self; 12] = [
        Self::AllocateHit,
        Self::AllocateRefill,
        Self::AllocateSpan,
        Self::AllocateHuge,
        Self::AllocateWithoutHeap,
        Self::FreeHit,
        Self::FreeFlush,
        Self::FreeSpan,
        Self::FreeHuge,
        Self::FreeForeign,
        Self::FreeNull,
        Self::FreeWithoutHeap,
    ];

    /// Its name in what is printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllocateHit => "malloc hit",
            Self::AllocateRefill => "malloc refill",
            Self::AllocateSpan => "malloc span",
            Self::AllocateHuge => "malloc huge",
            Self::AllocateWithoutHeap => "malloc without heap",
            Self::FreeHit => "free hit",
            Self::FreeFlush => "free flush",
            Self::FreeSpan => "free span",
            Self::FreeHuge => "free huge",
            Self::FreeForeign => "free foreign",
            Self::FreeNull => "free null",
            Self::FreeWithoutHeap => "free without heap",
        }
    }
}

/// Counters. All-zero is their initial state.
pub struct Counters {
    allocated: [AtomicU64; MAX_BINS],
    freed: [AtomicU64; MAX_BINS],
    paths: [AtomicU64; Path::ALL.len()],
}

/// Adds one to a counter that one thread writes: an `inc` in memory.
#[inline(always)]
fn increment(counter: &AtomicU64) {
    // Relaxed: nothing is published with it.
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// A counter of `counters`, which `index` lies within.
#[inline(always)]
fn at(counters: &[AtomicU64], index: usize) -> &AtomicU64 {
    debug_assert!(index < counters.len());
    // SAFETY: callers pass bins and paths.
    unsafe { counters.get_unchecked(index) }
}

impl Counters {
    /// Nothing counted.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            allocated: [const { AtomicU64::new(0) }; MAX_BINS],
            freed: [const { AtomicU64::new(0) }; MAX_BINS],
            paths: [const { AtomicU64::new(0) }; Path::ALL.len()],
        }
    }

    /// Counts a block of `bin`, or of whole pages if that is 0, that was allocated by `path`, as far as the preset counts.
    /// For the owning thread.
    #[inline(always)]
    pub fn allocate<C: Config>(&self, bin: usize, path: Path) {
        if C::HEAP_STATS {
            increment(at(&self.allocated, bin));
        }
        self.take::<C>(path);
    }

    /// The same for a block that was freed.
    #[inline(always)]
    pub fn free<C: Config>(&self, bin: usize, path: Path) {
        if C::HEAP_STATS {
            increment(at(&self.freed, bin));
        }
        self.take::<C>(path);
    }

    /// Counts a call that took `path`. For the owning thread.
    #[inline(always)]
    pub fn take<C: Config>(&self, path: Path) {
        if C::PATH_STATS {
            increment(at(&self.paths, path as usize));
        }
    }

    /// Adds what `other` has counted, for any thread.
    pub fn add(&self, other: &Statistics) {
        // Relaxed: sums, and nothing is published with them.
        let pairs = self.all().zip(other.allocated.iter().chain(&other.freed).chain(&other.paths));
        pairs.filter(|&(_, &more)| more != 0).for_each(|(mine, &more)| _ = mine.fetch_add(more, Ordering::Relaxed));
    }

    /// What was counted.
    #[must_use]
    pub fn read(&self) -> Statistics {
        let mut counted = Statistics::new();
        counted.include(self);
        counted
    }

    /// Starts from nothing.
    pub fn reset(&self) {
        self.all().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        self.allocated.iter().chain(&self.freed).chain(&self.paths)
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

/// What a counting front end has counted, see [`Front::statistics`](crate::Front::statistics).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Blocks allocated, by bin; under 0 those of whole pages. All 0 unless the knob `heap-stats` is on.
    pub allocated: [u64; MAX_BINS],
    /// Blocks freed, likewise.
    pub freed: [u64; MAX_BINS],
    /// Calls, by [`Path`]. All 0 unless the knob `free-path-stats` is on.
    pub paths: [u64; Path::ALL.len()],
}

impl Statistics {
    /// Nothing counted.
    #[must_use]
    pub const fn new() -> Self {
        Self { allocated: [0; MAX_BINS], freed: [0; MAX_BINS], paths: [0; Path::ALL.len()] }
    }

    /// Calls that took `path`.
    #[must_use]
    pub fn path(&self, path: Path) -> u64 {
        self.paths.get(path as usize).copied().unwrap_or(0)
    }

    /// Adds what `counters` have counted.
    fn include(&mut self, counters: &Counters) {
        let sums = self.allocated.iter_mut().chain(&mut self.freed).chain(&mut self.paths);
        // Relaxed: the sums are as exact as the program is quiet.
        sums.zip(counters.all()).for_each(|(sum, counter)| *sum += counter.load(Ordering::Relaxed));
    }

    /// What all threads of `state` have counted; None for a signal handler that interrupted a slow path, whose locks may
    /// be held.
    #[must_use]
    pub fn of<C: Config>(state: &State<C>) -> Option<Self> {
        if !C::STATS || (state.busy)() {
            return None;
        }
        (state.set_busy)(true);
        let mut sums = Self::new();
        sums.include(&state.shared.counters);
        for arena in state.arenas() {
            let stock = arena.stock.lock();
            let mut heap = stock.live.first();
            // SAFETY: heaps in the list are initialised, and it is locked.
            while let Some(this) = unsafe { heap.as_ref() } {
                sums.include(this.counters());
                // SAFETY: it is in the list.
                heap = unsafe { stock.live.after(heap) };
            }
        }
        (state.set_busy)(false);
        Some(sums)
    }

    /// Prints a line on stderr for each bin and each path that was used, with the number of the process, whose children may
    /// print as well: `hakmem[71]: C5 208 bytes: 100 allocated, 40 freed`, `hakmem[71]: free hit 40`.
    pub fn print<C: Config>(&self) {
        // SAFETY: the call takes nothing and cannot fail.
        let process = unsafe { libc::getpid() } as usize;
        let start = |line: &mut Line| _ = line.text("hakmem[").decimal(process).text("]: ");
        for (bin, (&allocated, &freed)) in self.allocated.iter().zip(&self.freed).enumerate() {
            if allocated | freed != 0 {
                let size = C::size_of(bin);
                let mut line = Line::new();
                start(&mut line);
                match bin {
                    0 => line.text("whole pages: "),
                    _ => line.text(Class::of(size).name()).text(" ").decimal(size).text(" bytes: "),
                };
                line.decimal(allocated as usize).text(" allocated, ").decimal(freed as usize).text(" freed\n").print();
            }
        }
        for (path, &calls) in Path::ALL.iter().zip(&self.paths) {
            if calls != 0 {
                let mut line = Line::new();
                start(&mut line);
                line.text(path.name()).text(" ").decimal(calls as usize).text("\n").print();
            }
        }
    }
}

impl Default for Statistics {
    fn default() -> Self {
        Self::new()
    }
}

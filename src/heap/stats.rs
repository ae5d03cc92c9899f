//! Sums over a front end's heap, for `mallinfo2` and its kin. Exact while no other thread allocates.

use super::state::State;
use crate::config::Config;
use core::sync::atomic::Ordering;

/// Where the bytes are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Mapped for segments.
    pub segments: usize,
    /// Mapped for magazines, thread heaps and descriptors.
    pub metadata: usize,
    /// In blocks of bins that the program holds.
    pub blocks: usize,
    /// In spans that the program holds.
    pub spans: usize,
    /// In free blocks that threads and depots keep at hand.
    pub cached: usize,
    /// Number of those free blocks.
    pub cached_blocks: usize,
    /// In free pages that still have their memory.
    pub dirty: usize,
    /// In huge blocks that the program holds.
    pub huge: usize,
    /// Number of those huge blocks.
    pub huge_blocks: usize,
    /// In freed huge blocks kept for reuse.
    pub huge_cached: usize,
    /// Live threads that have a heap.
    pub threads: usize,
}

impl Usage {
    /// What `state`'s heap holds now; all zero for a signal handler that interrupted a slow path, whose locks may be held.
    #[must_use]
    pub fn of<C: Config>(state: &State<C>) -> Self {
        if (state.busy)() {
            return Self::default();
        }
        (state.set_busy)(true);
        let usage = Self::sum(state);
        (state.set_busy)(false);
        usage
    }

    fn sum<C: Config>(state: &State<C>) -> Self {
        let mut usage = Self::default();
        // Relaxed loads throughout: the sums are as exact as the program is quiet.
        for arena in state.arenas() {
            usage.blocks += arena.out.load(Ordering::Relaxed);
            usage.spans += arena.span_pages.load(Ordering::Relaxed) * C::PAGE;
            {
                let pages = arena.pages.lock();
                usage.segments += pages.segments * C::SEGMENT;
                usage.dirty += pages.dirty * C::PAGE;
            }
            for bin in 1..C::BINS {
                // SAFETY: `bin` is one.
                let most = usize::from(unsafe { C::shape(bin) }.capacity);
                usage.add_cached::<C>(bin, arena.bin(bin).depot.len() * most);
            }
            let stock = arena.stock.lock();
            usage.metadata += stock.mapped;
            let mut heap = stock.live.first();
            // SAFETY: heaps in the list are initialised, and it is locked.
            while let Some(this) = unsafe { heap.as_ref() } {
                usage.threads += 1;
                for bin in 1..C::BINS {
                    usage.add_cached::<C>(bin, this.cached(bin));
                }
                // SAFETY: it is in the list.
                heap = unsafe { stock.live.after(heap) };
            }
        }
        // What is out of the bitmaps and not in a cache is the program's.
        usage.blocks = usage.blocks.saturating_sub(usage.cached);
        let huge = &state.shared.huge;
        usage.huge = huge.live.load(Ordering::Relaxed);
        usage.huge_blocks = huge.blocks.load(Ordering::Relaxed);
        usage.huge_cached = huge.cached();
        usage
    }

    fn add_cached<C: Config>(&mut self, bin: usize, blocks: usize) {
        self.cached_blocks += blocks;
        self.cached += blocks * C::size_of(bin);
    }

    /// All bytes mapped from the OS.
    #[must_use]
    pub fn mapped(&self) -> usize {
        self.segments + self.metadata + self.huge + self.huge_cached
    }

    /// Bytes that the program holds.
    #[must_use]
    pub fn in_use(&self) -> usize {
        self.blocks + self.spans + self.huge
    }
}

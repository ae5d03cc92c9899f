//! Thread heaps: what a thread has for itself, and the two heaps that stand for none.
//!
//! The first words are the table that the hot path reads: per code of the page map, the top of the current magazine.
//! Codes that have no bin keep the dummy's top for ever, so their requests miss.
//!
//! A thread whose slot holds [`EMPTY`] has no heap yet, one whose slot holds [`DEAD`] has none any more: its exit hook
//! ran, and what its remaining destructors allocate and free is served block by block.

use super::arena::Arena;
use super::central;
use super::counters::Counters;
use super::list::{Linked, Links};
use super::magazine::{DUMMY, Dummy, Magazine, MagazineList, MagazineStack, Slot, TABLE};
use super::state::{FIRST, State};
use super::stock;
use crate::config::Config;
use crate::config::bins::{MAX_BINS, OS_PAGE};
use crate::os::signals;
use core::cell::{Cell, UnsafeCell};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering, compiler_fence};

/// What a thread keeps for one bin besides the current magazine's top. Written by its own thread only; the atomics are
/// also read by whoever sums up statistics.
pub struct BinCache {
    /// The current magazine, null for the dummy: what the table's top must lie in, see `repair`.
    pub current: Cell<*mut Magazine>,
    /// The other magazine: null, full or empty. A program that hovers at a magazine's boundary swaps the two.
    pub previous: Cell<*mut Magazine>,
    /// Full magazines beyond those two.
    pub chain: UnsafeCell<MagazineStack>,
    /// Full magazines: those in the chain, and `previous` if it is full.
    pub full: AtomicU32,
    /// Room of the current magazine; 0 stands for the first capacity.
    pub capacity: AtomicU8,
    /// Whether `previous` is full.
    pub previous_full: Cell<bool>,
}

/// One thread's heap; its counters follow in memory if the preset counts.
#[repr(C, align(512))]
pub struct ThreadHeap<C: Config> {
    /// Top of the current magazine of every bin.
    pub top: [AtomicPtr<Slot>; TABLE],
    /// The rest of what it keeps, per bin.
    pub bins: [BinCache; MAX_BINS],
    /// Its arena: the first one until the thread has shown that it allocates more than a little, see
    /// [`settle`](Self::settle).
    pub arena: Cell<&'static Arena<C>>,
    /// The number of the arena that it is counted in; None while it is a guest of the first one.
    pub seat: Cell<Option<usize>>,
    /// Magazines filled while it was a guest.
    fills: Cell<u8>,
    /// Empty magazines at hand.
    pub spare: UnsafeCell<MagazineList>,
    /// Bytes of the blocks in all chains.
    pub chain_bytes: Cell<usize>,
    /// Bytes of the blocks that all current magazines have room for beyond their first capacity.
    room: Cell<usize>,
    /// Most bytes that were out of the arena since its caches were last emptied.
    pub peak: Cell<usize>,
    /// Full magazines that pass before it is asked again whether to empty the caches.
    pub shrink_wait: Cell<u32>,
    /// The thread's signal mask outside of handlers, as far as is known.
    pub mask: Cell<u64>,
    /// The mask that was found last, if another.
    pub other_mask: Cell<u64>,
    /// Its place in the stock's lists.
    links: Links<ThreadHeap<C>>,
}

// One OS page, so that a thread that allocates little stays small.

/// A table that has the dummy's top everywhere, standing for a heap.
#[repr(C, align(64))]
pub struct NoHeap([*const Slot; TABLE]);

// SAFETY: it is read-only, and so is the dummy that it points to.
unsafe impl Sync for NoHeap {}

impl NoHeap {
    const fn new(dummy: &'static Dummy) -> Self {
        Self([dummy.top().cast_const(); TABLE])
    }

    /// Its address in the guise of a thread heap, of which only the table may be read.
    pub fn as_heap<C: Config>(&'static self) -> *mut ThreadHeap<C> {
        (&raw const *self).cast_mut().cast()
    }
}

/// The heap of a thread that has not allocated yet: the initial value of the thread slot.
pub static EMPTY: NoHeap = NoHeap::new(&DUMMY);
/// The heap of a thread whose exit hook ran.
pub static DEAD: NoHeap = NoHeap::new(&DUMMY);

impl<C: Config> Linked for ThreadHeap<C> {
    fn links(this: *mut Self) -> *mut Links<Self> {
        // SAFETY: heaps in lists live in the stock's memory.
        unsafe { &raw mut (*this).links }
    }
}

impl BinCache {
    const fn new() -> Self {
        Self {
            current: Cell::new(null_mut()),
            previous: Cell::new(null_mut()),
            chain: UnsafeCell::new(MagazineStack::new()),
            full: AtomicU32::new(0),
            capacity: AtomicU8::new(0),
            previous_full: Cell::new(false),
        }
    }

    /// Adds `more` to the count of full magazines.
    pub fn count_full(&self, more: i32) {
        // Relaxed: written by one thread, read for statistics.
        self.full.store(self.full.load(Ordering::Relaxed).wrapping_add_signed(more), Ordering::Relaxed);
    }
}

impl<C: Config> ThreadHeap<C> {
    /// Bytes of a heap and of what follows it.
    pub const BYTES: usize = {
        // A thread that allocates little stays small.
        assert!(size_of::<Self>() <= OS_PAGE);
        size_of::<Self>() + if C::STATS { size_of::<Counters>() } else { 0 }
    };

    /// The thread's counters. Only in a preset that counts.
    #[inline(always)]
    pub fn counters(&self) -> &Counters {
        const { assert!(align_of::<Self>() >= align_of::<Counters>()) };
        debug_assert!(C::STATS);
        // SAFETY: in a preset that counts, the heap's memory goes on with its counters.
        unsafe { &*(&raw const *self).add(1).cast::<Counters>() }
    }

    /// The calling thread's heap in `state`, or None if it has none.
    #[inline]
    pub fn of(state: &State<C>) -> Option<&'static Self> {
        let slot = (state.slot)();
        if slot == EMPTY.as_heap() || slot == DEAD.as_heap() {
            return None;
        }
        // SAFETY: a slot holds one of the two stand-ins or the calling thread's own heap, which lives in the stock's
        // memory; that is never unmapped.
        Some(unsafe { &*slot })
    }

    /// Gives the calling thread a heap, whose exit hook is still to be arranged. None if no memory is to be had, or once
    /// the exit hook ran.
    #[cold]
    pub fn attach(state: &'static State<C>) -> Option<&'static Self> {
        if (state.slot)() == DEAD.as_heap() {
            return None;
        }
        state.initialise();
        let arena = state.arena(FIRST);
        let raw = stock::heap(arena);
        if raw.is_null() {
            return None;
        }
        // SAFETY: `raw` is metadata of this size that nobody else knows.
        let heap = unsafe {
            raw.write(Self {
                top: [const { AtomicPtr::new(DUMMY.top()) }; TABLE],
                bins: [const { BinCache::new() }; MAX_BINS],
                arena: Cell::new(arena),
                seat: Cell::new(state.join_if_empty()),
                fills: Cell::new(0),
                spare: UnsafeCell::new(MagazineList::new()),
                chain_bytes: Cell::new(0),
                room: Cell::new(0),
                peak: Cell::new(0),
                shrink_wait: Cell::new(0),
                mask: Cell::new(signals::blocked()),
                other_mask: Cell::new(0),
                links: Links::new(),
            });
            if C::STATS {
                (*raw).counters().reset();
            }
            stock::enlist(arena, raw);
            &*raw
        };
        // SAFETY: the heap is the calling thread's from here on.
        unsafe { (state.set_slot)(raw) };
        Some(heap)
    }

    /// Called for every magazine that is filled from bitmaps: gives a thread that has filled some an arena. Until then it
    /// shares the first one, so that threads which allocate a little cost little.
    #[inline]
    pub fn settle(&self) {
        const SOME: u8 = 16;
        if self.seat.get().is_none() {
            self.fills.set(self.fills.get() + 1);
            if self.fills.get() >= SOME {
                let state = self.arena.get().state();
                let seat = state.join();
                self.seat.set(Some(seat));
                self.arena.set(state.arena(seat));
            }
        }
    }

    /// The exit hook of the thread that `self` belongs to: returns everything; the thread goes on without a heap.
    pub fn detach(&self) {
        let state = self.arena.get().state();
        // SAFETY: a stand-in.
        unsafe { (state.set_slot)(DEAD.as_heap()) };
        self.flush();
        self.give_spares();
        if C::STATS {
            state.shared.counters.add(&self.counters().read());
            self.counters().reset();
        }
        // Read before another thread can have the heap.
        let seat = self.seat.get();
        // SAFETY: no slot holds the heap any more.
        unsafe { stock::retire_heap(state.arena(FIRST), (&raw const *self).cast_mut()) };
        if let Some(seat) = seat {
            state.leave(seat);
        }
    }

    /// Top of the current magazine of `bin`.
    #[inline]
    fn top(&self, bin: usize) -> *mut Slot {
        // Relaxed: only this thread writes it.
        self.table(bin).load(Ordering::Relaxed)
    }

    /// Takes a bin out for a slow path: until [`put_bin`](Self::put_bin), the hot paths of signal handlers find it empty
    /// and full. Returns the top of its current magazine; null if it has none.
    #[inline]
    pub fn take_bin(&self, bin: usize) -> *mut Slot {
        // One instruction, so that no handler comes in between. Relaxed: only this thread writes it.
        let top = self.table(bin).swap(DUMMY.top(), Ordering::Relaxed);
        if top == DUMMY.top() {
            return null_mut();
        }
        self.repair(bin, Magazine::of(top));
        top
    }

    /// Puts a bin back, with `top`'s magazine as the current one.
    #[inline]
    pub fn put_bin(&self, bin: usize, top: *mut Slot) {
        self.bin(bin).current.set(Magazine::of(top));
        // Relaxed, behind a fence for the compiler: a signal handler may use the magazine from here on.
        compiler_fence(Ordering::SeqCst);
        self.table(bin).store(top, Ordering::Relaxed);
    }

    /// Puts a bin in order again where a signal handler changed its magazine in the middle of a hot path, which then
    /// wrote a top in the old one: the old one, by now the previous, is current again, and what the handler left in
    /// the other is given up (it may overlap with what is in this one).
    #[inline]
    fn repair(&self, bin: usize, magazine: *mut Magazine) {
        let cache = self.bin(bin);
        if magazine != cache.current.get() && magazine == cache.previous.get() {
            cache.previous.set(null_mut());
            if cache.previous_full.replace(false) {
                cache.count_full(-1);
            }
        }
    }

    #[inline]
    fn table(&self, bin: usize) -> &AtomicPtr<Slot> {
        debug_assert!(bin < C::BINS);
        // SAFETY: bins come from the page map and the size tables.
        unsafe { self.top.get_unchecked(bin) }
    }

    /// What it keeps for `bin`.
    #[inline]
    pub fn bin(&self, bin: usize) -> &BinCache {
        debug_assert!(bin < C::BINS);
        // SAFETY: as in `table`.
        unsafe { self.bins.get_unchecked(bin) }
    }

    /// Room of the magazines of `bin`.
    #[inline]
    pub fn capacity(&self, bin: usize) -> usize {
        match usize::from(self.bin(bin).capacity.load(Ordering::Relaxed)) {
            0 => Self::first(bin),
            capacity => capacity,
        }
    }

    /// Room of a bin's first magazine.
    fn first(bin: usize) -> usize {
        // SAFETY: callers pass bins.
        usize::from(unsafe { C::shape(bin) }.first)
    }

    /// Doubles the room of the magazines of `bin`, up to what its block size allows, if the budget of the thread has room;
    /// returns what it is then. The budget follows what is out of the arena, so that caches stay a fraction of it.
    pub fn grow(&self, bin: usize) -> usize {
        const FLOOR: usize = 256 << 10;
        const SHARE: usize = 8;
        let now = self.capacity(bin);
        let then = (now * 2).min(Self::most(bin));
        let more = (then - now) * C::size_of(bin);
        // Relaxed: a count, compared with limits.
        let budget = FLOOR + self.arena.get().out.load(Ordering::Relaxed) / SHARE;
        if self.room.get() + more > budget {
            return now;
        }
        self.room.set(self.room.get() + more);
        self.bin(bin).capacity.store(then as u8, Ordering::Relaxed);
        then
    }

    /// Most room of a magazine of `bin`.
    #[inline]
    pub fn most(bin: usize) -> usize {
        // SAFETY: callers pass bins.
        usize::from(unsafe { C::shape(bin) }.capacity)
    }

    /// An empty magazine, contents unknown; null if no memory is to be had.
    pub fn spare(&self) -> *mut Magazine {
        // SAFETY: only the owning thread, in one slow path at a time, comes here.
        let spare = unsafe { &mut *self.spare.get() };
        spare.pop().unwrap_or_else(|| stock::magazine(self.arena.get()))
    }

    /// Keeps an empty magazine for later.
    ///
    /// # Safety
    /// The caller owns `magazine`, which is no current or previous one of this heap.
    pub unsafe fn keep_spare(&self, magazine: *mut Magazine) {
        const ENOUGH: u32 = 8;
        // SAFETY: as in `spare`; the magazine is the caller's to give.
        unsafe {
            let spare = &mut *self.spare.get();
            if spare.len < ENOUGH { spare.push(magazine) } else { stock::give_magazine(self.arena.get(), magazine) }
        }
    }

    fn give_spares(&self) {
        // SAFETY: as in `spare`.
        unsafe {
            while let Some(magazine) = (*self.spare.get()).pop() {
                stock::give_magazine(self.arena.get(), magazine);
            }
        }
    }

    /// Returns every cached block to its page and every magazine but the spare ones to the stock.
    pub fn flush(&self) {
        for bin in 1..C::BINS {
            self.flush_bin(bin);
        }
        self.peak.set(0);
    }

    fn flush_bin(&self, bin: usize) {
        let cache = self.bin(bin);
        let top = self.take_bin(bin);
        self.flush_chain(bin);
        let previous = cache.previous.replace(null_mut());
        if !previous.is_null() {
            // SAFETY: the previous magazine is this heap's; if full, with blocks up to its last slot.
            unsafe {
                if cache.previous_full.replace(false) {
                    cache.count_full(-1);
                    self.flush_full(bin, previous);
                }
                stock::give_magazine(self.arena.get(), previous);
            }
        }
        if !top.is_null() {
            let count = Magazine::count(top, self.capacity(bin));
            cache.current.set(null_mut());
            // SAFETY: the magazine is out of the table and holds `count` blocks below its top.
            unsafe {
                central::give_back::<C>(bin, Magazine::blocks(top, count));
                stock::give_magazine(self.arena.get(), Magazine::of(top));
            }
        }
        self.room.set(self.room.get() - (self.capacity(bin) - Self::first(bin)) * C::size_of(bin));
        cache.capacity.store(0, Ordering::Relaxed);
    }

    /// Returns the blocks of every chained magazine of `bin` to their pages.
    pub fn flush_chain(&self, bin: usize) {
        let cache = self.bin(bin);
        // SAFETY: only the owning thread, in one slow path at a time, comes here.
        while let Some(full) = unsafe { (*cache.chain.get()).pop() } {
            cache.count_full(-1);
            self.chain_bytes.set(self.chain_bytes.get() - Self::weight(bin));
            // SAFETY: chained magazines are full and this heap's own.
            unsafe {
                self.flush_full(bin, full);
                self.keep_spare(full);
            }
        }
    }

    /// Returns the blocks of a full magazine of `bin` to their pages.
    ///
    /// # Safety
    /// The caller owns `full`, a full magazine of `bin` with this heap's capacity.
    pub unsafe fn flush_full(&self, bin: usize, full: *mut Magazine) {
        // SAFETY: a full magazine holds `capacity` blocks up to its last slot.
        unsafe { central::give_back::<C>(bin, Magazine::blocks(Magazine::full_top(full), self.capacity(bin))) }
    }

    /// Bytes of a full magazine's blocks.
    #[inline]
    pub fn weight(bin: usize) -> usize {
        Self::most(bin) * C::size_of(bin)
    }

    /// Free blocks of `bin` that this heap holds. Exact for the owning thread, and for others while it is idle.
    pub fn cached(&self, bin: usize) -> usize {
        let top = self.top(bin);
        let current = if top == DUMMY.top() { 0 } else { Magazine::count(top, self.capacity(bin)) };
        current + self.bin(bin).full.load(Ordering::Relaxed) as usize * self.capacity(bin)
    }

    /// Bytes of all free blocks that this heap holds.
    pub fn cached_bytes(&self) -> usize {
        (1..C::BINS).map(|bin| self.cached(bin) * C::size_of(bin)).sum()
    }
}

//! LEGACY, hakmem's unified thread cache: central bins, shared by the threads of an arena, behind two magazines, a
//! chain and a depot.
//!
//! A miss goes from the cheap to the dear: the previous magazine, the thread's chain, the arena's depot, the bitmaps.
//! The thread's caches are bounded by bytes, per bin and in all, and against what is out of the arena.
//!
//! **Signals.** A hot path that a signal handler interrupts goes on in the magazine that was current then, where it
//! has still to read the slot that it took its block from, or to write the top it computed. So a magazine that was
//! current is left as it is, as the previous one, for as long as can be, and [`ThreadHeap::take_bin`] finds a top that
//! was written too late. A slow path takes its bin out of the table meanwhile. That covers handlers that hold one block
//! of a bin at a time, and of several as long as they do not empty the interrupted magazine; beyond that there is no
//! promise, as C makes none for `malloc` in a handler at all.

use crate::config::Config;
use crate::heap::magazine::{Magazine, Slot, beyond};
use crate::heap::thread::ThreadHeap;
use crate::heap::{central, depot};
use crate::os::lock::Patience;
use crate::os::signals;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// Most bytes in the chain of one bin.
const CHAIN_PER_BIN: usize = 512 << 10;
/// Most bytes in all chains of a thread.
const CHAIN_PER_THREAD: usize = 2 << 20;
/// Of the bytes that are out of the arena, one in this many may rest in a thread's chains.
const CHAIN_SHARE: usize = 8;
/// Bytes that a thread's chains may hold whatever is out.
const CHAIN_FLOOR: usize = 64 << 10;
/// When what is out, cached blocks apart, has fallen to one in this many of its peak, a thread empties its caches.
const SHRINK: usize = 4;
/// About as many bytes a thread's magazines hold at most.
const SHRINK_CACHED: usize = 8 << 20;
/// Full magazines after which a thread sums up again what it caches, at the latest.
const LONGEST_WAIT: usize = 4;
/// Peaks below this many bytes are not worth emptying caches for.
const SHRINK_FLOOR: usize = 1 << 20;

/// A block of `bin`; null if no memory is to be had. For threads whose current magazine was seen to be empty.
///
/// # Safety
/// Called by the heap's thread, with its busy mark set.
pub unsafe fn allocate<C: Config>(heap: &ThreadHeap<C>, bin: usize) -> *mut u8 {
    let cache = heap.bin(bin);
    let top = heap.take_bin(bin);
    // SAFETY: while the bin is taken out, its magazines are touched by this call alone.
    unsafe {
        if top.is_null() {
            let magazine = heap.spare();
            if magazine.is_null() {
                return central::take_one(heap.arena.get(), bin, Patience::Wait).unwrap_or(null_mut());
            }
            return fill(heap, bin, magazine);
        }
        if !(*top).is_null() {
            return pop(heap, bin, top);
        }
        let current = Magazine::of(top);
        if cache.previous_full.replace(false) {
            cache.count_full(-1);
            let full = cache.previous.replace(current);
            return pop(heap, bin, Magazine::full_top(full));
        }
        if let Some(full) = take_chained(heap, bin) {
            return replace(heap, bin, current, full);
        }
        if heap.capacity(bin) == ThreadHeap::<C>::most(bin)
            && let Some(full) = depot::take_full(heap.arena.get(), bin)
        {
            return replace(heap, bin, current, full);
        }
        fill(heap, bin, current)
    }
}

/// Puts the bin back with `top`'s magazine as the current one, and takes that one's first block.
///
/// # Safety
/// The bin is taken out; `top` is the top of a magazine of this heap that holds a block.
unsafe fn pop<C: Config>(heap: &ThreadHeap<C>, bin: usize, top: *mut Slot) -> *mut u8 {
    // SAFETY: by the caller's promise; the slot below exists, at the latest the null one.
    unsafe {
        let block = *top;
        heap.put_bin(bin, top.sub(1));
        block
    }
}

/// Makes a full magazine current and the empty one before it the previous, whose own predecessor goes to the depot in
/// exchange, or to the spare ones.
///
/// # Safety
/// The bin is taken out; the caller owns `full`; `current` is empty, and the previous one empty or null.
unsafe fn replace<C: Config>(heap: &ThreadHeap<C>, bin: usize, current: *mut Magazine, full: *mut Magazine) -> *mut u8 {
    let before = heap.bin(bin).previous.replace(current);
    // SAFETY: `full` is the heap's own from here on, and nothing refers to `before` any more.
    unsafe {
        if !before.is_null() && !depot::give_empty(heap.arena.get(), bin, before) {
            heap.keep_spare(before);
        }
        pop(heap, bin, Magazine::full_top(full))
    }
}

/// Takes a full magazine out of the thread's chain.
fn take_chained<C: Config>(heap: &ThreadHeap<C>, bin: usize) -> Option<*mut Magazine> {
    let cache = heap.bin(bin);
    // SAFETY: only the owning thread, in one slow path at a time, comes here.
    let full = unsafe { (*cache.chain.get()).pop() }?;
    cache.count_full(-1);
    heap.chain_bytes.set(heap.chain_bytes.get() - ThreadHeap::<C>::weight(bin));
    Some(full)
}

/// Fills an empty magazine from the bitmaps, makes it current and takes its first block. The lowest address comes out
/// first. Each fill is a miss, after which the magazines of the bin get more room.
///
/// # Safety
/// The bin is taken out; `magazine` is this heap's own and empty.
unsafe fn fill<C: Config>(heap: &ThreadHeap<C>, bin: usize, magazine: *mut Magazine) -> *mut u8 {
    heap.settle();
    let wanted = heap.capacity(bin);
    let capacity = heap.grow(bin);
    let mut next = Magazine::lowest(capacity) + wanted;
    let count = central::take(heap.arena.get(), bin, wanted, Patience::Wait, |block| {
        next -= 1;
        // SAFETY: at most `wanted` blocks come, so the index stays above the null slot.
        unsafe { *Magazine::slot(magazine, next) = block };
    })
    .unwrap_or(0);
    // SAFETY: the magazine is the heap's own; `count` blocks lie in the slots from `next` on.
    unsafe {
        let top = Magazine::settle(magazine, next, count, capacity);
        if count == 0 {
            heap.put_bin(bin, top);
            return null_mut();
        }
        note_peak(heap);
        pop(heap, bin, top)
    }
}

/// Takes `block` of `bin` back. For threads whose current magazine was seen to be full.
///
/// # Safety
/// Called by the heap's thread, with its busy mark set; the caller owns `block` as a free one.
pub unsafe fn free<C: Config>(heap: &ThreadHeap<C>, bin: usize, block: *mut u8) {
    let cache = heap.bin(bin);
    let top = heap.take_bin(bin);
    // SAFETY: while the bin is taken out, its magazines are touched by this call alone.
    unsafe {
        if top.is_null() {
            let magazine = heap.spare();
            if magazine.is_null() {
                return central::give_back::<C>(bin, &[block]);
            }
            return push(heap, bin, Magazine::empty(magazine, heap.capacity(bin)), block);
        }
        if !beyond(top.add(1)) {
            return push(heap, bin, top, block);
        }
        let room = heap.capacity(bin);
        let current = Magazine::of(top);
        if room < ThreadHeap::<C>::most(bin) {
            // Magazines that rest full have the most room a bin can have, so only this one has to change.
            debug_assert!(!cache.previous_full.get());
            let capacity = heap.grow(bin);
            if capacity == room {
                // No room in the budget: the half that lay here longest goes home.
                let half = room.div_ceil(2);
                let lowest = Magazine::lowest(room);
                central::give_back::<C>(bin, Magazine::blocks(Magazine::slot(current, lowest + half - 1), half));
                let top = Magazine::settle(current, lowest + half, room - half, room);
                return push(heap, bin, top, block);
            }
            let top = Magazine::settle(current, Magazine::lowest(room), room, capacity);
            return push(heap, bin, top, block);
        }
        if shrink(heap) {
            // All but this magazine, which is taken out, was flushed.
            central::give_back::<C>(bin, Magazine::blocks(top, room));
            return push(heap, bin, Magazine::empty(current, heap.capacity(bin)), block);
        }
        let before = cache.previous.replace(current);
        let empty = if cache.previous_full.replace(true) {
            put_away(heap, bin, before)
        } else {
            cache.count_full(1);
            let empty = heap.spare();
            // After the other one is out, so that this one, which was current not long ago, rests for a while.
            if !before.is_null() {
                heap.keep_spare(before);
            }
            empty
        };
        if empty.is_null() {
            // No memory for magazines: the full one stays current.
            cache.previous.set(null_mut());
            cache.previous_full.set(false);
            cache.count_full(-1);
            heap.put_bin(bin, top);
            return central::give_back::<C>(bin, &[block]);
        }
        push(heap, bin, Magazine::empty(empty, room), block);
    }
}

/// Puts `block` on `top`'s magazine and the bin back with that as the current one.
///
/// # Safety
/// The bin is taken out; the magazine is the heap's own and not full.
unsafe fn push<C: Config>(heap: &ThreadHeap<C>, bin: usize, top: *mut Slot, block: *mut u8) {
    // SAFETY: not full, so the slot above is in the magazine.
    unsafe {
        debug_assert!(!beyond(top.add(1)));
        *top.add(1) = block;
        heap.put_bin(bin, top.add(1));
    }
}

/// Finds a place for a full magazine that the thread need not keep at hand, and an empty one in its stead (null if
/// there is none).
///
/// # Safety
/// The caller owns `full`, which was counted as full and is no longer referred to.
unsafe fn put_away<C: Config>(heap: &ThreadHeap<C>, bin: usize, full: *mut Magazine) -> *mut Magazine {
    let cache = heap.bin(bin);
    let weight = ThreadHeap::<C>::weight(bin);
    // Relaxed: a count, compared with limits.
    let out = heap.arena.get().out.load(Ordering::Relaxed);
    let limit = CHAIN_PER_THREAD.min(CHAIN_FLOOR + out / CHAIN_SHARE);
    // SAFETY: the magazine is full and the caller's; the chain is touched by this thread only.
    unsafe {
        // One block speaks for all: they mostly come from one arena, and a wrong guess costs locality only.
        let block = *Magazine::full_top(full);
        let home = central::home::<C>(bin, block).map_or(heap.arena.get(), |arena| &*arena);
        let own = core::ptr::eq(home, heap.arena.get());
        // The count includes the new previous magazine, in the place of this one.
        let chained = cache.full.load(Ordering::Relaxed) as usize;
        if own && heap.chain_bytes.get() + weight <= limit && chained * weight <= CHAIN_PER_BIN {
            (*cache.chain.get()).push(full);
            cache.count_full(1);
            heap.chain_bytes.set(heap.chain_bytes.get() + weight);
            return heap.spare();
        }
        if let Ok(empty) = depot::give_full(home, bin, full) {
            return if empty.is_null() { heap.spare() } else { empty };
        }
        // More is cached than what is out allows: this bin gives up its share.
        heap.flush_chain(bin);
        depot::drain_bin(home, bin);
        heap.flush_full(bin, full);
        full
    }
}

/// Remembers the most that was out of the arena, to tell when it has shrunk.
fn note_peak<C: Config>(heap: &ThreadHeap<C>) {
    // Relaxed: a count, compared with limits.
    let out = heap.arena.get().out.load(Ordering::Relaxed);
    if out > heap.peak.get() {
        heap.peak.set(out);
    }
}

/// Empties the thread's caches, but for the bin that is taken out, when the program gave most of its memory back: cached
/// blocks keep pages from becoming empty. Returns whether it did.
fn shrink<C: Config>(heap: &ThreadHeap<C>) -> bool {
    let peak = heap.peak.get();
    // Relaxed: as above.
    let out = heap.arena.get().out.load(Ordering::Relaxed);
    // For speed: what a thread caches is bounded, so where more is out it need not be summed up, ...
    if peak <= SHRINK_FLOOR || out >= peak / SHRINK + SHRINK_CACHED {
        return false;
    }
    // ... nor before the program can have freed what was missing last time.
    let wait = heap.shrink_wait.get();
    if wait > 0 {
        heap.shrink_wait.set(wait - 1);
        return false;
    }
    let missing = out.saturating_sub(heap.cached_bytes()).saturating_sub(peak / SHRINK);
    if missing > 0 {
        // Not for long: other threads free too, and small magazines do not come here.
        heap.shrink_wait.set((missing / C::GEOMETRY.magazine_bytes).min(LONGEST_WAIT) as u32);
        return false;
    }
    if may_be_in_handler(heap) {
        // Not before what is out has fallen as much again.
        heap.peak.set(out);
        return false;
    }
    heap.flush();
    depot::drain(heap.arena.get());
    heap.peak.set(heap.arena.get().out.load(Ordering::Relaxed));
    true
}

/// Whether a signal handler may be at work, which must not empty the magazines that the interrupted code may be using: the
/// thread's signal mask is not its usual one. A mask that is found twice in a row becomes the usual one.
fn may_be_in_handler<C: Config>(heap: &ThreadHeap<C>) -> bool {
    let mask = signals::blocked();
    if mask == heap.mask.get() {
        return false;
    }
    if mask == heap.other_mask.replace(mask) {
        heap.mask.set(mask);
    }
    true
}

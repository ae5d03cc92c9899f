//! LEGACY, hakmem's unified thread cache: central bins, shared by the threads of an arena, behind two magazines, a
//! chain and a depot.
//!
//! A miss goes from the cheap to the dear: the previous magazine, the thread's chain, the arena's depot, the bitmaps.
//! The thread's caches are bounded by bytes, per bin and in all, and against what is out of the arena.

use crate::heap::magazine::{Magazine, Slot, beyond};
use crate::heap::thread::ThreadHeap;
use crate::heap::{central, depot};
use crate::os::lock::Patience;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// Most bytes in the chain of one bin.
const CHAIN_PER_BIN: usize = 512 << 10;
/// Most bytes in all chains of a thread.
const CHAIN_PER_THREAD: usize = 2 << 20;
/// Of the bytes that are out of the arena, one in this many may rest in a thread's chains.
const CHAIN_SHARE: usize = 4;
/// Bytes that a thread's chains may hold whatever is out.
const CHAIN_FLOOR: usize = 64 << 10;
/// When what is out has fallen to one in this many of its peak, a thread empties its caches.
const SHRINK: usize = 4;
/// Peaks below this many bytes are not worth emptying caches for.
const SHRINK_FLOOR: usize = 1 << 20;

/// A block of `bin` for a thread whose current magazine is empty; null if no memory is to be had.
///
/// # Safety
/// Called by the heap's thread, with its busy mark set; the current magazine of `bin` is empty or the dummy.
pub unsafe fn allocate(heap: &ThreadHeap, bin: usize) -> *mut u8 {
    let cache = heap.bin(bin);
    // SAFETY: the current magazine (if any) is empty and the heap's own; so are all that are taken below.
    unsafe {
        if !heap.has_magazine(bin) {
            let magazine = heap.spare();
            if magazine.is_null() {
                return central::take_one(heap.arena, bin, Patience::Wait).unwrap_or(null_mut());
            }
            heap.change_magazine(bin, Magazine::empty(magazine, heap.capacity(bin)));
        } else if cache.previous_full.replace(false) {
            cache.count_full(-1);
            let full = cache.previous.replace(cache.current.get());
            return pop(heap, bin, Magazine::full_top(full));
        } else if let Some(full) = take_chained(heap, bin) {
            return replace_current(heap, bin, full);
        } else if heap.capacity(bin) == ThreadHeap::most(bin) {
            let mut empty = cache.previous.get();
            if let Some(full) = depot::take_full(heap.arena, bin, &mut empty) {
                // Null if it stayed behind in exchange.
                cache.previous.set(empty);
                return replace_current(heap, bin, full);
            }
        }
        fill(heap, bin)
    }
}

/// Makes `top`'s magazine current and takes its first block.
///
/// # Safety
/// `top` is the top of a magazine of this heap that holds a block.
unsafe fn pop(heap: &ThreadHeap, bin: usize, top: *mut Slot) -> *mut u8 {
    // SAFETY: by the caller's promise; the slot below exists, at the latest the null one.
    unsafe {
        heap.change_magazine(bin, top.sub(1));
        *top
    }
}

/// Makes a full magazine current and the empty one before it the previous, whose own predecessor becomes a spare.
///
/// # Safety
/// The caller owns `full`; the heap's current magazine is empty, and its previous one empty or null.
unsafe fn replace_current(heap: &ThreadHeap, bin: usize, full: *mut Magazine) -> *mut u8 {
    let cache = heap.bin(bin);
    let before = cache.previous.replace(cache.current.get());
    // SAFETY: `full` is the heap's own from here on, and nothing refers to `before` any more.
    unsafe {
        if !before.is_null() {
            heap.keep_spare(before);
        }
        pop(heap, bin, Magazine::full_top(full))
    }
}

/// Takes a full magazine out of the thread's chain.
fn take_chained(heap: &ThreadHeap, bin: usize) -> Option<*mut Magazine> {
    let cache = heap.bin(bin);
    // SAFETY: only the owning thread, in one slow path at a time, comes here.
    let full = unsafe { (*cache.chain.get()).pop() }?;
    cache.count_full(-1);
    heap.chain_bytes.set(heap.chain_bytes.get() - ThreadHeap::weight(bin));
    Some(full)
}

/// Fills the current, empty magazine from the bitmaps and takes its first block. The lowest address comes out first.
/// Each fill is a miss, after which the magazines of the bin get more room.
///
/// # Safety
/// The heap has a current magazine for `bin`, and it is empty.
unsafe fn fill(heap: &ThreadHeap, bin: usize) -> *mut u8 {
    let magazine = Magazine::of(heap.top(bin));
    let wanted = heap.capacity(bin);
    let capacity = heap.grow(bin);
    let mut next = Magazine::lowest(capacity) + wanted;
    let count = central::take(heap.arena, bin, wanted, Patience::Wait, |block| {
        next -= 1;
        // SAFETY: at most `wanted` blocks come, so the index stays above the null slot.
        unsafe { *Magazine::slot(magazine, next) = block };
    })
    .unwrap_or(0);
    // SAFETY: the magazine is the heap's own; `count` blocks lie in the slots from `next` on.
    unsafe {
        let top = Magazine::settle(magazine, next, count, capacity);
        if count == 0 {
            heap.set_top(bin, top);
            return null_mut();
        }
        note_peak(heap);
        pop(heap, bin, top)
    }
}

/// Takes `block` of `bin` back for a thread whose current magazine is full.
///
/// # Safety
/// Called by the heap's thread, with its busy mark set; the current magazine of `bin` is full or the dummy, and
/// the caller owns `block` as a free one.
pub unsafe fn free(heap: &ThreadHeap, bin: usize, block: *mut u8) {
    let cache = heap.bin(bin);
    // SAFETY: the magazines named are the heap's own, in the states that the branches establish.
    unsafe {
        if !heap.has_magazine(bin) {
            let magazine = heap.spare();
            if magazine.is_null() {
                return central::give_back(bin, &[block]);
            }
            return push(heap, bin, Magazine::empty(magazine, heap.capacity(bin)), block);
        }
        let room = heap.capacity(bin);
        let magazine = Magazine::of(heap.top(bin));
        if room < ThreadHeap::most(bin) {
            // Magazines that rest full have the most room a bin can have, so only this one has to change.
            debug_assert!(!cache.previous_full.get());
            let top = Magazine::settle(magazine, Magazine::lowest(room), room, heap.grow(bin));
            return push(heap, bin, top, block);
        }
        shrink(heap);
        if !heap.has_magazine(bin) {
            return free(heap, bin, block);
        }
        let mut empty = cache.previous.replace(magazine);
        if cache.previous_full.replace(true) {
            empty = put_away(heap, bin, empty);
        } else {
            cache.count_full(1);
            if empty.is_null() {
                empty = heap.spare();
            }
        }
        if empty.is_null() {
            // No memory for magazines: keep the full one current.
            cache.previous.set(null_mut());
            cache.previous_full.set(false);
            cache.count_full(-1);
            return central::give_back(bin, &[block]);
        }
        push(heap, bin, Magazine::empty(empty, room), block);
    }
}

/// Makes `top`'s magazine current and puts `block` on it.
///
/// # Safety
/// The magazine is the heap's own and not full.
unsafe fn push(heap: &ThreadHeap, bin: usize, top: *mut Slot, block: *mut u8) {
    // SAFETY: not full, so the slot above is in the magazine.
    unsafe {
        debug_assert!(!beyond(top.add(1)));
        *top.add(1) = block;
        heap.change_magazine(bin, top.add(1));
    }
}

/// Finds a place for a full magazine that the thread need not keep at hand, and an empty one in its stead (null if
/// there is none).
///
/// # Safety
/// The caller owns `full`, which was counted as full and is no longer referred to.
unsafe fn put_away(heap: &ThreadHeap, bin: usize, full: *mut Magazine) -> *mut Magazine {
    let cache = heap.bin(bin);
    let weight = ThreadHeap::weight(bin);
    // Relaxed: a count, compared with limits.
    let out = heap.arena.out.load(Ordering::Relaxed);
    let limit = CHAIN_PER_THREAD.min(CHAIN_FLOOR + out / CHAIN_SHARE);
    // SAFETY: the magazine is full and the caller's; the chain is touched by this thread only.
    unsafe {
        // One block speaks for all: they mostly come from one arena, and a wrong guess costs locality only.
        let block = *Magazine::full_top(full);
        let home = central::home(bin, block).map_or(heap.arena, |arena| &*arena);
        let own = core::ptr::eq(home, heap.arena);
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
        if heap.chain_bytes.get() > limit {
            heap.flush_chain(bin);
        }
        heap.flush_full(bin, full);
        full
    }
}

/// Remembers the most that was out of the arena, to tell when it has shrunk.
fn note_peak(heap: &ThreadHeap) {
    // Relaxed: a count, compared with limits.
    let out = heap.arena.out.load(Ordering::Relaxed);
    if out > heap.peak.get() {
        heap.peak.set(out);
    }
}

/// Empties the thread's caches when the program gave most of its memory back: cached blocks keep pages from
/// becoming empty.
fn shrink(heap: &ThreadHeap) {
    let peak = heap.peak.get();
    // Relaxed: as above.
    let out = heap.arena.out.load(Ordering::Relaxed);
    if peak > SHRINK_FLOOR && out < peak / SHRINK {
        heap.flush();
        heap.peak.set(out);
    }
}

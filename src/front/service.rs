//! Behind the one cold call: first use, misses, sizes without a bin, over-alignment, refusals, and pointers that are not
//! blocks. Not generic: one copy serves every front end of a process.
//!
//! A slow path marks its thread's heap as busy. One that a signal handler starts meanwhile finds the mark and is served
//! block by block, without the heap.

use crate::config::bins::{self, BIN_MAX, BINS, OS_PAGE, PAGE};
use crate::heap::arena::Arena;
use crate::heap::segment::{Misuse, Segment};
use crate::heap::state::State;
use crate::heap::thread::ThreadHeap;
use crate::heap::{central, page_map, span};
use crate::os::{errno, foreign, report};
use crate::route::legacy;
use core::ptr::null_mut;
use core::sync::atomic::{Ordering, compiler_fence};

/// Who gave a pointer to be freed: decides where one that is not ours goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// C's `free`: foreign blocks are libc's.
    Free,
    /// C++'s `operator delete`: foreign blocks belong to whoever defines the program's `free`.
    Delete,
}

/// Runs `work` with the calling thread's heap, which it gets at its first use; with None if it has none or if this call
/// interrupted another one that uses it.
fn with_heap<R>(state: &'static State, work: impl FnOnce(Option<&'static ThreadHeap>) -> R) -> R {
    let Some(heap) = ThreadHeap::real((state.slot)()).or_else(|| ThreadHeap::attach(state)) else {
        return work(None);
    };
    // Relaxed, with fences for the compiler alone: the other party is a signal handler of this very thread.
    if heap.busy.load(Ordering::Relaxed) {
        return work(None);
    }
    heap.busy.store(true, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    let result = work(Some(heap));
    compiler_fence(Ordering::SeqCst);
    heap.busy.store(false, Ordering::Relaxed);
    result
}

/// The arena that serves a thread without a heap.
fn arena_of(state: &'static State, heap: Option<&'static ThreadHeap>) -> &'static Arena {
    heap.map_or_else(|| state.arena(0), |heap| heap.arena)
}

/// A block of `bin`; null if no memory is to be had.
fn from_bin(state: &'static State, bin: usize) -> *mut u8 {
    with_heap(state, |heap| {
        let Some(heap) = heap else {
            let mut block = null_mut();
            central::take(state.arena(0), bin, 1, |taken| block = taken);
            return block;
        };
        let top = heap.top(bin);
        // SAFETY: a top points to a slot of a magazine; this is the heap's thread, with the busy mark set.
        unsafe {
            if (*top).is_null() {
                return legacy::allocate(heap, bin);
            }
            heap.set_top(bin, top.sub(1));
            *top
        }
    })
}

/// A block of at least `size` bytes; null if no memory is to be had. May change errno.
fn obtain(state: &'static State, size: usize, zero: bool) -> *mut u8 {
    if size <= BIN_MAX {
        let block = from_bin(state, bins::bin_of(size.max(1)));
        if zero && !block.is_null() {
            // SAFETY: the block has at least `size` bytes.
            unsafe { block.write_bytes(0, size) };
        }
        block
    } else if size <= span::SPAN_MAX {
        let arena = with_heap(state, |heap| arena_of(state, heap));
        span::allocate(arena, size, zero)
    } else if size <= isize::MAX as usize {
        state.shared.huge.allocate(size, PAGE, zero)
    } else {
        null_mut()
    }
}

/// Runs `work`; a null result becomes ENOMEM, any other leaves errno as it was. If memory is refused, what is cached and
/// idle is given back and `work` runs once more.
fn or_enomem(state: &'static State, work: impl Fn() -> *mut u8) -> *mut u8 {
    let block = errno::kept(|| {
        let block = work();
        if block.is_null() && super::inspect::trim(state) { work() } else { block }
    });
    if block.is_null() {
        errno::set(errno::ENOMEM);
    }
    block
}

/// See [`Front::allocate`](super::Front::allocate).
#[cold]
#[inline(never)]
pub fn allocate(state: &'static State, size: usize) -> *mut u8 {
    if size > isize::MAX as usize {
        errno::set(errno::ENOMEM);
        return null_mut();
    }
    or_enomem(state, || obtain(state, size, false))
}

/// See [`Front::allocate_zeroed`](super::Front::allocate_zeroed).
#[cold]
#[inline(never)]
pub fn allocate_zeroed(state: &'static State, size: usize) -> *mut u8 {
    if size > isize::MAX as usize {
        errno::set(errno::ENOMEM);
        return null_mut();
    }
    or_enomem(state, || obtain(state, size, true))
}

/// See [`Front::allocate_aligned`](super::Front::allocate_aligned); zeroed if `zero`.
#[cold]
#[inline(never)]
pub fn allocate_aligned(state: &'static State, size: usize, align: usize, zero: bool) -> *mut u8 {
    debug_assert!(align.is_power_of_two());
    if size > isize::MAX as usize || align > isize::MAX as usize {
        errno::set(errno::ENOMEM);
        return null_mut();
    }
    or_enomem(state, || {
        if let Some(bin) = bins::bin_of_aligned(size, align) {
            let block = from_bin(state, bin);
            if zero && !block.is_null() {
                // SAFETY: the block has at least `size` bytes.
                unsafe { block.write_bytes(0, size) };
            }
            block
        } else if align <= PAGE && size <= span::SPAN_MAX {
            let arena = with_heap(state, |heap| arena_of(state, heap));
            span::allocate(arena, size, zero)
        } else {
            state.shared.huge.allocate(size, align, zero)
        }
    })
}

/// What a pointer is that somebody wants to free, resize or measure.
enum Kind {
    Bin(usize),
    Span,
    Huge,
    Foreign,
    Wrong(Misuse),
}

/// Classifies a pointer that is not null.
fn kind(block: *mut u8) -> Kind {
    let code = page_map::get(block.addr());
    match code as u8 {
        page_map::SPAN => Kind::Span,
        page_map::HUGE => Kind::Huge,
        page_map::INSIDE => Kind::Wrong(inside_segment(block)),
        page_map::HUGE_INSIDE => Kind::Wrong(Misuse::NotABlock),
        page_map::HUGE_IDLE => Kind::Wrong(Misuse::AlreadyFree),
        page_map::GONE if !mapped(block) => Kind::Wrong(Misuse::AlreadyFree),
        page_map::FOREIGN | page_map::GONE if mapped(block) => Kind::Foreign,
        page_map::FOREIGN | page_map::GONE => Kind::Wrong(Misuse::NotABlock),
        _ => Kind::Bin(code),
    }
}

/// What is wrong with a pointer into a page that holds no block: the page may be free, and so was the block.
fn inside_segment(block: *mut u8) -> Misuse {
    let index = (block.addr() / PAGE) % bins::SEGMENT_PAGES;
    // SAFETY: the map says that the segment is mapped. A free page's bit may change while it is read; either answer
    // is an error that ends the process.
    let free = unsafe { (*Segment::of(block)).free };
    if free >> index & 1 == 1 { Misuse::AlreadyFree } else { Misuse::NotABlock }
}

/// Whether the words that libc keeps below a block can be read.
fn mapped(block: *mut u8) -> bool {
    let mut resident = 0u8;
    let page = block.wrapping_sub(16).map_addr(|address| address & !(OS_PAGE - 1));
    // SAFETY: mincore writes one byte for one page, and fails if the page is not mapped.
    unsafe { libc::mincore(page.cast(), 1, &raw mut resident) == 0 }
}

/// See [`Front::deallocate`](super::Front::deallocate).
///
/// # Safety
/// As there.
pub unsafe fn free(state: &'static State, block: *mut u8, caller: Caller) {
    if block.is_null() {
        return;
    }
    errno::kept(|| {
        // SAFETY: by the caller's promise, and the kinds are what the map says.
        let result = unsafe {
            match kind(block) {
                Kind::Bin(bin) => {
                    free_in_bin(state, bin, block);
                    Ok(())
                }
                Kind::Span => span::free(block),
                Kind::Huge => state.shared.huge.free(block, state.keep),
                Kind::Foreign => free_foreign(block, caller),
                Kind::Wrong(misuse) => Err(misuse),
            }
        };
        if let Err(misuse) = result {
            central::report_misuse(misuse, block);
        }
    });
}

/// # Safety
/// `block` is a live block of `bin`, given up.
unsafe fn free_in_bin(state: &'static State, bin: usize, block: *mut u8) {
    with_heap(state, |heap| {
        // SAFETY: by the caller's promise; with a heap, this is its thread with the busy mark set.
        unsafe {
            let Some(heap) = heap else { return central::give_back(bin, &[block]) };
            let above = heap.top(bin).add(1);
            if crate::heap::magazine::beyond(above) {
                return legacy::free(heap, bin, block);
            }
            *above = block;
            heap.set_top(bin, above);
        }
    });
}

/// # Safety
/// `block` is not ours and its surroundings are mapped.
unsafe fn free_foreign(block: *mut u8, caller: Caller) -> Result<(), Misuse> {
    let libc = foreign::libc_free();
    let to = match caller {
        Caller::Free => libc,
        // The program's own `free` knows its blocks; if it passes this one on to ours, that comes as Caller::Free.
        Caller::Delete => foreign::public_free().or(libc),
    };
    let Some(to) = to else { return Err(Misuse::NotABlock) };
    // SAFETY: a block that is not ours is one of the allocator it came from, by the caller's promise.
    unsafe { to(block.cast()) };
    Ok(())
}

/// See [`Front::reallocate`](super::Front::reallocate), for blocks that are not in a bin.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
pub unsafe fn reallocate(state: &'static State, block: *mut u8, size: usize) -> *mut u8 {
    if size > isize::MAX as usize {
        errno::set(errno::ENOMEM);
        return null_mut();
    }
    let kind = errno::kept(|| kind(block));
    let huge = &state.shared.huge;
    // SAFETY: by the caller's promise, and the kind is what the map says.
    let stays = unsafe {
        match kind {
            Kind::Bin(_) => Ok(null_mut()),
            Kind::Span if size > span::SPAN_MAX => Ok(null_mut()),
            Kind::Span => errno::kept(|| span::resize(block, size)).map(|fits| if fits { block } else { null_mut() }),
            Kind::Huge => errno::kept(|| huge.resize(block, size)),
            Kind::Foreign => match foreign::libc_realloc() {
                Some(realloc) => return realloc(block.cast(), size).cast(),
                None => Err(Misuse::NotABlock),
            },
            Kind::Wrong(misuse) => Err(misuse),
        }
    };
    match stays {
        Ok(block) if !block.is_null() => return block,
        Ok(_) => {}
        Err(_) => report::fatal("realloc", "invalid pointer", block.addr()),
    }
    let new = allocate(state, size);
    if !new.is_null() {
        // SAFETY: both blocks hold the smaller of the two sizes, and the old one is the caller's.
        unsafe {
            let old = usable_size(state, block);
            new.copy_from_nonoverlapping(block, old.min(size));
            free(state, block, Caller::Free);
        }
    }
    new
}

/// See [`Front::usable_size`](super::Front::usable_size).
///
/// # Safety
/// As there.
pub unsafe fn usable_size(state: &'static State, block: *mut u8) -> usize {
    if block.is_null() {
        return 0;
    }
    let code = page_map::get(block.addr());
    if (1..BINS).contains(&code) {
        return bins::size_of_bin(code);
    }
    errno::kept(|| {
        let result = match kind(block) {
            Kind::Bin(bin) => Ok(bins::size_of_bin(bin)),
            // SAFETY: the map says so.
            Kind::Span => unsafe { span::usable(block) },
            Kind::Huge => state.shared.huge.usable(block),
            // SAFETY: not ours, hence libc's by the caller's promise, and mapped.
            Kind::Foreign => unsafe { Ok(foreign::libc_usable_size(block)) },
            Kind::Wrong(misuse) => Err(misuse),
        };
        match result {
            Ok(size) => size,
            Err(_) => report::fatal("malloc_usable_size", "invalid pointer", block.addr()),
        }
    })
}

//! Behind the one cold call: first use, misses, sizes without a bin, over-alignment, refusals, and pointers that are not
//! blocks. Generic over the words alone: front ends with the same words share this code, and what is behind it.
//!
//! A slow path marks its thread as busy. One that a signal handler starts meanwhile finds the mark and is served
//! another way: it takes memory from the reserve arena, waits for no lock that may be held by what it interrupted, and
//! leaves what it frees to the next slow path.

use crate::config::Config;
use crate::config::bins::ALIGN;
use crate::heap::arena::Arena;
use crate::heap::counters::{Counters, Path};
use crate::heap::life::Hooks;
use crate::heap::segment::{Misuse, Segment};
use crate::heap::state::{FIRST, RESERVE, State};
use crate::heap::thread::ThreadHeap;
use crate::heap::{central, huge, page_map, span};
use crate::os::lock::Patience;
use crate::os::{errno, foreign, memory, report};
use crate::route::legacy;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// How a slow path may work.
enum Means<C: Config> {
    /// With the thread's heap.
    Heap(&'static ThreadHeap<C>),
    /// Without: the thread has none (any more), or no memory for one is to be had.
    Arena,
    /// As a guest of the slow path that this thread was in when a signal came.
    Guest,
}

impl<C: Config> Copy for Means<C> {}

impl<C: Config> Clone for Means<C> {
    fn clone(&self) -> Self {
        *self
    }
}

/// Runs `work` with what the calling thread has; it gets a heap at its first use.
fn with_means<C: Config, R>(state: &'static State<C>, work: impl FnOnce(Means<C>) -> R) -> R {
    if (state.busy)() {
        return work(Means::Guest);
    }
    (state.set_busy)(true);
    let mut heap = ThreadHeap::of(state);
    if heap.is_none() {
        heap = first_use(state);
    }
    state.shared.deferred.drain(|block| {
        // SAFETY: a live block that a signal handler gave up.
        unsafe { free_as(state, block, heap.map_or(Means::Arena, Means::Heap)) }
    });
    let result = work(heap.map_or(Means::Arena, Means::Heap));
    (state.set_busy)(false);
    // Relaxed: a flag, and nothing is published with it.
    if C::STATS_DUMP && state.shared.report_due.swap(false, Ordering::Relaxed) {
        state.report();
    }
    result
}

/// Gives the calling thread a heap, with its exit hook. Called and left with the busy mark set.
#[cold]
fn first_use<C: Config>(state: &'static State<C>) -> Option<&'static ThreadHeap<C>> {
    let heap = ThreadHeap::attach(state)?;
    // Arranging the hook may allocate; the thread can do that by now.
    (state.set_busy)(false);
    let arranged = state.call_at_exit(heap);
    (state.set_busy)(true);
    if arranged {
        return Some(heap);
    }
    heap.detach();
    None
}

/// A block of `bin`; null if no memory is to be had.
fn from_bin<C: Config>(state: &'static State<C>, bin: usize, means: Means<C>) -> *mut u8 {
    match means {
        // SAFETY: this is the heap's thread, with the busy mark set.
        Means::Heap(heap) => unsafe { legacy::allocate(heap, bin) },
        Means::Arena => central::take_one(state.arena(FIRST), bin, Patience::Wait).unwrap_or(null_mut()),
        Means::Guest => as_guest(state, C::size_of(bin), false, |arena| central::take_one(arena, bin, Patience::Try)),
    }
}

/// A span; null if no memory is to be had.
fn from_pages<C: Config>(state: &'static State<C>, size: usize, zero: bool, means: Means<C>) -> *mut u8 {
    match means {
        Means::Heap(heap) => span::allocate(heap.arena.get(), size, zero, Patience::Wait).unwrap_or(null_mut()),
        Means::Arena => span::allocate(state.arena(FIRST), size, zero, Patience::Wait).unwrap_or(null_mut()),
        Means::Guest => as_guest(state, size, zero, |arena| span::allocate(arena, size, zero, Patience::Try)),
    }
}

/// Asks two arenas in turn, and if the locks of both stay held (each interrupted call may hold one, and handlers nest),
/// maps memory for this block alone: a huge block, which takes no lock that it has to wait for.
fn as_guest<C: Config>(
    state: &'static State<C>,
    size: usize,
    zero: bool,
    ask: impl Fn(&'static Arena<C>) -> Option<*mut u8>,
) -> *mut u8 {
    const ROUNDS: usize = 100;
    for _ in 0..ROUNDS {
        for index in [RESERVE, FIRST] {
            if let Some(block) = ask(state.arena(index)) {
                return block;
            }
        }
        core::hint::spin_loop();
    }
    state.shared.huge.allocate::<C>(size, C::PAGE, zero, Patience::Try)
}

/// A huge block; null if no memory is to be had.
fn from_os<C: Config>(state: &'static State<C>, size: usize, align: usize, zero: bool, means: Means<C>) -> *mut u8 {
    let patience = if matches!(means, Means::Guest) { Patience::Try } else { Patience::Wait };
    state.shared.huge.allocate::<C>(size, align, zero, patience)
}

/// Clears a block of a bin.
fn cleared(block: *mut u8, size: usize, zero: bool) -> *mut u8 {
    if zero && !block.is_null() {
        // SAFETY: the block has at least `size` bytes.
        unsafe { block.write_bytes(0, size) };
    }
    block
}

/// A block of at least `size` bytes at a multiple of `align`; null if no memory is to be had. May change errno.
fn obtain<C: Config>(state: &'static State<C>, size: usize, align: usize, zero: bool, means: Means<C>) -> *mut u8 {
    let (block, bin, path) = if let Some(bin) = C::bin_of_aligned(size, align) {
        (cleared(from_bin(state, bin, means), size, zero), bin, Path::AllocateRefill)
    } else if align <= C::PAGE && size <= C::SPAN_MAX {
        (from_pages(state, size, zero, means), 0, Path::AllocateSpan)
    } else {
        (from_os(state, size, align, zero, means), 0, Path::AllocateHuge)
    };
    if C::STATS && !block.is_null() {
        count(state, means, Path::AllocateWithoutHeap, path, |counters, path| counters.allocate::<C>(bin, path));
    }
    block
}

/// Counts a call that took `path` on the thread's counters; on those of nobody, as one without a heap, if it has none.
#[cold]
fn count<C: Config>(
    state: &'static State<C>,
    means: Means<C>,
    without_heap: Path,
    path: Path,
    count: impl Fn(&Counters, Path),
) {
    match means {
        Means::Heap(heap) => count(heap.counters(), path),
        Means::Arena | Means::Guest => {
            let one = Counters::new();
            count(&one, without_heap);
            state.shared.counters.add(&one.read());
        }
    }
}

/// [`obtain`] as the interface has it: null becomes ENOMEM, a success leaves errno as it was. If memory is refused, what
/// is cached and idle is given back and asked for once more.
fn obtain_or_enomem<C: Config>(state: &'static State<C>, size: usize, align: usize, zero: bool) -> *mut u8 {
    let mut block = null_mut();
    if size <= isize::MAX as usize && align <= isize::MAX as usize {
        errno::kept(|| {
            block = with_means(state, |means| obtain(state, size, align, zero, means));
            if block.is_null() && size <= super::inspect::mapped(state) && super::inspect::trim(state) {
                block = with_means(state, |means| obtain(state, size, align, zero, means));
            }
        });
    }
    if block.is_null() {
        errno::set(errno::ENOMEM);
    }
    block
}

/// See [`Front::allocate`](super::Front::allocate).
#[cold]
#[inline(never)]
pub fn allocate<C: Config>(state: &'static State<C>, size: usize) -> *mut u8 {
    obtain_or_enomem(state, size, ALIGN, false)
}

/// [`allocate`] for a bin of C0 to C3, which needs no second look at the size.
#[cold]
#[inline(never)]
pub fn allocate_tiny<C: Config>(state: &'static State<C>, bin: usize) -> *mut u8 {
    let take = |means| {
        let block = from_bin(state, bin, means);
        if C::STATS && !block.is_null() {
            count(state, means, Path::AllocateWithoutHeap, Path::AllocateRefill, |counters, path| {
                counters.allocate::<C>(bin, path);
            });
        }
        block
    };
    let block = errno::kept(|| with_means(state, take));
    if block.is_null() { allocate(state, C::size_of(bin)) } else { block }
}

/// See [`Front::allocate_zeroed`](super::Front::allocate_zeroed).
#[cold]
#[inline(never)]
pub fn allocate_zeroed<C: Config>(state: &'static State<C>, size: usize) -> *mut u8 {
    obtain_or_enomem(state, size, ALIGN, true)
}

/// See [`Front::allocate_aligned`](super::Front::allocate_aligned); zeroed if `zero`.
#[cold]
#[inline(never)]
pub fn allocate_aligned<C: Config>(state: &'static State<C>, size: usize, align: usize, zero: bool) -> *mut u8 {
    debug_assert!(align.is_power_of_two());
    obtain_or_enomem(state, size, align, zero)
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
fn kind<C: Config>(block: *mut u8) -> Kind {
    let code = page_map::get(block.addr());
    match code as u8 {
        page_map::SPAN => Kind::Span,
        page_map::HUGE => Kind::Huge,
        page_map::INSIDE => Kind::Wrong(inside_segment::<C>(block)),
        page_map::HUGE_INSIDE => Kind::Wrong(Misuse::NotABlock),
        page_map::HUGE_IDLE => Kind::Wrong(Misuse::AlreadyFree),
        page_map::FOREIGN | page_map::GONE if foreign::plausible(block) => Kind::Foreign,
        page_map::GONE => Kind::Wrong(Misuse::AlreadyFree),
        page_map::FOREIGN => Kind::Wrong(Misuse::NotABlock),
        _ if code < C::BINS => Kind::Bin(code),
        // Of another front end, which has more bins.
        _ => Kind::Wrong(Misuse::NotABlock),
    }
}

/// What is wrong with a pointer into a page that holds no block: the page may be free, and so was the block.
fn inside_segment<C: Config>(block: *mut u8) -> Misuse {
    let index = (block.addr() / C::PAGE) % C::SEGMENT_PAGES;
    // SAFETY: the map says that the segment is mapped. (It may be unmapped just now, by another thread: the program is at an
    // error already, which ends the process one way or the other.) The bit may change while it is read, likewise.
    let free = unsafe { (*Segment::<C>::of(block)).free };
    if free >> index & 1 == 1 { Misuse::AlreadyFree } else { Misuse::NotABlock }
}

/// See [`Front::deallocate`](super::Front::deallocate).
///
/// # Safety
/// As there.
pub unsafe fn free<C: Config>(state: &'static State<C>, block: *mut u8) {
    if block.is_null() {
        if C::PATH_STATS {
            let work = |means| count(state, means, Path::FreeNull, Path::FreeNull, Counters::take::<C>);
            errno::kept(|| with_means(state, work));
        }
        return;
    }
    // SAFETY: by the caller's promise.
    errno::kept(|| with_means(state, |means| unsafe { free_as(state, block, means) }));
}

/// [`free`] for a block of C0 to C3, whose bin is known.
///
/// # Safety
/// As there, and the block's page or its layout says that it is one of `bin`.
#[cold]
#[inline(never)]
pub unsafe fn free_tiny<C: Config>(state: &'static State<C>, block: *mut u8, bin: usize) {
    let work = |means| {
        // SAFETY: by the caller's promise; this is the heap's thread, with the busy mark set.
        unsafe {
            match means {
                Means::Heap(heap) => {
                    if C::STATS {
                        heap.counters().free::<C>(bin, Path::FreeFlush);
                    }
                    legacy::free(heap, bin, block);
                }
                _ => free_as(state, block, means),
            }
        }
    };
    errno::kept(|| with_means(state, work));
}

/// [`free`] with given means, for a block that is not null. May change errno.
///
/// # Safety
/// As for [`free`].
unsafe fn free_as<C: Config>(state: &'static State<C>, block: *mut u8, means: Means<C>) {
    let kind = kind::<C>(block);
    if C::STATS {
        let (bin, path) = match kind {
            Kind::Bin(bin) => (bin, Path::FreeFlush),
            Kind::Span => (0, Path::FreeSpan),
            Kind::Huge => (0, Path::FreeHuge),
            Kind::Foreign | Kind::Wrong(_) => (0, Path::FreeForeign),
        };
        match (path, means) {
            (Path::FreeForeign, _) => count(state, means, path, path, Counters::take::<C>),
            // Counted when it is freed in earnest.
            (_, Means::Guest) => {}
            _ => count(state, means, Path::FreeWithoutHeap, path, |counters, path| counters.free::<C>(bin, path)),
        }
    }
    // SAFETY: by the caller's promise, and the kinds are what the map says.
    let result = unsafe {
        match (kind, means) {
            (Kind::Wrong(misuse), _) => Err(misuse),
            (Kind::Foreign, _) => free_foreign(block),
            (_, Means::Guest) => {
                state.shared.deferred.push(block);
                Ok(())
            }
            (Kind::Bin(bin), Means::Heap(heap)) => {
                legacy::free(heap, bin, block);
                Ok(())
            }
            (Kind::Bin(bin), Means::Arena) => {
                central::give_back::<C>(bin, &[block]);
                Ok(())
            }
            (Kind::Span, _) => span::free::<C>(block),
            (Kind::Huge, _) => state.shared.huge.free::<C>(block),
        }
    };
    if let Err(misuse) = result {
        central::report_misuse(misuse, block);
    }
}

/// # Safety
/// `block` is not ours and its surroundings are mapped.
unsafe fn free_foreign(block: *mut u8) -> Result<(), Misuse> {
    let Some(free) = foreign::libc_free() else { return Err(Misuse::NotABlock) };
    // SAFETY: a block that is not ours is libc's, by the caller's promise.
    unsafe { free(block.cast()) };
    Ok(())
}

/// See [`Front::reallocate`](super::Front::reallocate), for blocks that are not in a bin.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
pub unsafe fn reallocate<C: Config>(state: &'static State<C>, block: *mut u8, size: usize) -> *mut u8 {
    if size > isize::MAX as usize {
        errno::set(errno::ENOMEM);
        return null_mut();
    }
    let kind = errno::kept(|| kind::<C>(block));
    if let Kind::Foreign = kind
        && let Some(realloc) = foreign::libc_realloc()
    {
        // SAFETY: a block that is not ours is libc's, by the caller's promise.
        return unsafe { realloc(block.cast(), size).cast() };
    }
    let resize = |means| match (&kind, means) {
        (Kind::Wrong(misuse), _) => Err(*misuse),
        (Kind::Foreign, _) => Err(Misuse::NotABlock),
        (Kind::Bin(_), _) | (_, Means::Guest) => Ok(null_mut()),
        (Kind::Span, _) if size > C::SPAN_MAX => Ok(null_mut()),
        // SAFETY: the map says that it is a span, and it is the caller's.
        (Kind::Span, _) => unsafe { span::resize::<C>(block, size) }.map(|fits| if fits { block } else { null_mut() }),
        (Kind::Huge, _) => state.shared.huge.resize::<C>(block, size),
    };
    let stays = errno::kept(|| with_means(state, resize));
    match stays {
        Ok(now) if !now.is_null() => {
            // SAFETY: the block is the caller's, and what lies beyond `size` is not kept.
            unsafe { shrunk::<C>(now, size, usable_size::<C>(now)) };
            return now;
        }
        Ok(_) => {}
        Err(_) => reject("realloc", block),
    }
    let new = allocate(state, size);
    if !new.is_null() {
        // SAFETY: both blocks hold the smaller of the two sizes, and the old one is the caller's.
        unsafe {
            let old = usable_size::<C>(block);
            new.copy_from_nonoverlapping(block, old.min(size));
            free(state, block);
        }
    }
    new
}

/// Gives back what a block that was made smaller, and stayed where it is, has no need of any more.
///
/// # Safety
/// The block is the caller's, of `usable` bytes.
#[cold]
#[inline(never)]
pub unsafe fn shrunk<C: Config>(block: *mut u8, size: usize, usable: usize) {
    if size < usable / 4 && !C::FREE_KEEP && !C::WHOLE_SEGMENTS {
        // SAFETY: by the caller's promise.
        errno::kept(|| unsafe { memory::purge_tail(block, size, usable) });
    }
}

/// Ends the process: `function` was given a pointer that is no block.
#[cold]
#[inline(never)]
pub fn reject(function: &str, block: *mut u8) -> ! {
    report::fatal(function, "invalid pointer", block.addr())
}

/// See [`Front::usable_size`](super::Front::usable_size).
///
/// # Safety
/// As there.
pub unsafe fn usable_size<C: Config>(block: *mut u8) -> usize {
    if block.is_null() {
        return 0;
    }
    let code = page_map::get(block.addr());
    if (1..C::BINS).contains(&code) {
        return C::size_of(code);
    }
    errno::kept(|| {
        let result = match kind::<C>(block) {
            Kind::Bin(bin) => Ok(C::size_of(bin)),
            // SAFETY: the map says so.
            Kind::Span => unsafe { span::usable::<C>(block) },
            Kind::Huge => huge::usable(block),
            // SAFETY: not ours, hence libc's by the caller's promise, and mapped.
            Kind::Foreign => unsafe { Ok(foreign::libc_usable_size(block)) },
            Kind::Wrong(misuse) => Err(misuse),
        };
        match result {
            Ok(size) => size,
            Err(_) => reject("malloc_usable_size", block),
        }
    })
}

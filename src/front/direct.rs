//! The hot paths: `malloc` and `free` of a cached block in 13 instructions each, `ret` included.
//!
//! Both are straight lines over three loads: the thread slot, the table entry of the bin, and the magazine's slot (for
//! `free`, the page map in front). Everything unusual lands on a magazine that is empty and full at once, so there
//! is one test and one cold call at the end:
//!
//! | `malloc` | `free` |
//! |---|---|
//! | bin = (size + 15) / 16, wrapping; above 64: cold | bin = page map\[address / 64 KiB\] |
//! | top = heap.top\[bin\] | top = heap.top\[bin\] + 8 |
//! | \*top is null: cold | top is at a multiple of 512: cold |
//! | heap.top\[bin\] = top - 8 | \*top = block; heap.top\[bin\] = top |
//!
//! Size 0, sizes that wrap, NULL, foreign pointers, spans, huge blocks, threads without a heap, empty and full magazines:
//! all are that one test.

use super::service;
use crate::config::bins::{ALIGN, SMALL_MAX};
use crate::config::{Class, Config, Words};
use crate::heap::counters::{Path, Statistics};
use crate::heap::magazine::{Slot, beyond};
use crate::heap::page_map;
use crate::heap::state::State;
use crate::heap::thread::ThreadHeap;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::marker::PhantomData;
use core::sync::atomic::{Ordering, compiler_fence};

/// The statics of one front end: its thread slot and its heap. Made by [`define_front!`](crate::define_front).
///
/// # Safety
/// `slot` and `set_slot` read and write one word per thread, used by nothing else and initially `heap::thread::EMPTY`;
/// `state` always returns the same static.
pub unsafe trait Instance<C: Config>: 'static {
    /// Reads the calling thread's slot.
    fn slot() -> *mut ThreadHeap<C>;
    /// Writes the calling thread's slot.
    ///
    /// # Safety
    /// `heap` is one of the stand-ins, or a heap that belongs to the calling thread.
    unsafe fn set_slot(heap: *mut ThreadHeap<C>);
    /// The heap behind the front.
    fn state() -> &'static State<C>;
}

/// A front end: the statics `I` and the words of its preset as a type `C`, everything else being constants derived from
/// them.
///
/// Sizes and alignments are in bytes. Every block is aligned to 16 bytes at least. Failures are null, with `errno` set
/// to ENOMEM; successes and frees leave `errno` alone.
pub struct Front<I, C>(PhantomData<fn() -> (I, C)>);

/// The words of a front end, as a type.
pub trait Configured {
    /// Its words.
    type Config: Config;
}

impl<I, C: Config> Configured for Front<I, C> {
    type Config = C;
}

impl<I, C: Config> Default for Front<I, C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, C: Config> Front<I, C> {
    /// The words of the preset.
    pub const WORDS: Words = C::WORDS;

    /// The front end, for `#[global_allocator]`. It has no state of its own: all values of one type are one allocator.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<I: Instance<C>, C: Config> Front<I, C> {
    /// A block of at least `size` bytes; null with ENOMEM if there is none. Size 0 gives a block of its own.
    #[inline(always)]
    #[must_use]
    pub fn allocate(size: usize) -> *mut u8 {
        if let Some(bin) = C::small_bin(size)
            && let Some(block) = Self::pop(bin)
        {
            return block;
        }
        Self::allocate_other(size)
    }

    /// Takes the top block of the current magazine of `bin`; None if it is empty.
    #[inline(always)]
    fn pop(bin: usize) -> Option<*mut u8> {
        // SAFETY: `bin` is below the table's length. The slot holds a table whose entries point to the top slot
        // of a magazine, and the slot below a block exists. Relaxed: the table is this thread's. Where there is a block there
        // is a heap of the thread's own, with counters if the preset counts.
        unsafe {
            let heap = I::slot();
            let entry = (*heap).top.get_unchecked(bin);
            let top = entry.load(Ordering::Relaxed);
            if top.read_volatile().is_null() {
                return None;
            }
            entry.store(top.sub(1), Ordering::Relaxed);
            if C::STATS {
                (*heap).counters().allocate::<C>(bin, Path::AllocateHit);
            }
            if C::PREFETCH {
                // A hint: the address need not be a slot's.
                _mm_prefetch::<_MM_HINT_T0>(top.wrapping_byte_sub(64).cast());
            }
            // The block is read once its slot is out of reach: a signal handler that allocates and frees until here may
            // leave another block in the slot, but from here on works below it.
            compiler_fence(Ordering::SeqCst);
            Some(top.read_volatile())
        }
    }

    /// [`allocate`](Self::allocate) where the small bins had nothing: larger bins, or the cold path.
    #[inline(never)]
    fn allocate_other(size: usize) -> *mut u8 {
        if size > SMALL_MAX
            && size <= C::BIN_MAX
            && let Some(block) = Self::pop(C::large_bin(size))
        {
            return block;
        }
        if C::ALLOC_DUALHOT && (1..=Class::C3.most()).contains(&size) {
            return service::allocate_tiny(I::state(), C::bin_of(size));
        }
        service::allocate(I::state(), size)
    }

    /// Frees `block`. Null and blocks of libc's own allocator are welcome; a pointer that is no block ends the process
    /// with one line on stderr, at the latest when its magazine is flushed.
    ///
    /// # Safety
    /// `block` is null, or a live block of this front end or of libc, and is not used afterwards.
    #[inline(always)]
    pub unsafe fn deallocate(block: *mut u8) {
        let code = page_map::get(block.addr());
        // SAFETY: the map's codes are bins or codes without a magazine.
        if unsafe { !Self::push(code, block) } {
            // SAFETY: by the caller's promise.
            unsafe { Self::deallocate_other(block, code) }
        }
    }

    /// Frees a block whose bin its layout names, without looking the pointer up.
    ///
    /// # Safety
    /// `block` is a live block of `bin`, which is below `C::BINS`.
    #[inline(always)]
    pub(crate) unsafe fn deallocate_in(bin: usize, block: *mut u8) {
        // SAFETY: by the caller's promise.
        if unsafe { !Self::push(bin, block) } {
            // SAFETY: by the caller's promise.
            unsafe { Self::deallocate_other(block, bin) }
        }
    }

    /// Puts `block` on the current magazine of `bin`; false if it is full.
    ///
    /// # Safety
    /// `bin` is a code of the page map, and the caller gives `block` up.
    #[inline(always)]
    unsafe fn push(bin: usize, block: *mut u8) -> bool {
        // SAFETY: as in `pop`; a slot that is not beyond the magazine may be written.
        unsafe {
            let heap = I::slot();
            let entry = (*heap).top.get_unchecked(bin);
            let top: *mut Slot = entry.load(Ordering::Relaxed).add(1);
            if beyond(top) {
                return false;
            }
            *top = block;
            // In this order, so that a signal handler never finds a slot that is not written yet.
            compiler_fence(Ordering::SeqCst);
            entry.store(top, Ordering::Relaxed);
            if C::STATS {
                (*heap).counters().free::<C>(bin, Path::FreeHit);
            }
            true
        }
    }

    /// [`deallocate`](Self::deallocate) where the magazine had no room, or there is none: `code` is what the page map or the
    /// layout says.
    #[cold]
    #[inline(never)]
    unsafe fn deallocate_other(block: *mut u8, code: usize) {
        // SAFETY: by the caller's promise; the codes of C0 to C3 are the lowest bins.
        unsafe {
            if C::FREE_DUALHOT && (1..=C::TINY_BINS).contains(&code) {
                return service::free_tiny(I::state(), block, code);
            }
            service::free(I::state(), block);
        }
    }

    /// Puts the thread-exit and fork hooks in place, which the first allocation does otherwise. Fork hooks that a program
    /// adds later, and only those, may allocate.
    pub fn prepare() {
        I::state().initialise();
    }

    /// What the calls of all threads were, summed up; None unless the preset counts (the knobs `heap-stats` and
    /// `free-path-stats`).
    #[must_use]
    pub fn statistics() -> Option<Statistics> {
        Statistics::of(I::state())
    }

    /// A zeroed block of at least `size` bytes; memory fresh from the OS is not cleared again.
    #[inline]
    #[must_use]
    pub fn allocate_zeroed(size: usize) -> *mut u8 {
        if size > C::BIN_MAX {
            return service::allocate_zeroed(I::state(), size);
        }
        let block = Self::allocate(size);
        if !block.is_null() {
            // SAFETY: the block has at least `size` bytes.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    /// [`allocate_zeroed`](Self::allocate_zeroed) at a multiple of `align`, a power of two.
    #[inline]
    #[must_use]
    pub(crate) fn allocate_zeroed_aligned(size: usize, align: usize) -> *mut u8 {
        if align <= ALIGN {
            return Self::allocate_zeroed(size);
        }
        if let Some(bin) = C::bin_of_aligned(size, align)
            && let Some(block) = Self::pop(bin)
        {
            // SAFETY: the block has at least `size` bytes.
            unsafe { block.write_bytes(0, size) };
            return block;
        }
        service::allocate_aligned(I::state(), size, align, true)
    }

    /// A block of at least `size` bytes at a multiple of `align`, a power of two.
    #[inline]
    #[must_use]
    pub fn allocate_aligned(size: usize, align: usize) -> *mut u8 {
        if align <= ALIGN {
            return Self::allocate(size);
        }
        if let Some(bin) = C::bin_of_aligned(size, align)
            && let Some(block) = Self::pop(bin)
        {
            return block;
        }
        service::allocate_aligned(I::state(), size, align, false)
    }

    /// The block with room for `size` bytes, its contents kept up to the smaller size: where it is while it fits,
    /// elsewhere otherwise. Null with ENOMEM if there is no memory; `block` is then untouched.
    ///
    /// # Safety
    /// `block` is a live block of this front end or of libc, and not used afterwards unless null is returned.
    /// `size` is not 0.
    #[inline]
    #[must_use]
    pub unsafe fn reallocate(block: *mut u8, size: usize) -> *mut u8 {
        let bin = page_map::get(block.addr());
        if bin.wrapping_sub(1) >= C::BINS - 1 {
            // SAFETY: by the caller's promise.
            return unsafe { service::reallocate(I::state(), block, size) };
        }
        // SAFETY: `bin` was just found to be one.
        let shape = unsafe { C::shape(bin) };
        let usable = shape.size as usize;
        if shape.block_at(block.addr() % C::PAGE).is_none() {
            service::reject("realloc", block);
        }
        if size <= usable {
            if size < usable / 4 {
                // SAFETY: the block is the caller's, and what lies beyond `size` is not kept.
                unsafe { service::shrunk::<C>(block, size, usable) };
            }
            return block;
        }
        let new = Self::allocate(size);
        if !new.is_null() {
            // SAFETY: both blocks hold `usable` bytes, and the new one is nobody else's.
            unsafe {
                new.copy_from_nonoverlapping(block, usable);
                Self::deallocate(block);
            }
        }
        new
    }

    /// Bytes that a program may use of `block`; 0 for null. Stable while the block lives.
    ///
    /// # Safety
    /// `block` is null, or a live block of this front end or of libc.
    #[must_use]
    pub unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: by the caller's promise.
        unsafe { service::usable_size::<C>(block) }
    }
}

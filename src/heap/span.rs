//! Spans: blocks of whole pages within a segment, for sizes above the largest bin up to `C::SPAN_MAX`.
//!
//! A span starts at a page, so it is aligned to that. Called by the slow paths of the front.

use super::arena::Arena;
use super::page_map;
use super::pages;
use super::segment::{Misuse, Page, Segment};
use crate::config::Config;
use crate::os::lock::Patience;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// A span of at least `size` bytes, zeroed if `zero`; null if no memory is to be had, None if a lock is held and
/// `patience` is short.
#[must_use]
pub fn allocate<C: Config>(arena: &'static Arena<C>, size: usize, zero: bool, patience: Patience) -> Option<*mut u8> {
    debug_assert!(size <= C::SPAN_MAX);
    let count = size.div_ceil(C::PAGE).max(1);
    let Some(run) = pages::take(arena, count, patience)? else { return Some(null_mut()) };
    // SAFETY: the run's pages belong to this thread until the block is handed out.
    unsafe {
        (*run.page).span = count as u8;
        let start = (*run.page).start;
        page_map::set(start.addr(), 1, page_map::SPAN);
        if zero && !run.clean {
            start.write_bytes(0, size);
        }
        // Relaxed: a count for statistics.
        arena.span_pages.fetch_add(count, Ordering::Relaxed);
        Some(start)
    }
}

/// The descriptor of the live span that starts at `block`.
///
/// # Safety
/// The page map says SPAN for `block`.
unsafe fn page_of<C: Config>(block: *mut u8) -> Result<*mut Page<C>, Misuse> {
    if !block.addr().is_multiple_of(C::PAGE) {
        return Err(Misuse::NotABlock);
    }
    // SAFETY: the map says that `block` lies in a segment.
    Ok(unsafe { Segment::<C>::page_at(block) })
}

/// Usable bytes of the span at `block`.
///
/// # Safety
/// The page map says SPAN for `block`.
pub unsafe fn usable<C: Config>(block: *mut u8) -> Result<usize, Misuse> {
    // SAFETY: by the caller's promise; a live span's descriptor belongs to its owner, the caller.
    unsafe { page_of::<C>(block).map(|page| usize::from((*page).span) * C::PAGE) }
}

/// Frees the span at `block`.
///
/// # Safety
/// The page map says SPAN for `block`, and the caller owns it.
pub unsafe fn free<C: Config>(block: *mut u8) -> Result<(), Misuse> {
    // SAFETY: by the caller's promise the span is live and this thread's.
    unsafe {
        let page = page_of::<C>(block)?;
        // Of two threads that free one block, one gets it.
        if !page_map::replace(block.addr(), page_map::SPAN, page_map::INSIDE) {
            return Err(Misuse::AlreadyFree);
        }
        let count = usize::from((*page).span);
        (*page).span = 0;
        (*(*page).arena).span_pages.fetch_sub(count, Ordering::Relaxed);
        pages::release(page, count);
    }
    Ok(())
}

/// Makes the span at `block` hold `size` bytes without moving it: gives pages behind it back, or takes free ones.
/// False if it cannot grow.
///
/// # Safety
/// The page map says SPAN for `block`, and the caller owns it.
pub unsafe fn resize<C: Config>(block: *mut u8, size: usize) -> Result<bool, Misuse> {
    debug_assert!(0 < size && size <= C::SPAN_MAX);
    // SAFETY: by the caller's promise the span is live and this thread's.
    unsafe {
        let page = page_of::<C>(block)?;
        let (old, new) = (usize::from((*page).span), size.div_ceil(C::PAGE));
        let arena = &*(*page).arena;
        if new > old {
            if !pages::extend(page, old, new - old) {
                return Ok(false);
            }
            arena.span_pages.fetch_add(new - old, Ordering::Relaxed);
        } else if new < old {
            arena.span_pages.fetch_sub(old - new, Ordering::Relaxed);
            pages::release(page.add(new), old - new);
        }
        (*page).span = new as u8;
        Ok(true)
    }
}

//! `GlobalAlloc` for every front end, with sized deallocation: the layout names the bin, so a free looks nothing up.
//!
//! The bin of a layout is a function of the layout alone, and blocks of a layout come from that bin and no other;
//! hence a reallocation stays in place only where both layouts have one bin.

use crate::config::Config;
use crate::config::bins::ALIGN;
use crate::front::{Front, Instance};
use core::alloc::{GlobalAlloc, Layout};

/// The bin that serves `layout`; None if it is served by a span or a huge block.
#[inline(always)]
fn bin_of<C: Config>(layout: &Layout) -> Option<usize> {
    let (size, align) = (layout.size(), layout.align());
    if align > ALIGN {
        C::bin_of_aligned(size, align)
    } else if size <= C::BIN_MAX && size > 0 {
        Some(C::bin_of(size))
    } else {
        None
    }
}

// SAFETY: blocks are disjoint, large and aligned enough by the heap's invariants; nothing here unwinds.
unsafe impl<I: Instance<C>, C: Config> GlobalAlloc for Front<I, C> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::allocate_aligned(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller passes the layout that the block was allocated with. Size 0 leads to bin 0, which has no room.
        unsafe {
            if layout.align() <= ALIGN
                && let Some(bin) = C::small_bin(layout.size())
            {
                return Self::deallocate_in(bin, block);
            }
            match bin_of::<C>(&layout) {
                Some(bin) => Self::deallocate_in(bin, block),
                None => Self::deallocate(block),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::allocate_zeroed_aligned(layout.size(), layout.align())
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees that `size`, rounded up to the alignment, does not overflow.
        let new_layout = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let bin = bin_of::<C>(&new_layout);
        if bin == bin_of::<C>(&layout) && bin.is_some() {
            return block;
        }
        // Two sizes without a bin and no extra alignment: the heap may resize the block where it is.
        if bin.is_none() && bin_of::<C>(&layout).is_none() && layout.align() <= ALIGN {
            // SAFETY: the block is live and `size` is not 0.
            return unsafe { Self::reallocate(block, size) };
        }
        // SAFETY: the caller's layouts are valid, and the two blocks are distinct.
        unsafe {
            let new = self.alloc(new_layout);
            if !new.is_null() {
                new.copy_from_nonoverlapping(block, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

//! Segments (2 MiB, aligned) and the descriptors of their 32 pages.
//!
//! All metadata is out of band: the header and every bitmap lie in the segment's first page, a little further
//! in from segment to segment, so that the headers of many segments do not share cache sets. Freed blocks are bits;
//! their memory is never written.

use super::arena::Arena;
use super::list::{Linked, Links};
use super::{page_map, scavenge};
use crate::config::bins::{self, OS_PAGE, PAGE, PAGE_BLOCKS, PAGE_SHIFT, SEGMENT, SEGMENT_PAGES};
use crate::os::memory;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// Words of a page's bitmap.
pub const WORDS: usize = PAGE_BLOCKS / 64;

/// The free mask of a segment none of whose pages is in use: all but the header's.
pub const ALL_FREE: u32 = !1;

/// One page of a segment. While it serves a bin, `links`, `free`, `pass`, `purged` and the bitmap are guarded by the
/// central bin (`arena`, `bin`); all else is written only while the page is taken or released, when it belongs to one thread.
#[repr(C, align(64))]
pub struct Page {
    /// Its place in the central bin's list; while it is being retired, in the list of the retiring thread.
    pub links: Links<Page>,
    /// Blocks whose bit is set.
    pub free: u16,
    /// Blocks in all.
    pub blocks: u16,
    /// The bin it serves.
    pub bin: u8,
    /// Pages of the span that starts here; 0 if none does.
    pub span: u8,
    /// The last scavenging pass that looked at it.
    pub pass: u16,
    /// OS pages of it that have no memory: purged, or fresh, and not handed out since. One bit each; 0 unless it serves a
    /// bin.
    pub purged: u16,
    /// First byte of the page.
    pub start: *mut u8,
    /// The bitmap: a set bit is a free block.
    pub bits: *mut [u64; WORDS],
    /// The arena that it belongs to.
    pub arena: *const Arena,
}

/// The header of a segment. `links` to `dirty` are guarded by the pages of `arena`; the rest never changes.
#[repr(C, align(64))]
pub struct Segment {
    /// Its place in the arena's list.
    pub links: Links<Segment>,
    /// Free pages, one bit each.
    pub free: u32,
    /// Free pages that may hold old contents, one bit each; a subset of `free`.
    pub dirty: u32,
    /// First byte of the segment.
    pub start: *mut u8,
    /// The page descriptors; the first one, the header's own, is unused.
    pub pages: [Page; SEGMENT_PAGES],
    bits: [[u64; WORDS]; SEGMENT_PAGES],
}

/// Where the header of the segment at `start` begins, in bytes from its start: spread over eight OS pages and, within
/// each, sixteen cache lines, so that page descriptors stay within the first OS page of the header.
#[inline(always)]
fn stagger(start: usize) -> usize {
    let number = start / SEGMENT;
    number % 8 * OS_PAGE + number / 8 % 16 * 64
}

const _: () = assert!(size_of::<Segment>() + 7 * OS_PAGE + 15 * 64 <= PAGE);
const _: () = assert!(core::mem::offset_of!(Segment, bits) + 15 * 64 <= OS_PAGE);

impl Linked for Page {
    #[inline]
    fn links(this: *mut Self) -> *mut Links<Self> {
        // SAFETY: descriptors live in mapped headers.
        unsafe { &raw mut (*this).links }
    }
}

impl Linked for Segment {
    #[inline]
    fn links(this: *mut Self) -> *mut Links<Self> {
        // SAFETY: headers of segments in lists are mapped.
        unsafe { &raw mut (*this).links }
    }
}

impl Segment {
    /// The header of the segment that `address` lies in.
    #[inline(always)]
    pub fn of(address: *mut u8) -> *mut Self {
        address
            .map_addr(|address| {
                let start = address & !(SEGMENT - 1);
                start + stagger(start)
            })
            .cast()
    }

    /// Maps a segment for `arena`, every page free and clean; null if the OS refuses.
    pub fn map(arena: &'static Arena) -> *mut Self {
        let start = memory::map_aligned(SEGMENT, SEGMENT);
        if start.is_null() {
            return null_mut();
        }
        if !page_map::make_writable(start.addr(), SEGMENT) {
            memory::unmap(start, SEGMENT);
            return null_mut();
        }
        let this = Self::of(start);
        // SAFETY: the segment was just mapped, zeroed, and nobody else knows it; all-zero is valid for every field.
        unsafe {
            (*this).free = ALL_FREE;
            (*this).start = start;
            for index in 1..SEGMENT_PAGES {
                let page = Self::page(this, index);
                (*page).start = start.add(index * PAGE);
                (*page).bits = (&raw mut (*this).bits).cast::<[u64; WORDS]>().add(index);
                (*page).arena = arena;
            }
            page_map::set(start.addr(), SEGMENT_PAGES, page_map::INSIDE);
        }
        this
    }

    /// Gives the whole segment back to the OS.
    ///
    /// # Safety
    /// All its pages are free, and it is in no list.
    pub unsafe fn unmap(this: *mut Self) {
        // SAFETY: the caller owns the segment; the entries change before the addresses can be somebody else's.
        unsafe {
            let start = (*this).start;
            page_map::set(start.addr(), SEGMENT_PAGES, page_map::GONE);
            if !memory::unmap(start, SEGMENT) {
                // Refused (a filter, or the limit on mappings). The addresses stay ours and unused; the memory goes.
                memory::purge(start, SEGMENT);
            }
        }
    }

    /// Descriptor of page `index`.
    ///
    /// # Safety
    /// `this` is a mapped segment and `index < SEGMENT_PAGES`.
    #[inline(always)]
    pub unsafe fn page(this: *mut Self, index: usize) -> *mut Page {
        // SAFETY: in bounds by the caller's promise.
        unsafe { (&raw mut (*this).pages).cast::<Page>().add(index) }
    }

    /// Descriptor of the page that `address` lies in.
    ///
    /// # Safety
    /// `address` lies in a mapped segment.
    #[inline(always)]
    pub unsafe fn page_at(address: *mut u8) -> *mut Page {
        // SAFETY: the index is below SEGMENT_PAGES by the modulus.
        unsafe { Self::page(Self::of(address), (address.addr() >> PAGE_SHIFT) % SEGMENT_PAGES) }
    }
}

impl Page {
    /// Number of this page in its segment.
    pub fn index(&self) -> usize {
        (self.start.addr() >> PAGE_SHIFT) % SEGMENT_PAGES
    }

    /// Makes a free page serve `bin`: every block free; `clean` if it reads as zeroes.
    ///
    /// # Safety
    /// The caller owns the page, whose map entry it sets afterwards; `1 <= bin < BINS`.
    pub unsafe fn format(&mut self, bin: usize, clean: bool) {
        // SAFETY: by the caller's promise.
        let blocks = usize::from(unsafe { bins::shape(bin) }.blocks);
        self.bin = bin as u8;
        self.span = 0;
        self.set_purged(if clean { u16::MAX } else { 0 });
        self.blocks = blocks as u16;
        self.free = blocks as u16;
        // SAFETY: the bitmap belongs to the page.
        let bits = unsafe { &mut *self.bits };
        for (index, word) in bits.iter_mut().take(blocks.div_ceil(64)).enumerate() {
            let here = blocks - index * 64;
            *word = if here >= 64 { u64::MAX } else { (1 << here) - 1 };
        }
    }

    /// Takes up to `most` free blocks, lowest addresses first, handing each to `give`; returns how many.
    ///
    /// # Safety
    /// The caller holds the central bin's lock.
    pub unsafe fn take(&mut self, most: usize, mut give: impl FnMut(*mut u8)) -> usize {
        // SAFETY: a page that serves a bin has its number.
        let size = unsafe { bins::shape(usize::from(self.bin)) }.size as usize;
        // SAFETY: the bitmap belongs to the page, which the caller has locked.
        let bits = unsafe { &mut *self.bits };
        let most = most.min(usize::from(self.free));
        let mut left = most;
        let mut used = 0;
        for (index, word) in bits.iter_mut().enumerate() {
            if left == 0 {
                break;
            }
            let mut rest = *word;
            while rest != 0 && left > 0 {
                let offset = (index * 64 + rest.trailing_zeros() as usize) * size;
                rest &= rest - 1;
                give(self.start.wrapping_add(offset));
                used |= (2u32 << ((offset + size - 1) / OS_PAGE)) - (1 << (offset / OS_PAGE));
                left -= 1;
            }
            *word = rest;
        }
        self.free -= most as u16;
        let reused = self.purged & used as u16;
        if reused != 0 {
            self.set_purged(self.purged & !reused);
            // SAFETY: arenas live as long as the process.
            scavenge::regret(unsafe { &*self.arena }, reused.count_ones() as usize * OS_PAGE);
        }
        most
    }

    /// Changes which OS pages are known to be purged, in the arena's sum too.
    #[inline]
    pub fn set_purged(&mut self, purged: u16) {
        if self.purged != purged {
            let bytes = |mask: u16| mask.count_ones() as usize * OS_PAGE;
            // SAFETY: arenas live as long as the process.
            let sum = unsafe { &(*self.arena).scavenged };
            // Relaxed: a count, compared with limits. It wraps on the way where fewer are purged now.
            sum.fetch_add(bytes(purged).wrapping_sub(bytes(self.purged)), Ordering::Relaxed);
            self.purged = purged;
        }
    }

    /// OS pages of this page in which every block is free, one bit each.
    ///
    /// # Safety
    /// The caller holds the central bin's lock.
    pub unsafe fn free_os_pages(&self) -> u16 {
        // SAFETY: a page that serves a bin has its number.
        // It is never 0, which the compiler cannot know of a divisor.
        let size = (unsafe { bins::shape(usize::from(self.bin)) }.size as usize).max(1);
        if usize::from(self.free) * size < OS_PAGE {
            return 0;
        }
        // SAFETY: the bitmap belongs to the page, which the caller has locked.
        let bits = unsafe { &*self.bits };
        let is_free =
            |block: usize| block >= usize::from(self.blocks) || (bits[block / 64 % WORDS] >> (block % 64)) & 1 == 1;
        let mut mask = 0;
        for index in 0..PAGE / OS_PAGE {
            let first = index * OS_PAGE / size;
            let last = ((index + 1) * OS_PAGE - 1) / size;
            if (first..=last).all(is_free) {
                mask |= 1 << index;
            }
        }
        mask
    }

    /// Puts the block at `address` back.
    ///
    /// # Safety
    /// The caller holds the central bin's lock, and `address` lies in this page.
    #[inline]
    pub unsafe fn put(&mut self, address: *mut u8) -> Result<(), Misuse> {
        let offset = address.addr() % PAGE;
        // SAFETY: a page that serves a bin has its number.
        let shape = unsafe { bins::shape(usize::from(self.bin)) };
        let Some(block) = shape.block_at(offset) else { return Err(Misuse::NotABlock) };
        // SAFETY: `block` is below PAGE_BLOCKS, and the bitmap belongs to the page, which the caller has locked.
        let word = unsafe { (*self.bits).get_unchecked_mut(block / 64) };
        let bit = 1 << (block % 64);
        if *word & bit != 0 {
            return Err(Misuse::AlreadyFree);
        }
        *word |= bit;
        self.free += 1;
        Ok(())
    }
}

/// Why a pointer cannot be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misuse {
    /// No block starts there.
    NotABlock,
    /// The block is free.
    AlreadyFree,
}

//! Segments (2 MiB unless the geometry says otherwise, aligned) and the descriptors of their pages.
//!
//! All metadata is out of band: the header and every bitmap lie in the segment's first page, a little further
//! in from segment to segment, so that the headers of many segments do not share cache sets. Freed blocks are bits;
//! their memory is never written.

use super::arena::Arena;
use super::list::{Linked, Links};
use super::{page_map, scavenge};
use crate::config::Config;
use crate::config::bins::{GRANULE, MAX_PAGES, OS_PAGE};
use crate::os::memory;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// Bytes that an arena has in use when its next segments ask for huge pages (the knob `ThpAuto`).
const THP_FLOOR: usize = 4 << 20;

/// One page of a segment. While it serves a bin, `links`, `free`, `pass`, `purged` and the bitmap are guarded by the
/// central bin (`arena`, `bin`); all else is written only while the page is taken or released, when it belongs to one thread.
#[repr(C, align(64))]
pub struct Page<C: Config> {
    /// Its place in the central bin's list; while it is being retired, in the list of the retiring thread.
    pub links: Links<Page<C>>,
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
    pub purged: u32,
    /// First byte of the page.
    pub start: *mut u8,
    /// The bitmap of `C::BITMAP` words: a set bit is a free block.
    pub bits: *mut u64,
    /// The arena that it belongs to.
    pub arena: *const Arena<C>,
}

/// The header of a segment; the bitmaps of its pages follow. `links` to `dirty` are guarded by the pages of `arena`; the rest never changes.
#[repr(C, align(64))]
pub struct Segment<C: Config> {
    /// Its place in the arena's list.
    pub links: Links<Segment<C>>,
    /// Free pages, one bit each.
    pub free: u32,
    /// Free pages that may hold old contents, one bit each; a subset of `free`.
    pub dirty: u32,
    /// First byte of the segment.
    pub start: *mut u8,
    /// The page descriptors; the first one, the header's own, is unused.
    pub pages: [Page<C>; MAX_PAGES],
}

/// Where the header of the segment at `start` begins, in bytes from its start: spread over eight OS pages and, within
/// each, sixteen cache lines, so that page descriptors stay within the first OS page of the header.
#[inline(always)]
fn stagger<C: Config>(start: usize) -> usize {
    let number = start / C::SEGMENT;
    number % 8 * OS_PAGE + number / 8 % 16 * 64
}

impl<C: Config> Linked for Page<C> {
    #[inline]
    fn links(this: *mut Self) -> *mut Links<Self> {
        // SAFETY: descriptors live in mapped headers.
        unsafe { &raw mut (*this).links }
    }
}

impl<C: Config> Linked for Segment<C> {
    #[inline]
    fn links(this: *mut Self) -> *mut Links<Self> {
        // SAFETY: headers of segments in lists are mapped.
        unsafe { &raw mut (*this).links }
    }
}

impl<C: Config> Segment<C> {
    /// The free mask of a segment none of whose pages is in use: all but the header's.
    pub const ALL_FREE: u32 = {
        let header = size_of::<Self>() + C::SEGMENT_PAGES * C::BITMAP * 8 + 7 * OS_PAGE + 15 * 64;
        assert!(header <= C::PAGE, "the first page holds the header, wherever in it that begins");
        assert!(size_of::<Self>() + 15 * 64 <= OS_PAGE, "the descriptors stay within an OS page");
        (u32::MAX >> (32 - C::SEGMENT_PAGES)) & !1
    };

    /// The header of the segment that `address` lies in.
    #[inline(always)]
    pub fn of(address: *mut u8) -> *mut Self {
        address
            .map_addr(|address| {
                let start = address & !(C::SEGMENT - 1);
                start + stagger::<C>(start)
            })
            .cast()
    }

    /// Maps a segment for `arena`, every page free and clean; null if the OS refuses.
    pub fn map(arena: &'static Arena<C>) -> *mut Self {
        let start = memory::map_aligned(C::SEGMENT, C::SEGMENT);
        if start.is_null() {
            return null_mut();
        }
        if !page_map::make_writable(start.addr(), C::SEGMENT) {
            memory::unmap(start, C::SEGMENT);
            return null_mut();
        }
        // What a heap is worth is known when it has grown: small ones would pay for memory that they never touch.
        if C::THP && arena.live() >= THP_FLOOR {
            memory::advise_huge_pages(start, C::SEGMENT);
        }
        let this = Self::of(start);
        // SAFETY: the segment was just mapped, zeroed, and nobody else knows it; all-zero is valid for every field.
        unsafe {
            (*this).free = Self::ALL_FREE;
            (*this).start = start;
            for index in 1..C::SEGMENT_PAGES {
                let page = Self::page(this, index);
                (*page).start = start.add(index * C::PAGE);
                (*page).bits = this.add(1).cast::<u64>().add(index * C::BITMAP);
                (*page).arena = arena;
            }
            page_map::set(start.addr(), C::SEGMENT / GRANULE, page_map::INSIDE);
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
            page_map::set(start.addr(), C::SEGMENT / GRANULE, page_map::GONE);
            if !memory::unmap(start, C::SEGMENT) {
                // Refused (a filter, or the limit on mappings). The addresses stay ours and unused; the memory goes.
                memory::purge(start, C::SEGMENT);
            }
        }
    }

    /// Descriptor of page `index`.
    ///
    /// # Safety
    /// `this` is a mapped segment and `index < C::SEGMENT_PAGES`.
    #[inline(always)]
    pub unsafe fn page(this: *mut Self, index: usize) -> *mut Page<C> {
        // SAFETY: in bounds by the caller's promise.
        unsafe { (&raw mut (*this).pages).cast::<Page<C>>().add(index) }
    }

    /// Descriptor of the page that `address` lies in.
    ///
    /// # Safety
    /// `address` lies in a mapped segment.
    #[inline(always)]
    pub unsafe fn page_at(address: *mut u8) -> *mut Page<C> {
        // SAFETY: the index is below C::SEGMENT_PAGES by the modulus.
        unsafe { Self::page(Self::of(address), address.addr() / C::PAGE % C::SEGMENT_PAGES) }
    }
}

impl<C: Config> Page<C> {
    /// The bitmap.
    ///
    /// # Safety
    /// The caller holds the central bin's lock or owns the page, and has no other reference to the bitmap.
    #[inline(always)]
    pub unsafe fn bitmap<'a>(&self) -> &'a mut [u64] {
        // SAFETY: by the caller's promise; the bitmap has so many words.
        unsafe { core::slice::from_raw_parts_mut(self.bits, C::BITMAP) }
    }

    /// Number of this page in its segment.
    pub fn index(&self) -> usize {
        self.start.addr() / C::PAGE % C::SEGMENT_PAGES
    }

    /// Makes a free page serve `bin`: every block free; `clean` if it reads as zeroes.
    ///
    /// # Safety
    /// The caller owns the page, whose map entry it sets afterwards; `1 <= bin < C::BINS`.
    pub unsafe fn format(&mut self, bin: usize, clean: bool) {
        // SAFETY: by the caller's promise.
        let blocks = usize::from(unsafe { C::shape(bin) }.blocks);
        self.bin = bin as u8;
        self.span = 0;
        self.set_purged(if clean { u32::MAX >> (32 - C::OS_PAGES) } else { 0 });
        self.blocks = blocks as u16;
        self.free = blocks as u16;
        // SAFETY: the bitmap belongs to the page.
        let bits = unsafe { self.bitmap() };
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
        let size = unsafe { C::shape(usize::from(self.bin)) }.size as usize;
        // SAFETY: the bitmap belongs to the page, which the caller has locked.
        let bits = unsafe { self.bitmap() };
        let most = most.min(usize::from(self.free));
        let mut left = most;
        let mut used = 0u64;
        for (index, word) in bits.iter_mut().enumerate() {
            if left == 0 {
                break;
            }
            let mut rest = *word;
            while rest != 0 && left > 0 {
                let offset = (index * 64 + rest.trailing_zeros() as usize) * size;
                rest &= rest - 1;
                give(self.start.wrapping_add(offset));
                used |= (2 << ((offset + size - 1) / OS_PAGE)) - (1 << (offset / OS_PAGE));
                left -= 1;
            }
            *word = rest;
        }
        self.free -= most as u16;
        let reused = self.purged & used as u32;
        if reused != 0 {
            self.set_purged(self.purged & !reused);
            // SAFETY: arenas live as long as the process.
            scavenge::regret(unsafe { &*self.arena }, reused.count_ones() as usize * OS_PAGE);
        }
        most
    }

    /// Changes which OS pages are known to be purged, in the arena's sum too.
    #[inline]
    pub fn set_purged(&mut self, purged: u32) {
        if self.purged != purged {
            let bytes = |mask: u32| mask.count_ones() as usize * OS_PAGE;
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
    pub unsafe fn free_os_pages(&self) -> u32 {
        // SAFETY: a page that serves a bin has its number.
        // It is never 0, which the compiler cannot know of a divisor.
        let size = (unsafe { C::shape(usize::from(self.bin)) }.size as usize).max(1);
        if usize::from(self.free) * size < OS_PAGE {
            return 0;
        }
        // SAFETY: the bitmap belongs to the page, which the caller has locked.
        let bits = unsafe { self.bitmap() };
        let is_free = |block: usize| {
            block >= usize::from(self.blocks) || (bits[block / 64 % bits.len()] >> (block % 64)) & 1 == 1
        };
        let mut mask = 0;
        for index in 0..C::OS_PAGES {
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
        let offset = address.addr() % C::PAGE;
        // SAFETY: a page that serves a bin has its number.
        let shape = unsafe { C::shape(usize::from(self.bin)) };
        let Some(block) = shape.block_at(offset) else { return Err(Misuse::NotABlock) };
        // SAFETY: `block` is within the page, and the bitmap belongs to the page, which the caller has locked.
        let word = unsafe { &mut *self.bits.add(block / 64) };
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

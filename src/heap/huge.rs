//! Huge blocks: each a mapping of its own, in multiples of 64 KiB, with a cache of freed ones.
//!
//! The page map is all that describes them: HUGE where a block starts, HUGE_INSIDE as far as it goes. So nothing in band
//! says how long a block is, and to find out takes no lock. Called by the slow paths of the front.

use super::page_map;
use super::purge::Keeper;
use super::segment::Misuse;
use crate::config::Config;
use crate::config::bins::GRANULE;
use crate::os::lock::{Lock, Locked, Patience};
use crate::os::memory::{self, Resized};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Freed blocks that are kept at most.
const KEPT: usize = 512;

#[derive(Clone, Copy)]
struct Range {
    start: *mut u8,
    len: usize,
}

const NOTHING: Range = Range { start: null_mut(), len: 0 };

/// Freed blocks, the oldest first. Their contents are unknown.
struct Cache {
    ranges: [Range; KEPT],
    count: usize,
    bytes: usize,
    keeper: Keeper,
}

/// The huge blocks of one front end.
pub struct Huge {
    cache: Locked<Cache>,
    /// Bytes of live huge blocks.
    pub live: AtomicUsize,
    /// Number of live huge blocks.
    pub blocks: AtomicUsize,
}

impl Cache {
    fn remove(&mut self, index: usize) -> Range {
        let range = self.ranges[index % KEPT];
        self.count -= 1;
        for place in index..self.count {
            self.ranges[place % KEPT] = self.ranges[(place + 1) % KEPT];
        }
        self.bytes -= range.len;
        range
    }

    fn add(&mut self, range: Range) {
        self.ranges[self.count % KEPT] = range;
        self.count += 1;
        self.bytes += range.len;
    }

    /// The best fit at a multiple of `align`: the smallest range that wastes at most an eighth.
    fn take(&mut self, len: usize, align: usize) -> Option<Range> {
        let fits =
            |range: &Range| range.len >= len && range.len - len <= len / 8 && range.start.addr().is_multiple_of(align);
        let kept = self.ranges.iter().take(self.count).enumerate();
        let (index, _) = kept.filter(|(_, range)| fits(range)).min_by_key(|(_, range)| range.len)?;
        Some(self.remove(index))
    }
}

impl Range {
    /// Writes the map's entries of a live block.
    ///
    /// # Safety
    /// The range is the caller's, and its entries are writable.
    unsafe fn mark_live(self) {
        // SAFETY: by the caller's promise. The first entry last: a block that starts is a whole one.
        unsafe {
            page_map::set(self.start.addr() + GRANULE, self.len / GRANULE - 1, page_map::HUGE_INSIDE);
            page_map::set(self.start.addr(), 1, page_map::HUGE);
        }
    }

    /// Gives the range back to the OS for good.
    fn unmap(self) {
        // SAFETY: nobody uses the range any more. The entries change before the addresses can be somebody else's.
        unsafe { page_map::set(self.start.addr(), self.len / GRANULE, page_map::GONE) };
        if !memory::unmap(self.start, self.len) {
            // Refused (a filter, or the limit on mappings): the addresses stay unused, the memory goes.
            memory::purge(self.start, self.len);
        }
    }
}

/// Usable bytes of the huge block at `start`, which is its length.
pub fn usable(start: *mut u8) -> Result<usize, Misuse> {
    if !start.addr().is_multiple_of(GRANULE) {
        return Err(Misuse::NotABlock);
    }
    let inside = usize::from(page_map::HUGE_INSIDE);
    let rest = (1..).take_while(|page| page_map::get(start.addr() + page * GRANULE) == inside);
    Ok((1 + rest.count()) * GRANULE)
}

/// Fresh memory with writable map entries; null if the OS refuses.
fn map<C: Config>(len: usize, align: usize) -> *mut u8 {
    let thp = C::THP && len >= memory::HUGE_PAGE;
    let start = memory::map_aligned(len, if thp { align.max(memory::HUGE_PAGE) } else { align });
    if !start.is_null() && !page_map::make_writable(start.addr(), len) {
        memory::unmap(start, len);
        return null_mut();
    }
    if thp && !start.is_null() {
        memory::advise_huge_pages(start, len);
    }
    start
}

impl Huge {
    /// No huge blocks.
    #[must_use]
    pub const fn new() -> Self {
        let cache = Cache { ranges: [NOTHING; KEPT], count: 0, bytes: 0, keeper: Keeper::new() };
        Self { cache: Locked::new(cache), live: AtomicUsize::new(0), blocks: AtomicUsize::new(0) }
    }

    /// The one lock, for the fork hooks.
    pub fn raw(&self) -> &Lock {
        self.cache.raw()
    }

    /// A huge block of at least `size` bytes at a multiple of `align`, zeroed if `zero`; null if no memory is to be had.
    /// With little `patience` it passes the cache over if that is locked. `size <= isize::MAX`.
    #[must_use]
    pub fn allocate<C: Config>(&self, size: usize, align: usize, zero: bool, patience: Patience) -> *mut u8 {
        let Some(len) = size.max(1).checked_next_multiple_of(GRANULE) else { return null_mut() };
        let cached = self.take_cached(len, align, patience);
        let clean = cached.is_none();
        let range = cached.unwrap_or_else(|| Range { start: map::<C>(len, align.max(GRANULE)), len });
        if range.start.is_null() {
            return null_mut();
        }
        // SAFETY: the range is mapped and this thread's until the block is handed out.
        unsafe {
            // Purging clears as well, and costs nothing for what the program never touches.
            if zero && !clean && (C::FREE_KEEP || !memory::purge(range.start, range.len)) {
                range.start.write_bytes(0, size);
            }
            range.mark_live();
        }
        // Relaxed: counts, compared with limits.
        self.live.fetch_add(range.len, Ordering::Relaxed);
        self.blocks.fetch_add(1, Ordering::Relaxed);
        range.start
    }

    /// A freed block of about `len` bytes; None if there is none, or the cache is locked and `patience` short.
    fn take_cached(&self, len: usize, align: usize, patience: Patience) -> Option<Range> {
        let mut cache = self.cache.lock_with(patience)?;
        // Relaxed: a count, compared with limits.
        cache.keeper.gives(self.live.load(Ordering::Relaxed) + len);
        let fit = cache.take(len, align);
        if fit.is_none() {
            cache.keeper.wanted(len);
        }
        fit
    }

    /// Frees the huge block at `start`: into the cache, or back to the OS where the free policy says so.
    pub fn free<C: Config>(&self, start: *mut u8) -> Result<(), Misuse> {
        let range = Range { start, len: usable(start)? };
        // Of two threads that free one block, one gets it.
        if !page_map::replace(start.addr(), page_map::HUGE, page_map::HUGE_IDLE) {
            return Err(Misuse::AlreadyFree);
        }
        // SAFETY: the block was the caller's, and is this thread's now.
        unsafe { page_map::set(start.addr(), range.len / GRANULE, page_map::HUGE_IDLE) };
        // Relaxed: counts, compared with limits.
        let live = self.live.fetch_sub(range.len, Ordering::Relaxed) - range.len;
        self.blocks.fetch_sub(1, Ordering::Relaxed);
        let mut cache = self.cache.lock();
        cache.keeper.gives(live + range.len);
        let full = (cache.count == KEPT).then(|| cache.remove(0));
        cache.add(range);
        let empty = cache.bytes;
        let target = cache.keeper.excess::<C>(empty, live);
        drop(cache);
        if let Some(oldest) = full {
            oldest.unmap();
        }
        if let Some(target) = target {
            self.trim(target);
        }
        Ok(())
    }

    /// Gives cached blocks back, the oldest first, until at most `target` bytes are cached; returns the bytes given back.
    pub fn trim(&self, target: usize) -> usize {
        let mut bytes = 0;
        loop {
            let mut cache = self.cache.lock();
            if cache.count == 0 || cache.bytes <= target {
                return bytes;
            }
            let range = cache.remove(0);
            cache.keeper.gave_back(range.len);
            drop(cache);
            bytes += range.len;
            range.unmap();
        }
    }

    /// Bytes of freed blocks in the cache.
    pub fn cached(&self) -> usize {
        self.cache.lock().bytes
    }

    /// Makes the huge block at `start` hold `size` bytes and returns its new address, contents kept: where it is, or
    /// moved by the kernel without a copy. Null if that cannot be done; the block is then as it was.
    pub fn resize<C: Config>(&self, start: *mut u8, size: usize) -> Result<*mut u8, Misuse> {
        let old = usable(start)?;
        let Some(new) = size.checked_next_multiple_of(GRANULE) else { return Ok(null_mut()) };
        if new < old {
            if !C::FREE_KEEP {
                self.shrink(start, old, new);
            }
            return Ok(start);
        }
        if new == old {
            return Ok(start);
        }
        // Growing by half and more: copying into memory that is there costs less than having the kernel add as much.
        if new - old >= old / 2
            && let Some(range) = self.take_cached(new, GRANULE, Patience::Wait)
        {
            // SAFETY: the range is this thread's, and longer than the block, which is the caller's.
            unsafe {
                range.start.copy_from_nonoverlapping(start, old);
                range.mark_live();
            }
            // Relaxed: counts, compared with limits.
            self.live.fetch_add(range.len, Ordering::Relaxed);
            self.blocks.fetch_add(1, Ordering::Relaxed);
            return self.free::<C>(start).map(|()| range.start);
        }
        let grown = grow::<C>(start, old, new);
        if !grown.is_null() {
            // Relaxed: a count, compared with limits.
            self.live.fetch_add(new - old, Ordering::Relaxed);
        }
        Ok(grown)
    }

    fn shrink(&self, start: *mut u8, old: usize, new: usize) {
        let tail = Range { start: start.wrapping_add(new), len: old - new };
        // SAFETY: the tail is part of the caller's block, which ends before it from now on.
        unsafe { page_map::set(tail.start.addr(), tail.len / GRANULE, page_map::GONE) };
        if memory::unmap(tail.start, tail.len) {
            // Relaxed: a count, compared with limits.
            self.live.fetch_sub(tail.len, Ordering::Relaxed);
        } else {
            // The block stays as long as it was; its memory goes if that is allowed.
            // SAFETY: as above.
            unsafe { page_map::set(tail.start.addr(), tail.len / GRANULE, page_map::HUGE_INSIDE) };
            memory::purge(tail.start, tail.len);
        }
    }
}

impl Default for Huge {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes the block at `start` longer, in place or elsewhere; null if the OS refuses.
fn grow<C: Config>(start: *mut u8, old: usize, new: usize) -> *mut u8 {
    let thp = C::THP && new >= memory::HUGE_PAGE;
    if page_map::make_writable(start.addr(), new) {
        match memory::resize_in_place(start, old, new) {
            Resized::Done => {
                // SAFETY: the range is the caller's block, just grown.
                unsafe { Range { start, len: new }.mark_live() };
                if thp {
                    memory::advise_huge_pages(start, new);
                }
                return start;
            }
            Resized::NoRoom => {}
            Resized::Never => return null_mut(),
        }
    }
    let to = memory::reserve_aligned(new, if thp { memory::HUGE_PAGE } else { GRANULE });
    if to.is_null() {
        return to;
    }
    if !page_map::make_writable(to.addr(), new) {
        memory::unmap(to, new);
        return null_mut();
    }
    // SAFETY: both ranges are this thread's. The old entries change before the kernel can give the addresses away.
    unsafe {
        page_map::set(start.addr(), old / GRANULE, page_map::GONE);
        if memory::move_to(start, old, to, new) {
            Range { start: to, len: new }.mark_live();
            if thp {
                memory::advise_huge_pages(to, new);
            }
            return to;
        }
        Range { start, len: old }.mark_live();
    }
    null_mut()
}

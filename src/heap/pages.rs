//! The pages of an arena: its segments, runs of free pages in them, and which of those hold old contents.
//!
//! A list holds the segments that have a free page. A segment that gets its first dirty page moves to the head, one
//! that was purged to the tail, so that pages are reused while they are warm and purging finds its work at the head.

use super::arena::Arena;
use super::list::List;
use super::page_map;
use super::purge::Keeper;
use super::segment::{Page, Segment};
use crate::config::Config;
use crate::os::lock::Patience;
use crate::os::memory;

/// How many segments a request for several pages looks at before a new segment is mapped.
const LOOKS: usize = 32;

/// What an arena knows of its pages. Counts are in pages unless said.
pub struct Pages<C: Config> {
    list: List<Segment<C>>,
    /// Segments mapped.
    pub segments: usize,
    /// Free pages that may hold old contents.
    pub dirty: usize,
    keeper: Keeper,
}

/// Neighbouring pages, taken together.
pub struct Run<C: Config> {
    /// The first one's descriptor.
    pub page: *mut Page<C>,
    /// Whether all of them read as zeroes.
    pub clean: bool,
}

/// What purging takes out under the lock, to be given back outside it.
enum Work<C: Config> {
    /// A segment without pages in use.
    Idle(*mut Segment<C>),
    /// Dirty pages of a segment, one bit each.
    Dirty(*mut Segment<C>, u32),
}

/// Bits `first..first + count`.
fn bits(first: usize, count: usize) -> u32 {
    ((1u32 << count) - 1) << first
}

/// Lowest first bit of a run of `count` set bits.
fn find_run(mask: u32, count: usize) -> Option<usize> {
    let mut starts = mask;
    for distance in 1..count {
        starts &= mask >> distance;
    }
    (starts != 0).then(|| starts.trailing_zeros() as usize)
}

impl<C: Config> Pages<C> {
    /// An arena's pages at the beginning: none.
    #[must_use]
    pub const fn new() -> Self {
        Self { list: List::new(), segments: 0, dirty: 0, keeper: Keeper::new() }
    }

    /// Takes `count` neighbouring free pages, dirty ones first if there is a choice within a segment.
    fn take(&mut self, count: usize) -> Option<Run<C>> {
        let mut segment = self.list.first();
        for _ in 0..LOOKS {
            if segment.is_null() {
                return None;
            }
            // SAFETY: segments in the list are mapped, and the lock of this arena's pages is held.
            let (free, dirty) = unsafe { ((*segment).free, (*segment).dirty) };
            if let Some(first) = find_run(dirty, count).or_else(|| find_run(free, count)) {
                // SAFETY: the run lies in this segment's free mask.
                return Some(unsafe { self.take_at(segment, first, count) });
            }
            // What was looked at in vain stands behind the others next time, or a crowd of segments with single free
            // pages would hide those behind it.
            // SAFETY: as above; the segment is in the list.
            unsafe {
                let next = self.list.after(segment);
                self.list.remove(segment);
                self.list.push_last(segment);
                segment = next;
            }
        }
        None
    }

    /// # Safety
    /// The pages `first..first + count` of `segment`, which is in the list, are free.
    unsafe fn take_at(&mut self, segment: *mut Segment<C>, first: usize, count: usize) -> Run<C> {
        let mask = bits(first, count);
        // SAFETY: the lock of this arena's pages is held.
        unsafe {
            let dirty = (*segment).dirty & mask;
            (*segment).free &= !mask;
            (*segment).dirty &= !mask;
            if (*segment).free == 0 {
                self.list.remove(segment);
            }
            self.dirty -= dirty.count_ones() as usize;
            self.keeper.gives((*(*Segment::page(segment, first)).arena).live() + count * C::PAGE);
            if dirty == 0 {
                self.keeper.wanted(count * C::PAGE);
            }
            Run { page: Segment::page(segment, first), clean: dirty == 0 }
        }
    }

    /// Puts the pages in `mask` back, as dirty or clean ones.
    ///
    /// # Safety
    /// They are not free, belong to `segment` of this arena, and nobody uses them.
    unsafe fn put(&mut self, segment: *mut Segment<C>, mask: u32, dirty: bool) {
        // SAFETY: the lock of this arena's pages is held.
        unsafe {
            let (was_free, was_dirty) = ((*segment).free, (*segment).dirty);
            (*segment).free |= mask;
            if dirty {
                (*segment).dirty |= mask;
                self.dirty += mask.count_ones() as usize;
            }
            if dirty && was_dirty == 0 {
                if was_free != 0 {
                    self.list.remove(segment);
                }
                self.list.push_first(segment);
            } else if !dirty {
                if was_free != 0 {
                    self.list.remove(segment);
                }
                self.list.push_last(segment);
            }
        }
    }

    /// Takes something out that purging can give back.
    fn pick(&mut self, scope: Scope) -> Option<Work<C>> {
        let all = scope == Scope::All;
        let mut segment = self.list.first();
        while !segment.is_null() {
            // SAFETY: segments in the list are mapped, and the lock of this arena's pages is held.
            unsafe {
                let (free, dirty) = ((*segment).free, (*segment).dirty);
                if free == Segment::<C>::ALL_FREE && (dirty != 0 || all) {
                    self.list.remove(segment);
                    self.segments -= 1;
                    self.dirty -= dirty.count_ones() as usize;
                    self.keeper.gave_back(dirty.count_ones() as usize * C::PAGE);
                    return Some(Work::Idle(segment));
                }
                if dirty != 0 && (all || !C::WHOLE_SEGMENTS) {
                    (*segment).free &= !dirty;
                    (*segment).dirty = 0;
                    if (*segment).free == 0 {
                        self.list.remove(segment);
                    }
                    self.dirty -= dirty.count_ones() as usize;
                    self.keeper.gave_back(dirty.count_ones() as usize * C::PAGE);
                    return Some(Work::Dirty(segment, dirty));
                }
                segment = self.list.after(segment);
            }
        }
        None
    }
}

impl<C: Config> Default for Pages<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes `count` neighbouring pages for `arena`, mapping a segment if need be; Some(None) if the OS refuses, None if the
/// lock is held and `patience` is short. Their map entries stay INSIDE.
pub fn take<C: Config>(arena: &'static Arena<C>, count: usize, patience: Patience) -> Option<Option<Run<C>>> {
    debug_assert!(0 < count && count < C::SEGMENT_PAGES);
    if let Some(run) = arena.pages.lock_with(patience)?.take(count) {
        return Some(Some(run));
    }
    let segment = Segment::map(arena);
    if segment.is_null() {
        return Some(None);
    }
    // Worth waiting for in any case: it was free before, so interrupted code does not hold it.
    let mut pages = arena.pages.lock();
    pages.segments += 1;
    // SAFETY: the segment is new, in no list, and all its pages are free; the first one is its header's.
    unsafe {
        pages.list.push_first(segment);
        Some(Some(pages.take_at(segment, 1, count)))
    }
}

/// Takes the `more` pages that follow the `count` pages from `page` on, if all of them are free.
///
/// # Safety
/// The caller owns the `count` pages from `page` on.
pub unsafe fn extend<C: Config>(page: *mut Page<C>, count: usize, more: usize) -> bool {
    // SAFETY: an owned page's descriptor is readable, and its arena lives as long as the process.
    let (arena, first, segment) = unsafe { (&*(*page).arena, (*page).index() + count, Segment::of((*page).start)) };
    if first + more > C::SEGMENT_PAGES {
        return false;
    }
    let mut pages = arena.pages.lock();
    // SAFETY: the lock is held, and the pages are free where the mask says so.
    unsafe {
        let fits = (*segment).free & bits(first, more) == bits(first, more);
        if fits {
            pages.take_at(segment, first, more);
        }
        fits
    }
}

/// Gives `count` pages from `page` on back to their arena, and memory to the OS where the arena keeps too much.
///
/// # Safety
/// The caller owns the pages, and nobody uses them any more.
pub unsafe fn release<C: Config>(page: *mut Page<C>, count: usize) {
    // SAFETY: an owned page's descriptor is readable, and its arena lives as long as the process.
    let (arena, first, segment) = unsafe { (&*(*page).arena, (*page).index(), Segment::of((*page).start)) };
    // SAFETY: the caller owns the pages.
    unsafe { page_map::set((*page).start.addr(), count * C::GRANULES, page_map::INSIDE) };
    let mut pages = arena.pages.lock();
    // SAFETY: the caller gives the pages up.
    unsafe { pages.put(segment, bits(first, count), true) };
    // SAFETY: the segment is mapped as long as the lock is held.
    if C::WHOLE_SEGMENTS && unsafe { (*segment).free } != Segment::<C>::ALL_FREE {
        return;
    }
    let empty = pages.dirty * C::PAGE;
    let Some(target) = pages.keeper.excess::<C>(empty, arena.live()) else { return };
    drop(pages);
    purge(arena, target, Scope::Policy);
}

/// What purging may give back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// What the preset's policy lets go as the program frees.
    Policy,
    /// Everything, also the addresses of every segment without a page in use.
    All,
}

/// Gives memory back until at most `target` bytes of `arena` are dirty, or all that is in `scope`. Returns the bytes given
/// back.
pub fn purge<C: Config>(arena: &'static Arena<C>, target: usize, scope: Scope) -> usize {
    let mut bytes = 0;
    loop {
        let mut pages = arena.pages.lock();
        if pages.dirty * C::PAGE <= target && scope == Scope::Policy {
            return bytes;
        }
        let work = pages.pick(scope);
        drop(pages);
        match work {
            None => return bytes,
            Some(Work::Idle(segment)) => {
                // SAFETY: every page is free, and it was taken out of the list under the lock. Its masks are ours.
                unsafe {
                    bytes += (*segment).dirty.count_ones() as usize * C::PAGE;
                    Segment::unmap(segment);
                }
            }
            Some(Work::Dirty(segment, mask)) => {
                // SAFETY: the pages in the mask were taken out under the lock.
                let given = unsafe { purge_runs(segment, mask) };
                bytes += given.count_ones() as usize * C::PAGE;
                let mut pages = arena.pages.lock();
                // SAFETY: they are put back as what they are now.
                unsafe {
                    if given != 0 {
                        pages.put(segment, given, false);
                    }
                    if given != mask {
                        pages.put(segment, mask & !given, true);
                    }
                }
                if given != mask {
                    // The OS refuses; asking for the rest would go on for ever.
                    return bytes;
                }
            }
        }
    }
}

/// Purges every run of pages in `mask`; returns those that were.
///
/// # Safety
/// The caller owns the pages.
unsafe fn purge_runs<C: Config>(segment: *mut Segment<C>, mask: u32) -> u32 {
    let mut given = 0;
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let count = (rest >> first).trailing_ones() as usize;
        let run = bits(first, count);
        // SAFETY: the pages lie in the segment and belong to the caller.
        if memory::purge(unsafe { (*segment).start.add(first * C::PAGE) }, count * C::PAGE) {
            given |= run;
        }
        rest &= !run;
    }
    given
}

#[cfg(test)]
mod tests {
    use super::{bits, find_run};

    #[test]
    fn runs_are_found_where_they_are() {
        assert_eq!(find_run(0b1110_1100, 3), Some(5));
        assert_eq!(find_run(0b1110_1100, 2), Some(2));
        assert_eq!(find_run(0b1110_1100, 4), None);
        assert_eq!(find_run(0, 1), None);
        assert_eq!(find_run(!1, 31), Some(1));
        assert_eq!(find_run(1 << 31, 2), None);
        assert_eq!(bits(3, 2), 0b11000);
    }
}

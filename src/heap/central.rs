//! Central bins: for one bin of one arena, the list of pages that have free blocks.
//!
//! Called once a batch, by routes and by single requests of threads that have no heap.

use super::arena::Arena;
use super::list::List;
use super::magazine::Slot;
use super::segment::{Misuse, Page, Segment};
use super::{page_map, pages, scavenge};
use crate::config::Config;
use crate::config::bins::{ALIGN, GRANULE, MAGAZINE_SLOTS, OS_PAGE};
use crate::os::lock::Patience;
use crate::os::report;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

/// The pages of one bin with at least one free block; full pages are in no list. Blocks come from the head; pages that
/// were scavenged stand at the tail.
pub struct Central<C: Config>(List<Page<C>>);

/// Words of the largest page's bitmap.
const WORDS: usize = 2 * GRANULE / ALIGN / 64;

/// The free blocks of a page, taken out of it: its bitmap, and how many they are.
pub struct Saved {
    bits: [u64; WORDS],
    count: u16,
}

impl Saved {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self { bits: [0; WORDS], count: 0 }
    }
}

impl Default for Saved {
    fn default() -> Self {
        Self::new()
    }
}

/// What a scavenging pass finds next in a central bin.
pub enum Found<C: Config> {
    /// No page that this pass has not seen.
    Nothing,
    /// Pages without anything to give back, and there may be more.
    More,
    /// A page, its free blocks taken out, and the OS pages of it that no block uses.
    Page(*mut Page<C>, u32),
}

impl<C: Config> Central<C> {
    /// A central bin without pages.
    #[must_use]
    pub const fn new() -> Self {
        Self(List::new())
    }

    /// The next page for the scavenging pass `pass`, its free blocks saved in `saved`. Looks at a few pages a call, so
    /// that the lock is not held for long.
    pub fn next_to_scavenge(&mut self, pass: u16, saved: &mut Saved) -> Found<C> {
        const LOOKS: usize = 16;
        for _ in 0..LOOKS {
            let page = self.0.first();
            // SAFETY: pages in the list serve this bin, whose lock is held.
            unsafe {
                if page.is_null() || (*page).pass == pass {
                    return Found::Nothing;
                }
                (*page).pass = pass;
                self.0.remove(page);
                let mask = (*page).free_os_pages();
                if mask & !(*page).purged == 0 {
                    self.0.push_last(page);
                    continue;
                }
                saved.count = (*page).free;
                for (saved, word) in saved.bits.iter_mut().zip((*page).bitmap()) {
                    *saved = core::mem::take(word);
                }
                (*page).free = 0;
                return Found::Page(page, mask);
            }
        }
        Found::More
    }
}

impl<C: Config> Default for Central<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes up to `most` free blocks of `bin` from `arena`, handing each to `give`. Returns how many: 0 if no memory is
/// to be had, None if a lock is held and `patience` is short.
pub fn take<C: Config>(
    arena: &'static Arena<C>,
    bin: usize,
    most: usize,
    patience: Patience,
    mut give: impl FnMut(*mut u8),
) -> Option<usize> {
    let mut taken = 0;
    let mut central = arena.bin(bin).central.lock_with(patience)?;
    while taken < most {
        if central.0.first().is_null() {
            if taken > 0 {
                break;
            }
            // Taking a page may map memory; the lock is free meanwhile.
            drop(central);
            let page = fresh(arena, bin, patience)?;
            if page.is_null() {
                return Some(0);
            }
            // Worth waiting for in any case: it was free before, so interrupted code does not hold it.
            central = arena.bin(bin).central.lock();
            // SAFETY: it is fresh and serves this bin.
            unsafe { central.0.push_first(page) };
        }
        let page = central.0.first();
        // SAFETY: pages in the list serve this bin, whose lock is held.
        unsafe {
            taken += (*page).take(most - taken, &mut give);
            if (*page).free == 0 {
                central.0.remove(page);
            }
        }
    }
    drop(central);
    // Relaxed, here and below: counts, compared with limits.
    arena.out.fetch_add(taken * C::size_of(bin), Ordering::Relaxed);
    Some(taken)
}

/// A page with all blocks of `bin` free, in no list; null if no memory is to be had, None as for [`take`].
fn fresh<C: Config>(arena: &'static Arena<C>, bin: usize, patience: Patience) -> Option<*mut Page<C>> {
    let Some(run) = pages::take(arena, 1, patience)? else { return Some(null_mut()) };
    // SAFETY: the page is ours alone until it is linked.
    unsafe {
        (*run.page).format(bin, run.clean);
        page_map::set((*run.page).start.addr(), C::GRANULES, bin as u8);
    }
    // Relaxed: a count, compared with limits.
    arena.bin_pages.fetch_add(1, Ordering::Relaxed);
    Some(run.page)
}

/// Gives every bin of the classes that the geometry names a page, with memory, before the first allocation.
pub fn preallocate<C: Config>(arena: &'static Arena<C>) {
    for bin in 1..C::BINS {
        // SAFETY: `bin` is one.
        if C::GEOMETRY.preallocated.has(unsafe { C::shape(bin) }.class) {
            let Some(page) = fresh(arena, bin, Patience::Wait) else { return };
            if page.is_null() {
                return;
            }
            // SAFETY: the page is this thread's until it is linked; all of it is mapped, and its blocks are free.
            unsafe {
                (*page).set_purged(0);
                for offset in (0..C::PAGE).step_by(OS_PAGE) {
                    (*page).start.add(offset).write_volatile(0);
                }
                arena.bin(bin).central.lock().0.push_first(page);
            }
        }
    }
}

/// One block of `bin` from `arena`, null if no memory is to be had; None as for [`take`].
pub fn take_one<C: Config>(arena: &'static Arena<C>, bin: usize, patience: Patience) -> Option<*mut u8> {
    let mut block = null_mut();
    take(arena, bin, 1, patience, |taken| block = taken).map(|_| block)
}

/// The arena that a block of `bin` returns to, or what is wrong with the block.
///
/// # Safety
/// `block` was given to `free` or a magazine of `bin`.
pub unsafe fn home<C: Config>(bin: usize, block: *mut u8) -> Result<*const Arena<C>, Misuse> {
    match page_map::get(block.addr()) {
        // SAFETY: the map says that the page is one of a mapped segment.
        now if now == bin => Ok(unsafe { (*Segment::<C>::page_at(block)).arena }),
        // Its page was given up, so every block of it had been freed.
        _ => Err(Misuse::AlreadyFree),
    }
}

/// Returns free blocks of `bin`, at most a magazine full, to the bitmaps of their pages, and pages that have no other
/// block to their arenas. Ends the process if one of them was no block or is free already.
///
/// # Safety
/// The caller owns the blocks as free ones and gives them up.
pub unsafe fn give_back<C: Config>(bin: usize, blocks: &[Slot]) {
    let mut rest = [null_mut(); MAGAZINE_SLOTS];
    let mut count = 0;
    for (place, &block) in rest.iter_mut().zip(blocks) {
        *place = block;
        count += 1;
    }
    let mut emptied = List::new();
    while count > 0 {
        // One arena at a time: those that belong to another one stay for the next round.
        // SAFETY: the blocks came through magazines of `bin`.
        let first = unsafe { home(bin, rest[0]) };
        let arena: &'static Arena<C> = match first {
            // SAFETY: arenas are static.
            Ok(arena) => unsafe { &*arena },
            Err(misuse) => report_misuse(misuse, rest[0]),
        };
        let mut kept = 0;
        let mut wrong = None;
        let mut central = arena.bin(bin).central.lock();
        for index in 0..count.min(MAGAZINE_SLOTS) {
            let block = rest[index];
            // SAFETY: as above; the page belongs to the locked central bin, and an emptied one is unlinked once.
            unsafe {
                match home(bin, block) {
                    Ok(its) if core::ptr::eq(its, arena) => {
                        let page = Segment::<C>::page_at(block);
                        if let Err(misuse) = (*page).put(block) {
                            wrong = Some((misuse, block));
                            break;
                        }
                        if (*page).free == 1 {
                            central.0.push_first(page);
                        }
                        if (*page).free == (*page).blocks {
                            central.0.remove(page);
                            emptied.push_first(page);
                        }
                    }
                    Ok(_) => {
                        rest[kept % MAGAZINE_SLOTS] = block;
                        kept += 1;
                    }
                    Err(misuse) => {
                        wrong = Some((misuse, block));
                        break;
                    }
                }
            }
        }
        drop(central);
        if let Some((misuse, block)) = wrong {
            report_misuse(misuse, block);
        }
        // Relaxed: a count, compared with limits.
        arena.out.fetch_sub((count - kept) * C::size_of(bin), Ordering::Relaxed);
        count = kept;
        while !emptied.first().is_null() {
            let page = emptied.first();
            // SAFETY: all blocks of the page are free and it is in no other list, so it is this thread's alone.
            unsafe {
                emptied.remove(page);
                retire(page);
            }
        }
        scavenge::check(arena);
    }
}

/// Gives a page without used blocks back to its arena.
///
/// # Safety
/// The page is in no list, and all its blocks are free.
unsafe fn retire<C: Config>(page: *mut Page<C>) {
    // SAFETY: the page is the caller's alone. Relaxed: a count, compared with limits.
    unsafe {
        (*page).set_purged(0);
        (*(*page).arena).bin_pages.fetch_sub(1, Ordering::Relaxed);
        pages::release(page, 1);
    }
}

/// Puts the blocks that [`Central::next_to_scavenge`] took out of `page` back, the OS pages in `purged` being clean.
///
/// # Safety
/// `saved` is what was taken out of `page`, which serves `bin` of `arena`.
pub unsafe fn put_back<C: Config>(arena: &Arena<C>, bin: usize, page: *mut Page<C>, saved: &Saved, purged: u32) {
    let mut central = arena.bin(bin).central.lock();
    // SAFETY: the lock of the page's central bin is held.
    unsafe {
        let mut twice = null_mut();
        for (index, (word, saved)) in (*page).bitmap().iter_mut().zip(&saved.bits).enumerate() {
            // Blocks freed meanwhile have other bits than the saved ones, or they were free already.
            let both = *word & saved;
            if both != 0 {
                let block = index * 64 + both.trailing_zeros() as usize;
                twice = (*page).start.wrapping_add(block * C::size_of(bin));
            }
            *word |= saved;
        }
        if !twice.is_null() {
            drop(central);
            report_misuse(Misuse::AlreadyFree, twice);
        }
        if (*page).free > 0 {
            central.0.remove(page);
        }
        (*page).free += saved.count;
        (*page).set_purged((*page).purged | purged);
        if (*page).free == (*page).blocks {
            drop(central);
            retire(page);
        } else {
            central.0.push_last(page);
        }
    }
}

/// One line for the user, then the end.
#[cold]
pub fn report_misuse(misuse: Misuse, block: *mut u8) -> ! {
    let problem = match misuse {
        Misuse::NotABlock => "invalid pointer",
        Misuse::AlreadyFree => "double free of",
    };
    report::fatal("free", problem, block.addr())
}

//! Scavenging: giving back the OS pages within pages in use in which every block is free.
//!
//! A page whose blocks are all free goes back whole (see `pages`); one used block keeps 64 KiB. When a program has given
//! back much, compared with what is out and with what lies loose between used blocks, a pass looks at every page that has
//! free blocks, takes the free blocks of a page out, purges the OS pages that hold no other, and puts the blocks back.

use super::arena::Arena;
use super::central::{self, Found};
use super::purge::SOON;
use crate::config::Config;
use crate::config::bins::OS_PAGE;
use crate::os::{clock, memory};
use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};

/// A pass is due when the bytes that are out have fallen by this much,
const FLOOR: usize = 2 << 20;
/// plus one part in so many of what is out still, so that the passes of a program that frees all it has stay few,
const OUT_SHARE: usize = 2;
/// or, where little lies loose, one part in so many of what is out
const FEW_SHARE: usize = 16;
/// and one part in so many of what lies loose: where blocks are large, what is freed can go at once.
const LOOSE_SHARE: usize = 4;

/// Passes are made at this distance, in milliseconds,
const PAUSE: u64 = 100;
/// where more lies loose than this many bytes
const LOOSE_FLOOR: usize = 1 << 20;
/// and one part in so many of what is out.
const LOOSE_MOST: usize = 2;

/// When the next pass of an arena is due. Relaxed throughout: estimates, and one flag that keeps passes apart.
pub struct Scavenger {
    /// Most bytes that were out since the last pass.
    high: AtomicUsize,
    /// Bytes that the last passes gave back and that were not handed out since.
    given_back: AtomicUsize,
    /// What is added to the fall that makes a pass due: what was handed out again soon after it was given back.
    learned: AtomicUsize,
    /// When the last pass was, in milliseconds.
    when: AtomicU64,
    /// Number of the last pass.
    pass: AtomicU16,
    /// Whether a pass is at work.
    at_work: AtomicBool,
}

impl Scavenger {
    /// No pass yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            high: AtomicUsize::new(0),
            given_back: AtomicUsize::new(0),
            learned: AtomicUsize::new(0),
            when: AtomicU64::new(0),
            pass: AtomicU16::new(0),
            at_work: AtomicBool::new(false),
        }
    }

    /// Forgets a pass that a thread was at which is no more.
    pub fn reset(&self) {
        self.at_work.store(false, Ordering::Relaxed);
    }
}

impl Default for Scavenger {
    fn default() -> Self {
        Self::new()
    }
}

/// Bytes of free blocks in pages of bins, purged OS pages apart.
fn loose<C: Config>(arena: &Arena<C>) -> usize {
    let pages = arena.bin_pages.load(Ordering::Relaxed) * C::PAGE;
    pages.saturating_sub(arena.out.load(Ordering::Relaxed) + arena.scavenged.load(Ordering::Relaxed))
}

/// Called after blocks went back to pages of `arena`: makes a pass if one is due.
#[inline]
pub fn check<C: Config>(arena: &Arena<C>) {
    if C::FREE_KEEP || C::WHOLE_SEGMENTS {
        return;
    }
    let (out, high) = (arena.out.load(Ordering::Relaxed), arena.scavenger.high.load(Ordering::Relaxed));
    let floor = FLOOR + arena.scavenger.learned.load(Ordering::Relaxed);
    if out >= high {
        arena.scavenger.high.store(out, Ordering::Relaxed);
    } else if high - out > floor
        && high - out > floor + (out / OUT_SHARE).min(out / FEW_SHARE + loose(arena) / LOOSE_SHARE)
    {
        pass(arena);
    } else if loose(arena) > LOOSE_FLOOR + out / LOOSE_MOST {
        // Much lies between used blocks though nothing was given back lately: look again now and then.
        let now = clock::milliseconds();
        if now.wrapping_sub(arena.scavenger.when.load(Ordering::Relaxed)) > PAUSE {
            pass(arena);
        }
    }
}

/// Called when blocks in purged OS pages are handed out, `bytes` of those: soon after a pass, it was made too early.
#[cold]
pub fn regret<C: Config>(arena: &Arena<C>, bytes: usize) {
    let scavenger = &arena.scavenger;
    let given_back = scavenger.given_back.load(Ordering::Relaxed);
    let regretted = bytes.min(given_back);
    scavenger.given_back.store(given_back - regretted, Ordering::Relaxed);
    if regretted > 0 && clock::milliseconds().wrapping_sub(scavenger.when.load(Ordering::Relaxed)) <= SOON {
        let learned = scavenger.learned.load(Ordering::Relaxed) + regretted;
        // Not more than what the program ever has at a time.
        let most = scavenger.high.load(Ordering::Relaxed).max(arena.out.load(Ordering::Relaxed));
        scavenger.learned.store(learned.min(most), Ordering::Relaxed);
    }
}

/// Gives back every OS page in which all blocks are free; returns the bytes given back.
#[cold]
pub fn pass<C: Config>(arena: &Arena<C>) -> usize {
    if arena.scavenger.at_work.swap(true, Ordering::Acquire) {
        return 0;
    }
    let number = arena.scavenger.pass.load(Ordering::Relaxed).wrapping_add(1);
    arena.scavenger.pass.store(number, Ordering::Relaxed);
    if clock::milliseconds().wrapping_sub(arena.scavenger.when.load(Ordering::Relaxed)) > SOON {
        arena.scavenger.learned.store(arena.scavenger.learned.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
        arena.scavenger.given_back.store(0, Ordering::Relaxed);
    }
    let mut bytes = 0;
    for bin in 1..C::BINS {
        loop {
            let mut blocks = central::Saved::new();
            let found = arena.bin(bin).central.lock().next_to_scavenge(number, &mut blocks);
            match found {
                Found::Nothing => break,
                Found::More => {}
                Found::Page(page, mask) => {
                    // SAFETY: the free blocks of the page were taken out, so the OS pages in the mask are this thread's.
                    unsafe {
                        let purged = purge((*page).start, mask & !(*page).purged);
                        bytes += purged.count_ones() as usize * OS_PAGE;
                        central::put_back(arena, bin, page, &blocks, purged);
                    }
                }
            }
        }
    }
    arena.scavenger.high.store(arena.out.load(Ordering::Relaxed), Ordering::Relaxed);
    arena.scavenger.given_back.fetch_add(bytes, Ordering::Relaxed);
    arena.scavenger.when.store(clock::milliseconds(), Ordering::Relaxed);
    arena.scavenger.at_work.store(false, Ordering::Release);
    bytes
}

/// Purges the OS pages in `mask` of the page at `start`; returns those that were.
///
/// # Safety
/// The caller owns them.
unsafe fn purge(start: *mut u8, mask: u32) -> u32 {
    let mut done = 0;
    let mut rest = mask;
    while rest != 0 {
        let first = rest.trailing_zeros();
        let count = (rest >> first).trailing_ones();
        let run = (u32::MAX >> (32 - count)) << first;
        if memory::purge(start.wrapping_add(first as usize * OS_PAGE), count as usize * OS_PAGE) {
            done |= run;
        }
        rest &= !run;
    }
    done
}

//! When freed memory goes back to the OS: decided on the way, by what is empty against what is live.
//!
//! Giving memory back at once makes programs that free and allocate in turn fault it in again each time; keeping it
//! all makes a program that had one burst stay large. A [`Keeper`] allows half as much empty memory as there is live
//! memory, plus a floor; or what experience says, if that is more: memory that was given back and wanted again within
//! a second was given back too early, so that much more is kept from then on, up to the most that was live lately.
//! Experience fades with each purge, and after a quiet while counts for half.

use crate::config::Config;
use crate::os::clock;

/// Empty memory that is kept whatever is live, in bytes.
const FLOOR: usize = 512 << 10;
/// Wanted again within this many milliseconds: given back too early.
pub const SOON: u64 = 1000;

/// The allowance of one pool of empty memory. All quantities are in bytes. Guarded by its pool's lock.
pub struct Keeper {
    /// What experience says may be kept.
    learned: usize,
    /// The most that was live lately.
    peak: usize,
    /// Given back at `when` or shortly before, and not wanted since.
    given_back: usize,
    /// Time of the last giving back, or of the last halving.
    when: u64,
}

impl Keeper {
    /// A keeper without experience.
    #[must_use]
    pub const fn new() -> Self {
        Self { learned: 0, peak: 0, given_back: 0, when: 0 }
    }

    /// The most that experience can say: the peak, and a little more for what lies loose beside it.
    fn most(&self) -> usize {
        self.peak + self.peak / 4
    }

    /// How much may stay empty while `live` bytes are in use.
    fn allowance(&mut self, live: usize) -> usize {
        self.gives(live);
        if self.learned > 0 && clock::milliseconds().wrapping_sub(self.when) > SOON {
            self.fade(live);
        }
        FLOOR + (live / 2).max(self.learned.min(self.most()))
    }

    /// Halves what was learned, after a quiet while.
    fn fade(&mut self, live: usize) {
        self.learned /= 2;
        self.peak = live;
        self.given_back = 0;
        self.when = clock::milliseconds();
    }

    /// Called when memory came back to the pool, of which `empty` bytes are empty now: if that is more than the free policy
    /// allows, down to how much the pool should be purged.
    pub fn excess<C: Config>(&mut self, empty: usize, live: usize) -> Option<usize> {
        if C::FREE_KEEP {
            return None;
        }
        if C::FREE_EAGER {
            return Some(0);
        }
        (empty > self.allowance(live)).then(|| self.target(live))
    }

    /// Down to how much a pool that exceeds its allowance should be purged.
    fn target(&mut self, live: usize) -> usize {
        let now = clock::milliseconds();
        if now.wrapping_sub(self.when) > SOON {
            self.fade(live);
        }
        self.learned -= self.learned / 8;
        self.when = now;
        self.allowance(live) / 4 * 3
    }

    /// Records that `bytes` were given back.
    pub fn gave_back(&mut self, bytes: usize) {
        self.given_back += bytes;
    }

    /// Records that the pool gives out memory, after which `live` bytes are in use.
    #[inline]
    pub fn gives(&mut self, live: usize) {
        self.peak = self.peak.max(live);
    }

    /// Records that the pool had to ask the OS for `bytes`.
    pub fn wanted(&mut self, bytes: usize) {
        if self.given_back == 0 {
            return;
        }
        let regretted = bytes.min(self.given_back);
        self.given_back -= regretted;
        if clock::milliseconds().wrapping_sub(self.when) <= SOON {
            self.learned = self.most().min(self.learned + regretted);
        }
    }
}

impl Default for Keeper {
    fn default() -> Self {
        Self::new()
    }
}

//! When freed memory goes back to the OS: decided on the way, by what is empty against what is live.
//!
//! Giving memory back at once makes programs that free and allocate in turn fault it in again each time; keeping it
//! all makes a program that had one burst stay large. A [`Keeper`] allows as much empty memory as there is live memory,
//! plus a floor, plus what experience adds: memory that was given back and wanted again within a second was given back
//! too early, so that much more is kept from then on; after a quiet while the allowance is halved.

/// Empty memory that is kept whatever is live, in bytes.
const FLOOR: usize = 2 << 20;
/// Wanted again within this many milliseconds: given back too early.
const SOON: u64 = 1000;

/// The allowance of one pool of empty memory. All quantities are in bytes. Guarded by its pool's lock.
pub struct Keeper {
    /// What experience adds to the allowance.
    learned: usize,
    /// Given back at `when` or shortly before, and not wanted since.
    given_back: usize,
    /// Time of the last giving back, or of the last halving.
    when: u64,
}

impl Keeper {
    /// A keeper without experience.
    #[must_use]
    pub const fn new() -> Self {
        Self { learned: 0, given_back: 0, when: 0 }
    }

    /// How much may stay empty while `live` bytes are in use.
    #[must_use]
    pub fn allowance(&self, live: usize) -> usize {
        live + FLOOR + self.learned
    }

    /// Called when the pool exceeds its allowance: down to how much it should be purged.
    pub fn target(&mut self, live: usize) -> usize {
        let now = milliseconds();
        if now.wrapping_sub(self.when) > SOON {
            self.learned /= 2;
            self.given_back = 0;
        }
        self.when = now;
        self.allowance(live) / 2
    }

    /// Records that `bytes` were given back.
    pub fn gave_back(&mut self, bytes: usize) {
        self.given_back += bytes;
    }

    /// Records that the pool had to ask the OS for `bytes`.
    pub fn wanted(&mut self, bytes: usize) {
        if self.given_back == 0 {
            return;
        }
        let regretted = bytes.min(self.given_back);
        self.given_back -= regretted;
        if milliseconds().wrapping_sub(self.when) <= SOON {
            self.learned += regretted;
        }
    }
}

impl Default for Keeper {
    fn default() -> Self {
        Self::new()
    }
}

/// Milliseconds of a clock that only goes forward; coarse, and read without a system call.
fn milliseconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable. The call cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

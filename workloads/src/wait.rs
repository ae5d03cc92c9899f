//! Waiting without sleep: to wake a thread takes as long as thousands of allocations, and would be what is measured.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::yield_now;

/// Looks before the processor is offered to others: some microseconds.
const LOOKS: u32 = 1000;

/// Waits until `look` finds something, and returns it.
pub(crate) fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let mut looks = 0;
    loop {
        if let Some(found) = look() {
            return found;
        }
        if looks < LOOKS {
            looks += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

/// Where threads wait for each other, round after round.
pub(crate) struct Meeting {
    /// How many take part.
    threads: usize,
    /// How many have come, in all rounds.
    arrived: AtomicUsize,
}

impl Meeting {
    /// Of so many threads.
    pub fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0) }
    }

    /// Waits until all have come in this round. What they did before is visible afterwards.
    pub fn wait(&self) {
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        // Nobody comes a second time before all have come.
        let all = (before / self.threads + 1) * self.threads;
        until(|| (self.arrived.load(Ordering::Acquire) >= all).then_some(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn nobody_leaves_before_all_have_come() {
        let (meeting, came) = (Meeting::new(3), AtomicUsize::new(0));
        let rounds = || {
            for round in 1..=1000 {
                came.fetch_add(1, Ordering::Relaxed);
                meeting.wait();
                let seen = came.load(Ordering::Relaxed);
                assert!((3 * round..3 * (round + 1)).contains(&seen), "{seen} came in {round} rounds");
                meeting.wait();
            }
        };
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(rounds);
            }
        });
    }
}

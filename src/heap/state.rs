//! The state of one front end: its arenas, its huge blocks, its live threads. One static per front end, so that two
//! presets in one process share nothing but the page map.

use super::arena::{ARENAS, Arena};
use super::central;
use super::counters::Counters;
use super::deferred::Deferred;
use super::huge::Huge;
use super::life::{self, Watched};
use super::magazine::MagazineList;
use super::thread::ThreadHeap;
use crate::config::Config;
use crate::os::lock::Locked;
use crate::os::processors;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Arenas that threads are spread over, per processor: enough that those that run at a time seldom share one, few
/// enough that many threads do not each hold a page of every bin.
const PER_PROCESSOR: usize = 4;

/// The arena of threads without a heap.
pub const FIRST: usize = 0;
/// The arena of signal handlers that interrupt a slow path; no thread is counted in it, so its locks are seldom held.
pub const RESERVE: usize = ARENAS - 1;

/// What changes while the program runs. All-zero is its initial state: it lies in `.bss`.
pub struct Shared<C: Config> {
    /// The thread-exit key, once there is one.
    pub key: Locked<Option<libc::pthread_key_t>>,
    /// Whether `key` and the fork hooks are there.
    ready: AtomicBool,
    /// Live threads of each arena.
    pub threads: Locked<[u32; ARENAS]>,
    /// Idle magazines that the arenas have no use for.
    pub magazines: Locked<MagazineList>,
    /// Arenas that threads are spread over; 0 before it is known.
    spread: AtomicUsize,
    /// The arenas.
    pub arenas: [Arena<C>; ARENAS],
    /// Huge blocks.
    pub huge: Huge,
    /// What threads counted that are no more, or that have no heap.
    pub counters: Counters,
    /// Whether a report was asked for that could not be made on the spot.
    pub report_due: AtomicBool,
    /// Blocks freed by signal handlers that interrupted a slow path, linked through their first words.
    pub deferred: Deferred,
}

impl<C: Config> Shared<C> {
    /// The initial state.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            key: Locked::new(None),
            ready: AtomicBool::new(false),
            threads: Locked::new([0; ARENAS]),
            magazines: Locked::new(MagazineList::new()),
            spread: AtomicUsize::new(0),
            arenas: [const { Arena::new() }; ARENAS],
            huge: Huge::new(),
            counters: Counters::new(),
            report_due: AtomicBool::new(false),
            deferred: Deferred::new(),
        }
    }
}

impl<C: Config> Default for Shared<C> {
    fn default() -> Self {
        Self::new()
    }
}

/// A front end's constants and the way to the rest of its state.
pub struct State<C: Config> {
    /// Reads the calling thread's slot.
    pub slot: fn() -> *mut ThreadHeap<C>,
    /// Writes the calling thread's slot, see [`Instance::set_slot`](crate::Instance::set_slot).
    pub set_slot: unsafe fn(*mut ThreadHeap<C>),
    /// Whether a slow path is at work on the calling thread.
    pub busy: fn() -> bool,
    /// Marks that a slow path is at work on the calling thread, or not.
    pub set_busy: fn(bool),
    /// Its place in what the fork hooks know.
    pub watched: &'static Watched,
    /// What changes.
    pub shared: &'static Shared<C>,
}

impl<C: Config> State<C> {
    /// Prepares the process: the thread-exit key, the fork hooks. Cheap after the first time.
    pub fn initialise(&'static self) {
        // Acquire: pairs with the release below.
        if self.shared.ready.load(Ordering::Acquire) {
            return;
        }
        // First, so that no fork comes while this front end's locks are held that it knows nothing of.
        life::list(self.watched);
        {
            let mut key = self.shared.key.lock();
            if self.shared.ready.load(Ordering::Acquire) {
                return;
            }
            *key = life::exit_key::<C>();
            // Tied here, so that the fork hooks see one set of arenas: who has no heap is served by these two.
            self.arena(FIRST);
            self.arena(RESERVE);
            // Relaxed: published with `ready`.
            self.shared.spread.store((PER_PROCESSOR * processors::count()).clamp(1, RESERVE), Ordering::Relaxed);
            self.shared.ready.store(true, Ordering::Release);
        }
        // Outside the lock and with `ready` set: registering may allocate.
        life::watch_forks();
        if C::STATS_DUMP {
            life::report_when_asked();
        }
        // Marked, since it takes locks that a signal handler's slow path would wait for.
        let busy = (self.busy)();
        (self.set_busy)(true);
        central::preallocate(self.arena(FIRST));
        (self.set_busy)(busy);
    }

    /// Has the exit hook run for `heap` when the calling thread ends. False if that cannot be arranged.
    pub fn call_at_exit(&self, heap: &'static ThreadHeap<C>) -> bool {
        let key = *self.shared.key.lock();
        // SAFETY: the key exists, and the value is what the hook expects.
        key.is_some_and(|key| unsafe { libc::pthread_setspecific(key, (&raw const *heap).cast()) == 0 })
    }

    /// Counts the calling thread in and returns the number of its arena: the one with the fewest live threads, the lowest
    /// such.
    pub fn join(&'static self) -> usize {
        let mut threads = self.shared.threads.lock();
        let mut best = 0;
        for index in 1..self.shared.spread.load(Ordering::Relaxed).min(ARENAS) {
            if threads[index] < threads[best] {
                best = index;
            }
        }
        threads[best] += 1;
        // Tied under the lock, which the fork hooks hold: what they lock and unlock is the same set.
        self.arena(best);
        best
    }

    /// Counts the calling thread in if the first arena has no thread, and returns that arena's number.
    pub fn join_if_empty(&self) -> Option<usize> {
        let mut threads = self.shared.threads.lock();
        (threads[FIRST] == 0).then(|| {
            threads[FIRST] = 1;
            FIRST
        })
    }

    /// Counts a thread of the arena `seat` out.
    pub fn leave(&self, seat: usize) {
        self.shared.threads.lock()[seat % ARENAS] -= 1;
    }

    /// The arena `index`, ready for use.
    pub fn arena(&'static self, index: usize) -> &'static Arena<C> {
        let arena = &self.shared.arenas[index % ARENAS];
        if !arena.used() {
            arena.belong_to(self);
        }
        arena
    }

    /// The arenas that were ever used.
    pub fn arenas(&self) -> impl Iterator<Item = &'static Arena<C>> {
        self.shared.arenas.iter().filter(|arena| arena.used())
    }
}

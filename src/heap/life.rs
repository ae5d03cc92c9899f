//! Hooks into the life of threads and processes: thread exit, fork, and the reports of presets that count.

use super::counters::Statistics;
use super::page_map;
use super::state::State;
use super::thread::ThreadHeap;
use crate::config::Config;
use crate::os::lock::Lock;
use crate::os::{errno, signals};
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

unsafe extern "C" {
    // What pthread_atfork calls; used directly because that wrapper is not in the shared libc. A null handle means that
    // the hooks stay for the life of the process, which is right for a library that is never unloaded.
    fn __register_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
        handle: *mut c_void,
    ) -> libc::c_int;
}

unsafe extern "C" {
    // What atexit calls; used directly because that one is not in the shared libc. With a null handle the function runs at exit
    // and not before.
    fn __cxa_atexit(
        function: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
        handle: *mut c_void,
    ) -> libc::c_int;
}

/// A key whose destructor is the thread-exit hook; None if the process has used up its keys.
#[must_use]
pub fn exit_key<C: Config>() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: `key` is writable and the hook has the right type.
    (unsafe { libc::pthread_key_create(&raw mut key, Some(at_thread_exit::<C>)) } == 0).then_some(key)
}

unsafe extern "C" fn at_thread_exit<C: Config>(heap: *mut c_void) {
    errno::kept(|| {
        // SAFETY: the key's value is the ending thread's heap.
        let heap = unsafe { &*heap.cast::<ThreadHeap<C>>() };
        let state = heap.arena.get().state();
        (state.set_busy)(true);
        heap.detach();
        (state.set_busy)(false);
    });
}

/// What the hooks do with a front end, whatever its preset.
pub trait Hooks: Sync {
    /// Calls `visit` for every lock, in the documented order.
    fn for_each_lock(&self, visit: &dyn Fn(&Lock));
    /// Puts things right in the child, where only the forking thread lives on.
    fn in_child(&self);
    /// Prints what was counted, if the preset says so.
    fn report(&self);
}

/// A front end in the list of the fork hooks.
pub struct Watched {
    front: &'static dyn Hooks,
    listed: AtomicBool,
    next: AtomicPtr<Watched>,
}

impl Watched {
    /// In no list yet.
    #[must_use]
    pub const fn new(front: &'static dyn Hooks) -> Self {
        Self { front, listed: AtomicBool::new(false), next: AtomicPtr::new(null_mut()) }
    }
}

/// Every front end that has threads, linked through `Watched::next`.
static FRONTS: AtomicPtr<Watched> = AtomicPtr::new(null_mut());
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Includes `watched` in what the fork hooks do. No fork comes in between: it holds the same lock.
pub fn list(watched: &'static Watched) {
    // Relaxed, here and below: the lock orders it all.
    if watched.listed.load(Ordering::Relaxed) {
        return;
    }
    page_map::raw().lock();
    if !watched.listed.swap(true, Ordering::Relaxed) {
        watched.next.store(FRONTS.load(Ordering::Relaxed), Ordering::Relaxed);
        // Release: whoever finds it in the list sees its `next`.
        FRONTS.store((&raw const *watched).cast_mut(), Ordering::Release);
    }
    page_map::raw().unlock();
}

/// Has the fork hooks run.
pub fn watch_forks() {
    // Relaxed: only the exchange matters, nothing else is published.
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the hooks take no arguments and stay loaded.
        unsafe { __register_atfork(Some(before_fork), Some(in_parent), Some(in_child), null_mut()) };
    }
}

fn for_each_front(first: *mut Watched, visit: impl Fn(&'static dyn Hooks)) {
    let mut watched = first;
    // SAFETY: the list holds statics.
    while let Some(this) = unsafe { watched.as_ref() } {
        visit(this.front);
        watched = this.next.load(Ordering::Relaxed);
    }
}

impl<C: Config> Hooks for State<C> {
    fn for_each_lock(&self, visit: &dyn Fn(&Lock)) {
        visit(self.shared.key.raw());
        visit(self.shared.threads.raw());
        visit(self.shared.magazines.raw());
        for arena in self.arenas() {
            visit(arena.stock.raw());
            for bin in &arena.bins {
                visit(bin.depot.raw());
                visit(bin.central.raw());
            }
            visit(arena.pages.raw());
        }
        visit(self.shared.huge.raw());
    }

    /// What the other threads had cached is lost, a bounded amount each; what they had allocated stays valid.
    fn in_child(&self) {
        self.for_each_lock(&|lock| lock.reset());
        // A pass that another thread was at ends here; the one page that it had taken out is lost with it.
        self.arenas().for_each(|arena| arena.scavenger.reset());
        let own = ThreadHeap::of(self).and_then(|heap| heap.seat.get());
        for (index, count) in self.shared.threads.lock().iter_mut().enumerate() {
            *count = u32::from(own == Some(index));
        }
    }

    fn report(&self) {
        if C::STATS_DUMP {
            match Statistics::of(self) {
                Some(counted) => counted.print::<C>(),
                // A signal came in the middle of a slow path: at its end, then.
                None => self.shared.report_due.store(true, Ordering::Relaxed),
            }
        }
    }
}

/// Has the front ends that print their counters do so when the process ends, and on SIGUSR2.
pub fn report_when_asked() {
    // Relaxed: only the exchange matters.
    if !REPORTING.swap(true, Ordering::Relaxed) {
        signals::on_report(on_signal);
        // SAFETY: the function stays loaded. Out of memory, it is not called.
        unsafe { __cxa_atexit(at_end, null_mut(), null_mut()) };
    }
}

static REPORTING: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: c_int) {
    // Acquire: pairs with the release in `list`.
    errno::kept(|| for_each_front(FRONTS.load(Ordering::Acquire), Hooks::report));
}

unsafe extern "C" fn at_end(_: *mut c_void) {
    on_signal(0);
}

/// The forking thread's signal mask. Guarded by the locks that it holds meanwhile: one fork at a time.
static MASK: AtomicU64 = AtomicU64::new(0);
/// The head of the list of front ends whose locks it holds.
static LOCKED: AtomicPtr<Watched> = AtomicPtr::new(null_mut());

/// Takes every lock. No signal handler may run until they are given back: it would wait for its own thread.
unsafe extern "C" fn before_fork() {
    let mask = signals::block_all();
    page_map::raw().lock();
    // Acquire: pairs with the release in `list`. A front end that comes later waits for the lock.
    let first = FRONTS.load(Ordering::Acquire);
    for_each_front(first, |front| front.for_each_lock(&|lock| lock.lock()));
    // Relaxed: read by this thread, or by its copy in the child.
    LOCKED.store(first, Ordering::Relaxed);
    MASK.store(mask, Ordering::Relaxed);
}

unsafe extern "C" fn in_parent() {
    let (mask, first) = (MASK.load(Ordering::Relaxed), LOCKED.load(Ordering::Relaxed));
    for_each_front(first, |front| front.for_each_lock(&|lock| lock.unlock()));
    page_map::raw().unlock();
    signals::restore(mask);
}

unsafe extern "C" fn in_child() {
    page_map::raw().reset();
    for_each_front(LOCKED.load(Ordering::Relaxed), Hooks::in_child);
    signals::restore(MASK.load(Ordering::Relaxed));
}

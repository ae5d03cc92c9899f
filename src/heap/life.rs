//! Hooks into the life of threads and processes: thread exit and fork.

use super::page_map;
use super::state::State;
use super::thread::ThreadHeap;
use crate::os::signals;
use core::ffi::c_void;
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

/// A key whose destructor is the thread-exit hook; None if the process has used up its keys.
#[must_use]
pub fn exit_key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: `key` is writable and the hook has the right type.
    (unsafe { libc::pthread_key_create(&raw mut key, Some(at_thread_exit)) } == 0).then_some(key)
}

unsafe extern "C" fn at_thread_exit(heap: *mut c_void) {
    crate::os::errno::kept(|| {
        // SAFETY: the key's value is the ending thread's heap.
        let heap = unsafe { &*heap.cast::<ThreadHeap>() };
        let state = heap.arena.get().state();
        (state.set_busy)(true);
        heap.detach();
        (state.set_busy)(false);
    });
}

/// Every front end's state that has threads, linked through `Shared::next`.
static STATES: AtomicPtr<State> = AtomicPtr::new(null_mut());
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Includes `state` in what the fork hooks do.
pub fn watch_forks(state: &'static State) {
    let this = (&raw const *state).cast_mut();
    let mut head = STATES.load(Ordering::Relaxed);
    loop {
        state.shared.next.store(head, Ordering::Relaxed);
        // Release: whoever finds the state in the list sees its `next`.
        match STATES.compare_exchange_weak(head, this, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => head = now,
        }
    }
    // Relaxed: only the exchange matters, nothing else is published.
    if !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the hooks take no arguments and stay loaded.
        unsafe { __register_atfork(Some(before_fork), Some(in_parent), Some(in_child), null_mut()) };
    }
}

fn for_each_state(first: *mut State, mut visit: impl FnMut(&'static State)) {
    let mut state = first;
    // SAFETY: the list holds statics.
    while let Some(this) = unsafe { state.as_ref() } {
        visit(this);
        state = this.shared.next.load(Ordering::Relaxed);
    }
}

/// Calls `visit` for every lock of `state`, in the documented order.
fn for_each_lock(state: &State, visit: impl Fn(&crate::os::lock::Lock)) {
    visit(state.shared.key.raw());
    visit(state.shared.threads.raw());
    visit(state.shared.magazines.raw());
    for arena in state.arenas() {
        visit(arena.stock.raw());
        for bin in &arena.bins {
            visit(bin.depot.raw());
            visit(bin.central.raw());
        }
        visit(arena.pages.raw());
    }
    visit(state.shared.huge.raw());
}

/// The forking thread's signal mask. Guarded by the locks that it holds meanwhile: one fork at a time.
static MASK: AtomicU64 = AtomicU64::new(0);
/// The head of the list of states whose locks it holds.
static LOCKED: AtomicPtr<State> = AtomicPtr::new(null_mut());

/// Takes every lock. No signal handler may run until they are given back: it would wait for its own thread.
unsafe extern "C" fn before_fork() {
    let mask = signals::block_all();
    // Acquire: pairs with the release in `watch_forks`. A state that comes later is not part of this fork.
    let first = STATES.load(Ordering::Acquire);
    page_map::raw().lock();
    for_each_state(first, |state| for_each_lock(state, |lock| lock.lock()));
    // Relaxed: read by this thread, or by its copy in the child.
    LOCKED.store(first, Ordering::Relaxed);
    MASK.store(mask, Ordering::Relaxed);
}

unsafe extern "C" fn in_parent() {
    let (mask, first) = (MASK.load(Ordering::Relaxed), LOCKED.load(Ordering::Relaxed));
    for_each_state(first, |state| for_each_lock(state, |lock| lock.unlock()));
    page_map::raw().unlock();
    signals::restore(mask);
}

/// In the child only the forking thread lives on. What the others had cached is lost to it, a bounded amount each; what
/// they had allocated stays valid.
unsafe extern "C" fn in_child() {
    page_map::raw().reset();
    for_each_state(LOCKED.load(Ordering::Relaxed), |state| {
        for_each_lock(state, |lock| lock.reset());
        // A pass that another thread was at ends here; the one page that it had taken out is lost with it.
        state.arenas().for_each(|arena| arena.scavenger.reset());
        let own = ThreadHeap::of(state).and_then(|heap| heap.seat.get());
        for (index, count) in state.shared.threads.lock().iter_mut().enumerate() {
            *count = u32::from(own == Some(index));
        }
    });
    signals::restore(MASK.load(Ordering::Relaxed));
}

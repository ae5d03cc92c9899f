//! What is asked of the whole allocator: to give memory back, and to account for it.

use crate::config::bins::PAGE;
use crate::heap::pages;
use crate::heap::state::State;
use crate::heap::thread::ThreadHeap;

/// Gives back what can be: the calling thread's caches, the depots, every free page and idle segment, every freed huge
/// block. True if memory went back to the OS. May change errno.
pub fn trim(state: &'static State) -> bool {
    if let Some(heap) = ThreadHeap::real((state.slot)()) {
        use core::sync::atomic::Ordering;
        // Relaxed: the other party is a signal handler of this thread. A slow path at work keeps its caches.
        if !heap.busy.swap(true, Ordering::Relaxed) {
            heap.flush();
            heap.busy.store(false, Ordering::Relaxed);
        }
    }
    let mut bytes = state.shared.huge.trim(0);
    for arena in state.arenas() {
        crate::heap::depot::drain(arena);
        bytes += pages::purge(arena, 0, true);
    }
    bytes >= PAGE
}

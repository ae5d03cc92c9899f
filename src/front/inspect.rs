//! What is asked of the whole allocator: to give memory back, and to account for it.

use crate::config::Config;
use crate::config::bins::GRANULE;
use crate::heap::pages::Scope;
use crate::heap::state::State;
use crate::heap::thread::ThreadHeap;
use crate::heap::{depot, pages, scavenge};

/// Gives back what can be: the calling thread's caches, the depots, every free page and idle segment, every freed huge
/// block. True if memory went back to the OS. May change errno.
pub fn trim<C: Config>(state: &'static State<C>) -> bool {
    if (state.busy)() {
        // In a signal handler that interrupted a slow path: its locks may be held.
        return false;
    }
    (state.set_busy)(true);
    if let Some(heap) = ThreadHeap::of(state) {
        heap.flush();
    }
    let mut bytes = state.shared.huge.trim(0);
    // Blocks go home to any arena, so every depot is emptied before the first arena is purged.
    state.arenas().for_each(depot::drain);
    for arena in state.arenas() {
        bytes += scavenge::pass(arena);
        bytes += pages::purge(arena, 0, Scope::All);
    }
    (state.set_busy)(false);
    bytes >= GRANULE
}

/// Bytes mapped for segments and cached huge blocks: more than that no trim can give back.
pub fn mapped<C: Config>(state: &'static State<C>) -> usize {
    if (state.busy)() {
        return 0;
    }
    (state.set_busy)(true);
    let segments: usize = state.arenas().map(|arena| arena.pages.lock().segments * C::SEGMENT).sum();
    let bytes = segments + state.shared.huge.cached();
    (state.set_busy)(false);
    bytes
}

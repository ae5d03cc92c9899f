//! L2, behind the hot path: thread heaps, depots, central bins, segments and pages, spans, huge blocks, purge.
//!
//! ```text
//! ThreadHeap   per thread    magazines of free blocks, one table entry per bin           (no lock)
//!   Depot      arena, bin    full magazines that change hands whole                      (lock)
//!   Central    arena, bin    pages with free blocks; free blocks are bits in a bitmap    (lock)
//!     Pages    arena         free 64 KiB pages of 2 MiB segments; spans                  (lock)
//!       os                   mmap, madvise
//! Huge         process       blocks with a mapping of their own, a cache of freed ones   (locks)
//! ```
//!
//! **Locks** are futex locks, each held for a short, bounded stretch, and never one inside another. Only the fork hooks
//! hold several, and take them in one order: the page map's windows; then by front end the exit key, the threads, the
//! shared magazines; by arena the stock, by bin depot and central, the pages; the huge blocks. No lock is held while memory
//! is mapped, purged, unmapped or cleared, but for the page map's, once for 64 GiB of addresses.
//!
//! **Ownership.** A block belongs to exactly one of: the program, one slot of one magazine, one set bit of one page.
//! A page belongs to the arena that took it, and its blocks return to that arena whoever frees them.

pub mod arena;
pub mod central;
pub mod counters;
pub mod deferred;
pub mod depot;
pub mod huge;
pub mod life;
pub mod list;
pub mod magazine;
pub mod page_map;
pub mod pages;
pub mod purge;
pub mod scavenge;
pub mod segment;
pub mod span;
pub mod state;
pub mod stats;
pub mod stock;
pub mod thread;

//! What the heap asks of the operating system and of libc: memory, locks, the thread slot, life-cycle hooks, messages.
//!
//! The lowest layer: it knows nothing of heaps and may be called by all of them.

pub mod clock;
pub mod errno;
pub mod foreign;
pub mod lock;
pub mod memory;
pub mod processors;
pub mod report;
pub mod signals;
pub mod slot;

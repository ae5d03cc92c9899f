//! hakmem: a `malloc` replacement whose every decision is made when it is built.
//!
//! A **preset** (routes, knobs, geometry) is compiled into one monomorphised front end. As Rust's allocator:
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: hakmem::Mixed = hakmem::Mixed::new();
//!
//! let words: Vec<String> = ["made", "when", "built"].iter().map(|word| word.to_string()).collect();
//! assert_eq!(words.len(), 3);
//! ```
//!
//! No feature is needed for that. As everybody's `malloc`: `cargo build --release --features preset-mixed` makes
//! `libhakmem.so` for `LD_PRELOAD`, and [`export_malloc!`] makes a Rust program export the C functions itself.
//!
//! # Presets
//!
//! [`PRESETS`] lists them; each is a type of this crate: [`Mixed`] is the standard, [`C6Heavy`] is for blocks of 257 to 768 bytes,
//! and so on. Each has statics and a thread slot of its own, so several of them live in one process:
//!
//! ```
//! use hakmem::{C6Heavy, Mixed};
//!
//! let (a, b) = (Mixed::allocate(500), C6Heavy::allocate(500));
//! // SAFETY: each block goes back to the front end that it came from.
//! unsafe {
//!     assert!(Mixed::usable_size(a) >= 500);
//!     Mixed::deallocate(a);
//!     C6Heavy::deallocate(b);
//! }
//! ```
//!
//! A preset is written down in `src/presets/NAME.toml` and nowhere else. The feature `preset-NAME` makes it the C ABI of
//! `libhakmem.so`; a knob's feature adds to it, and `no-` before the name takes away:
//! `--features preset-mixed,no-free-dualhot` is one side of a comparison, `--features preset-mixed` the other.
//!
//! # Two sides in one program
//!
//! [`define_front!`] makes a front end of any words; one line names a preset plus or minus a knob:
//!
//! ```
//! use hakmem::config::{Bins, Geometry, Knob};
//!
//! hakmem::define_front!(Kept in kept = hakmem::Mixed::WORDS.with(Knob::FreeKeep));
//! const POWERS: Geometry = Geometry { bins: Bins::POWERS, ..Geometry::STANDARD };
//! hakmem::define_front!(Powers in powers = hakmem::Mixed::WORDS.shaped(POWERS));
//!
//! // SAFETY: the blocks are live.
//! unsafe {
//!     assert_eq!(Kept::usable_size(Kept::allocate(520)), 528);
//!     assert_eq!(Powers::usable_size(Powers::allocate(520)), 1024);
//! }
//! ```
//!
//! Words that contradict themselves, or ask for what is not built, do not compile; the message says why and what to do.
//!
//! # Statistics
//!
//! A preset counts nothing unless a knob says so; then each thread counts for itself, and [`Front::statistics`] sums up:
//!
//! ```
//! use hakmem::{Path, config::Knob};
//!
//! hakmem::define_front!(Counted in counted = hakmem::Mixed::WORDS.with(Knob::FreePathStats));
//!
//! // SAFETY: null may be freed.
//! unsafe { Counted::deallocate(std::ptr::null_mut()) };
//! assert_eq!(Counted::statistics().map(|counted| counted.path(Path::FreeNull)), Some(1));
//! assert_eq!(hakmem::Mixed::statistics(), None);
//! ```
//!
//! # How it is built
//!
//! Layers call downwards only: [`export_malloc!`] and the `GlobalAlloc` implementation, then the front ([`Front`], the hot
//! paths), the routes (what fills and empties a magazine), the heap (arenas, pages, huge blocks), the operating
//! system. The vocabulary of build time is [`config`]; any layer reads it.
//!
//! # Names
//!
//! *segment* (2 MiB), *page* (64 KiB), *OS page* (4 KiB), *block*, *bin* (an exact block size), *class* (C0 to C7, bands
//! over bins), *magazine* (a stack of free blocks), *thread heap*, *depot*, *central bin*, *span* (a block of whole pages),
//! *huge* (a block with a mapping of its own), *page map* (page to bin), *refill* and *flush* (of a magazine), *retire* (a
//! page), *purge* (memory to the OS), *arena*.
#![no_std]

cfg_if::cfg_if! {
    if #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu", target_pointer_width = "64")))] {
        compile_error!("hakmem runs on 64-bit x86 Linux with glibc and nowhere else: build for x86_64-unknown-linux-gnu");
    }
}

mod abi;
pub mod config;
mod front;
mod global;
mod heap;
mod os;
mod preset;
mod route;

pub use front::{Front, Instance};
pub use heap::counters::{Path, Statistics};
pub use os::report::abort;
pub use preset::*;

/// What the macros need and nobody else should use.
#[doc(hidden)]
#[allow(missing_docs)]
pub mod __private {
    pub use crate::abi::CAbi;
    pub use crate::front::Configured;
    pub use crate::heap::life::Watched;
    pub use crate::heap::state::{Shared, State};
    pub use crate::heap::stats::Usage;
    pub use crate::heap::thread::{EMPTY, ThreadHeap};
    pub use crate::os::foreign::public_free;
    pub use libc::{FILE, mallinfo as Mallinfo, mallinfo2 as Mallinfo2};
}

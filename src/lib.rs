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
//! As everybody's `malloc`: `cargo build --release --features preset-mixed` makes `libhakmem.so` for `LD_PRELOAD`, and
//! [`export_malloc!`] makes a Rust program export the C functions itself.
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
mod route;

pub use front::{Front, Instance};
pub use os::report::abort;

use config::{Route, Routes, Words};

define_front! {
    /// The preset for mixed sizes of 16 to 1024 bytes, and the standard: every class on LEGACY.
    pub Mixed in mixed = Words::new(Routes::all(Route::Legacy))
}

include!(concat!(env!("OUT_DIR"), "/selected.rs"));

/// What the macros need and nobody else should use.
#[doc(hidden)]
#[allow(missing_docs)]
pub mod __private {
    pub use crate::abi::CAbi;
    pub use crate::heap::state::{Shared, State};
    pub use crate::heap::stats::Usage;
    pub use crate::heap::thread::{EMPTY, ThreadHeap};
    pub use crate::os::foreign::public_free;
    pub use libc::{FILE, mallinfo as Mallinfo, mallinfo2 as Mallinfo2};
}

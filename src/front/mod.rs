//! L0: the front end, generic over the words of its preset.
//!
//! [`Front`] holds the hot paths (`direct`); `service` is everything behind their one cold call: first use, sizes without
//! a bin, refusals, pointers that are not ours. Rust's allocator trait and the C ABI call nothing else.

mod define;
mod direct;
pub(crate) mod inspect;
pub(crate) mod service;

pub use direct::{Configured, Front, Instance};

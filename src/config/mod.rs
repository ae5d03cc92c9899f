//! The vocabulary of build time: geometry, routes and knobs, and the words that carry them in a type.
//!
//! Everything here is `const`. Any layer may read it; it reads nobody.

pub mod bins;
mod words;

pub use words::{Class, Knob, Route, Routes, Words};

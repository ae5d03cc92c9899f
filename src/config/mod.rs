//! The vocabulary of build time: what can be decided about an allocator, and the words that carry the decisions in a type.
//!
//! | kind | type | word |
//! |---|---|---|
//! | what serves a class of sizes | [`Route`] for each [`Class`] | [`Routes`], four bits a class |
//! | yes or no | [`Knob`] | a bit of [`Words::knobs`] |
//! | which block sizes exist | [`Bins`] | a bit for each of 104 possible sizes |
//! | pages, segments, magazines | [`Geometry`] | [`Words::numbers`] |
//!
//! [`Words`] holds the four words of a preset, [`Words::problem`] says what is impossible about them, and a type that
//! implements [`Config`] carries them to the code, which reads typed constants such as [`Config::FREE_DUALHOT`]. Every
//! variable of the original, hakmem, has its place here: see [`VARIABLES`].
//!
//! Everything here is `const` or a few instructions. Any layer may read it, it reads nobody, and the build script includes it as
//! it is.

mod baked;
pub mod bins;
mod class;
mod geometry;
mod knob;
mod route;
mod rules;
mod variables;
mod words;

pub use baked::{Baked, Config};
pub use class::{Class, Classes};
pub use geometry::{Bins, Geometry};
pub use knob::{Knob, Standing};
pub use route::{Route, Routes};
pub use variables::{Place, VARIABLES, Variable};
pub use words::Words;

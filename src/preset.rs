//! What the build script made of the preset files: a type for each, and the list of them.

use crate::config::Words;
use crate::define_front;

/// A preset: what its file says.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The file's name without `.toml`; behind `preset-`, the feature that makes it the C ABI.
    pub name: &'static str,
    /// The type of this crate that it became.
    pub type_name: &'static str,
    /// The profile of the original that it follows; empty if it follows none.
    pub hakmem: &'static str,
    /// What it is for, in a few words.
    pub summary: &'static str,
    /// The cargo profile that it is built with.
    pub profile: &'static str,
    /// The resolved words.
    pub words: Words,
    /// What it would have besides, if it were built: knobs by name, routes as `small-v3 on C7`.
    pub awaits: &'static [&'static str],
}

include!(concat!(env!("OUT_DIR"), "/presets.rs"));

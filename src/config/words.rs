//! The four words of a preset, with the operations that a definition needs.

use super::geometry::{Bins, Geometry};
use super::knob::Knob;
use super::route::Routes;
use super::rules;

/// Routes, knobs and geometry, packed into words that fit const parameters. [`Words::problem`] says whether they can be
/// built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The route word, see [`Routes`].
    pub routes: u32,
    /// The knob word: bit `k` is the knob with the value `k`.
    pub knobs: u64,
    /// Which block sizes exist, see [`Bins`].
    pub bins: u128,
    /// The other numbers of the geometry, see [`Geometry::pack`].
    pub numbers: u128,
}

impl Words {
    /// The given routes and geometry, and of the knobs those that are on in every preset.
    #[must_use]
    pub const fn new(routes: Routes, geometry: Geometry) -> Self {
        Self { routes: routes.0, knobs: Knob::BUILT_IN, bins: geometry.bins.0, numbers: geometry.pack() }
    }

    /// The same words with `knob` on.
    #[must_use]
    pub const fn with(self, knob: Knob) -> Self {
        Self { knobs: self.knobs | 1 << knob as u8, ..self }
    }

    /// The same words with `knob` off.
    #[must_use]
    pub const fn without(self, knob: Knob) -> Self {
        Self { knobs: self.knobs & !(1 << knob as u8), ..self }
    }

    /// The same words with other routes.
    #[must_use]
    pub const fn routed(self, routes: Routes) -> Self {
        Self { routes: routes.0, ..self }
    }

    /// The same words with another geometry.
    #[must_use]
    pub const fn shaped(self, geometry: Geometry) -> Self {
        Self { bins: geometry.bins.0, numbers: geometry.pack(), ..self }
    }

    /// Whether `knob` is on.
    #[must_use]
    pub const fn has(self, knob: Knob) -> bool {
        self.knobs >> knob as u8 & 1 == 1
    }

    /// The routes.
    #[must_use]
    pub const fn routes(self) -> Routes {
        Routes(self.routes)
    }

    /// The geometry.
    #[must_use]
    pub const fn geometry(self) -> Geometry {
        Geometry::unpack(Bins(self.bins), self.numbers)
    }

    /// What contradicts what, in a sentence with a remedy, whether it is built or not; None if it all makes sense.
    #[must_use]
    pub const fn contradiction(&self) -> Option<&'static str> {
        rules::contradiction(self)
    }

    /// What is impossible about the words, or not built yet, in a sentence with a remedy; None if they can be built.
    #[must_use]
    pub const fn problem(&self) -> Option<&'static str> {
        if let Some(problem) = self.contradiction() {
            return Some(problem);
        }
        if let Some(problem) = rules::unbuilt(self) {
            return Some(problem);
        }
        self.geometry().problem()
    }
}

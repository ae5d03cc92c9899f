//! The two words that a front end is generic over: [`Routes`] (what serves each class) and the knobs.

/// hakmem's classes: bands over the bins, named C0 to C7 after block sizes of 8 to 1024 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Up to 8 bytes.
    C0,
    /// 9 to 16 bytes.
    C1,
    /// 17 to 32 bytes.
    C2,
    /// 33 to 64 bytes.
    C3,
    /// 65 to 128 bytes.
    C4,
    /// 129 to 256 bytes.
    C5,
    /// 257 to 512 bytes.
    C6,
    /// 513 bytes and more (hakmem: to 1024).
    C7,
}

/// What fills an empty magazine and takes a full one back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Route {
    /// Central bins, shared by the threads of an arena.
    Legacy = 0,
}

/// One [`Route`] per [`Class`], four bits each; C0 in the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Routes(pub u32);

impl Routes {
    /// Every class on one route.
    #[must_use]
    pub const fn all(route: Route) -> Self {
        Self((route as u32) * 0x1111_1111)
    }
}

/// A yes-or-no decision of the front end or of the heap behind it; the value is its bit in the knob word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Knob {
    /// Free policy "keep": freed memory stays with the process until `malloc_trim`. Off is hakmem's "batch": pages that
    /// stay empty go back to the OS as the program frees, many at a time.
    FreeKeep = 0,
}

/// Routes and knobs together, with the operations that a preset definition needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The route word.
    pub routes: u32,
    /// The knob word: bit `k` is the knob with the value `k`.
    pub knobs: u64,
}

impl Words {
    /// The given routes and no knob.
    #[must_use]
    pub const fn new(routes: Routes) -> Self {
        Self { routes: routes.0, knobs: 0 }
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

    /// Whether `knob` is on in the knob word `knobs`.
    #[must_use]
    pub const fn has(knobs: u64, knob: Knob) -> bool {
        knobs >> knob as u8 & 1 == 1
    }
}

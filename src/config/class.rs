//! hakmem's classes: bands over the bins, named C0 to C7 after block sizes of 8 to 1024 bytes, and sets of them.

/// A band of block sizes; routes are chosen by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Blocks of up to 8 bytes. No bin is that small: requests of so few bytes are served as C1, so the two have one route.
    C0,
    /// Up to 16 bytes.
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
    /// 513 bytes and more, up to the largest bin (hakmem's ends at 1024).
    C7,
}

impl Class {
    /// Every class, in order.
    pub const ALL: [Self; 8] = [Self::C0, Self::C1, Self::C2, Self::C3, Self::C4, Self::C5, Self::C6, Self::C7];

    /// The class of blocks of `size` bytes.
    #[must_use]
    #[inline]
    pub const fn of(size: usize) -> Self {
        let mut number = 0;
        while size > Self::ALL[number].most() {
            number += 1;
        }
        Self::ALL[number]
    }

    /// Most bytes of the class's blocks; C7 has no limit but the largest bin.
    #[must_use]
    pub const fn most(self) -> usize {
        if self as usize == 7 { usize::MAX } else { 8 << self as usize }
    }

    /// C0 to C7.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7"][self as usize]
    }
}

/// A set of classes as hakmem's masks write it: bit `n` is class Cn, so 0x40 is C6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Classes(pub u8);

impl Classes {
    /// No class.
    pub const NONE: Self = Self(0);
    /// C0 to C3: blocks of up to 64 bytes.
    pub const TINY: Self = Self(0x0f);
    /// Every class.
    pub const ALL: Self = Self(0xff);

    /// Whether `class` is in the set.
    #[must_use]
    #[inline]
    pub const fn has(self, class: Class) -> bool {
        self.0 >> class as u8 & 1 == 1
    }
}

//! Geometry: which block sizes exist, and how large pages, segments and magazines are.
//!
//! A block size is one of 104: multiples of 16 up to 1024 bytes, then eight a doubling up to 32 KiB. [`Bins`] is a bit for each,
//! so that any table of bins fits a const parameter.

use super::bins::{ALIGN, BIN_LIMIT, GRANULE, MAGAZINE_SLOTS, MAX_BINS, SMALL_MAX};
use super::class::Classes;

/// Which block sizes exist: bit `i` stands for blocks of `Bins::size_at(i)` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins(pub u128);

/// Possible sizes up to [`SMALL_MAX`].
const SMALL: usize = SMALL_MAX / ALIGN;

impl Bins {
    /// Number of possible sizes.
    pub const POSSIBLE: usize = SMALL + 8 * (BIN_LIMIT / SMALL_MAX).trailing_zeros() as usize;
    /// No bin.
    pub const NONE: Self = Self(0);
    /// Four bins a doubling above 1024 bytes: what the first two tables have in common.
    const QUARTERS: u128 = 0xaa_aaaa_aaaa << SMALL;
    /// Steps of 16 up to 1024 bytes, then four a doubling.
    pub const STEPS: Self = Self(Self::QUARTERS | u64::MAX as u128);
    /// hakmem's powers of two up to 1024 bytes (16 is the smallest, 8 would be misaligned), then four a doubling.
    pub const POWERS: Self = Self(Self::QUARTERS | 0x8000_0000_8000_808b);

    /// Bytes of the possible size number `index`, which is below [`Bins::POSSIBLE`].
    #[must_use]
    pub const fn size_at(index: usize) -> usize {
        if index < SMALL {
            return (index + 1) * ALIGN;
        }
        let (doubling, eighth) = ((index - SMALL) / 8, (index - SMALL) % 8);
        (SMALL_MAX << doubling) + (eighth + 1) * (SMALL_MAX << doubling >> 3)
    }

    /// Number of the smallest possible size that holds `size` bytes, for `1 <= size <= BIN_LIMIT`.
    #[must_use]
    #[inline(always)]
    pub const fn index_of(size: usize) -> usize {
        if size <= SMALL_MAX {
            return (size - 1) / ALIGN;
        }
        // With m = size - 1 and e its highest bit, the three bits below e number the eighth of the doubling.
        let m = size - 1;
        let e = (usize::BITS - 1 - m.leading_zeros()) as usize;
        SMALL + (e - SMALL_MAX.trailing_zeros() as usize) * 8 + (m >> (e - 3) & 7)
    }

    /// The same bins and one of `size` bytes; None if that is no possible size.
    #[must_use]
    pub const fn with(self, size: usize) -> Option<Self> {
        if size == 0 || size > BIN_LIMIT || Self::size_at(Self::index_of(size)) != size {
            return None;
        }
        Some(Self(self.0 | 1 << Self::index_of(size)))
    }

    /// Whether there is a bin for the possible size number `index`.
    #[must_use]
    pub const fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }

    /// Number of bins, bin 0 (which holds nothing) apart.
    #[must_use]
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

/// The numbers behind the hot path. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Which block sizes exist.
    pub bins: Bins,
    /// A page is the unit in which a bin takes memory: 64 or 128 KiB.
    pub page: usize,
    /// A segment is what the heap takes from the OS at a time, aligned to itself: 8 to 32 pages.
    pub segment: usize,
    /// Most blocks of a magazine, for each class: 2 to 63.
    pub magazine: [u8; 8],
    /// Most bytes of a magazine's blocks, a power of two from 1 KiB to 1 MiB; two blocks fit whatever this says.
    pub magazine_bytes: usize,
    /// Bytes of the blocks that a thread's first magazine of a bin has room for, a power of two: it grows with misses.
    pub first_bytes: usize,
    /// Classes of which each bin gets a page, with memory, before the first allocation.
    pub preallocated: Classes,
}

impl Geometry {
    /// Bins in steps of 16, pages of 64 KiB, segments of 2 MiB, magazines of 63 blocks or 32 KiB that start at 8 KiB.
    pub const STANDARD: Self = Self {
        bins: Bins::STEPS,
        page: 64 << 10,
        segment: 2 << 20,
        magazine: [(MAGAZINE_SLOTS - 1) as u8; 8],
        magazine_bytes: 32 << 10,
        first_bytes: 8 << 10,
        preallocated: Classes::NONE,
    };

    /// The numbers (all but the bins) in one word. [`Geometry::unpack`] reads it.
    #[must_use]
    pub const fn pack(self) -> u128 {
        let logs = [self.page, self.segment, self.magazine_bytes, self.first_bytes];
        let mut word = (self.preallocated.0 as u128) << 64;
        let mut index = 0;
        while index < logs.len() {
            // What is no power of two, or too large, becomes a number that `problem` refuses.
            let possible = logs[index].is_power_of_two() && logs[index] < 1 << 31;
            let log = if possible { logs[index].trailing_zeros() } else { 31 };
            word |= (log as u128) << (72 + 8 * index);
            index += 1;
        }
        index = 0;
        while index < self.magazine.len() {
            word |= (self.magazine[index] as u128) << (8 * index);
            index += 1;
        }
        word
    }

    /// A geometry from its two words.
    #[must_use]
    pub const fn unpack(bins: Bins, numbers: u128) -> Self {
        let mut magazine = [0; 8];
        let mut index = 0;
        while index < magazine.len() {
            magazine[index] = (numbers >> (8 * index)) as u8;
            index += 1;
        }
        Self {
            bins,
            page: 1 << (numbers >> 72 & 0x1f),
            segment: 1 << (numbers >> 80 & 0x1f),
            magazine,
            magazine_bytes: 1 << (numbers >> 88 & 0x1f),
            first_bytes: 1 << (numbers >> 96 & 0x1f),
            preallocated: Classes((numbers >> 64) as u8),
        }
    }

    /// What is impossible about it, in a sentence with a remedy; None if it can be built.
    #[must_use]
    pub const fn problem(&self) -> Option<&'static str> {
        if self.bins.0 >> Bins::POSSIBLE != 0 || !self.bins.has(SMALL - 1) || self.bins.count() >= MAX_BINS {
            return Some("the bins must include 1024 bytes and be 84 at most: add 1024, or leave some sizes out");
        }
        if self.page != GRANULE && self.page != 2 * GRANULE {
            return Some("a page has 64 or 128 KiB: set `page` to 65536 or 131072");
        }
        if !self.segment.is_power_of_two() || self.segment < 8 * self.page || self.segment > 32 * self.page {
            return Some("a segment has 8, 16 or 32 pages: set `segment` to that many times `page`");
        }
        let mut class = 0;
        while class < self.magazine.len() {
            if self.magazine[class] < 2 || self.magazine[class] as usize >= MAGAZINE_SLOTS {
                return Some("a magazine holds 2 to 63 blocks: set `magazine` accordingly");
            }
            class += 1;
        }
        if !self.magazine_bytes.is_power_of_two() || self.magazine_bytes < 1 << 10 || self.magazine_bytes > 1 << 20 {
            return Some("`magazine-bytes` is a power of two from 1 KiB to 1 MiB: set it accordingly, in bytes");
        }
        if !self.first_bytes.is_power_of_two() || self.first_bytes > self.magazine_bytes {
            return Some("`first-bytes` is a power of two, and `magazine-bytes` at most: set it accordingly");
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn possible_sizes_are_numbered_without_gaps() {
        assert_eq!(Bins::POSSIBLE, 104);
        assert_eq!(Bins::size_at(Bins::POSSIBLE - 1), BIN_LIMIT);
        for size in 1..=BIN_LIMIT {
            let index = Bins::index_of(size);
            assert!(Bins::size_at(index) >= size, "{size}");
            assert!(index == 0 || Bins::size_at(index - 1) < size, "{size}");
        }
    }

    #[test]
    fn the_tables_are_what_they_say() {
        let sizes = |bins: Bins| (0..Bins::POSSIBLE).filter(move |&i| bins.has(i)).map(Bins::size_at);
        assert_eq!(sizes(Bins::STEPS).take(64).last(), Some(1024));
        assert_eq!(Bins::STEPS.count(), 84);
        assert!(sizes(Bins::POWERS).take(9).eq([16, 32, 64, 128, 256, 512, 1024, 1280, 1536]));
        assert_eq!(sizes(Bins::POWERS).max(), Some(BIN_LIMIT));
        assert_eq!(Bins::NONE.with(1100), None);
        assert!(Bins::NONE.with(1152).is_some_and(|bins| sizes(bins).eq([1152])));
    }

    #[test]
    fn what_is_packed_comes_out_again() {
        let odd = Geometry {
            page: 128 << 10,
            segment: 4 << 20,
            magazine: [2, 3, 4, 5, 6, 7, 8, 63],
            magazine_bytes: 1 << 20,
            first_bytes: 1 << 10,
            preallocated: Classes::TINY,
            bins: Bins::POWERS,
        };
        for geometry in [Geometry::STANDARD, odd] {
            assert_eq!(Geometry::unpack(geometry.bins, geometry.pack()), geometry);
            assert_eq!(geometry.problem(), None);
        }
    }

    #[test]
    fn impossible_numbers_stay_impossible_when_packed() {
        let standard = Geometry::STANDARD;
        for wrong in [
            Geometry { page: 192 << 10, ..standard },
            Geometry { segment: 3 << 20, ..standard },
            Geometry { segment: 1 << 53, ..standard },
            Geometry { magazine_bytes: 24 << 10, ..standard },
            Geometry { first_bytes: 5000, ..standard },
            Geometry { first_bytes: 0, ..standard },
        ] {
            assert!(Geometry::unpack(wrong.bins, wrong.pack()).problem().is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn impossible_numbers_are_named() {
        let standard = Geometry::STANDARD;
        let wrong: [(Geometry, &str); 8] = [
            (Geometry { page: 32 << 10, ..standard }, "page"),
            (Geometry { segment: 8 << 20, ..standard }, "segment"),
            (Geometry { segment: 256 << 10, ..standard }, "segment"),
            (Geometry { magazine: [63, 63, 64, 63, 63, 63, 63, 63], ..standard }, "magazine"),
            (Geometry { magazine: [1; 8], ..standard }, "magazine"),
            (Geometry { magazine_bytes: 3000, ..standard }, "magazine-bytes"),
            (Geometry { first_bytes: 64 << 10, ..standard }, "first-bytes"),
            (Geometry { bins: Bins(1), ..standard }, "bins"),
        ];
        for (geometry, word) in wrong {
            assert!(geometry.problem().is_some_and(|problem| problem.contains(word)), "{geometry:?}");
        }
    }
}

//! The words of a preset as a type, and the typed constants that hot code reads.

use super::bins::{ALIGN, BIN_LIMIT, GRANULE, Large, OS_PAGE, SMALL_MAX, Shape, Small, Tables};
use super::geometry::{Bins, Geometry};
use super::knob::Knob;
use super::words::Words;

/// A type that stands for the words of a preset. Everything below the words follows from them.
pub trait Config: 'static {
    /// Routes, knobs and geometry.
    const WORDS: Words;

    /// The geometry, unpacked.
    const GEOMETRY: Geometry = Self::WORDS.geometry();
    /// What follows from the geometry.
    const TABLES: &'static Tables = &Tables::of(&Self::GEOMETRY);
    /// Number of bins, bin 0 included.
    const BINS: usize = Self::TABLES.count;
    /// Largest size that has a bin, in bytes.
    const BIN_MAX: usize = Self::TABLES.largest;
    /// Bins of C0 to C3, which are the lowest; bin 0 is not among them.
    const TINY_BINS: usize = Self::TABLES.tiny_count;
    /// Bytes of a page.
    const PAGE: usize = Self::GEOMETRY.page;
    /// Entries of the page map for a page.
    const GRANULES: usize = Self::PAGE / GRANULE;
    /// OS pages of a page.
    const OS_PAGES: usize = Self::PAGE / OS_PAGE;
    /// Bytes of a segment, which is aligned to them.
    const SEGMENT: usize = Self::GEOMETRY.segment;
    /// Pages of a segment, its header's included.
    const SEGMENT_PAGES: usize = Self::SEGMENT / Self::PAGE;
    /// Largest span, in bytes: two of them fit a segment.
    const SPAN_MAX: usize = (Self::SEGMENT_PAGES / 2 - 1) * Self::PAGE;
    /// Words of a page's bitmap, in which a bit is a block.
    const BITMAP: usize = Self::PAGE / ALIGN / 64;

    /// `free` leaves for LEGACY at once where a block of C0 to C3 finds its magazine full.
    const FREE_DUALHOT: bool = Self::WORDS.has(Knob::FreeDualhot);
    /// `malloc` leaves for LEGACY at once where a request of C0 to C3 finds its magazine empty.
    const ALLOC_DUALHOT: bool = Self::WORDS.has(Knob::AllocDualhot);
    /// The bin of a small request comes from a table in any case.
    const LUT: bool = Self::WORDS.has(Knob::FrontV3Lut);
    /// `malloc` asks for the cache line of the next slots.
    const PREFETCH: bool = Self::WORDS.has(Knob::Prefetch);
    /// Freed pages stay with the process until `malloc_trim`.
    const FREE_KEEP: bool = Self::WORDS.has(Knob::FreeKeep);
    /// Freed pages go back to the OS at once.
    const FREE_EAGER: bool = Self::WORDS.has(Knob::DisableBatch);
    /// Only whole segments go back to the OS.
    const WHOLE_SEGMENTS: bool = Self::WORDS.has(Knob::MadviseStrict);
    /// Large heaps ask for huge pages.
    const THP: bool = Self::WORDS.has(Knob::ThpAuto);
    /// Blocks are counted by bin.
    const HEAP_STATS: bool = Self::WORDS.has(Knob::HeapStats);
    /// The paths that calls take are counted.
    const PATH_STATS: bool = Self::WORDS.has(Knob::FreePathStats);
    /// Either of the two.
    const STATS: bool = Self::HEAP_STATS || Self::PATH_STATS;
    /// The counters are printed when the process ends.
    const STATS_DUMP: bool = Self::WORDS.has(Knob::HeapStatsDump);

    /// The shape of `bin`.
    ///
    /// # Safety
    /// `bin` is below [`Self::BINS`](Config::BINS).
    #[inline(always)]
    #[must_use]
    unsafe fn shape(bin: usize) -> &'static Shape {
        debug_assert!(bin < Self::BINS);
        // SAFETY: the caller keeps `bin` below the table's length.
        unsafe { Self::TABLES.shapes.get_unchecked(bin) }
    }

    /// Block size of `bin`, in bytes; 0 for bin 0.
    #[inline(always)]
    #[must_use]
    fn size_of(bin: usize) -> usize {
        Self::TABLES.shapes.get(bin).map_or(0, |shape| shape.size as usize)
    }

    /// The bin of a request of up to [`SMALL_MAX`] bytes, 0 for size 0; None for more.
    #[inline(always)]
    #[must_use]
    fn small_bin(size: usize) -> Option<usize> {
        let form = if Self::LUT { Small::Table } else { Self::TABLES.small_form };
        match form {
            Small::Steps(log) => {
                let padded = size.wrapping_add((1 << log) - 1);
                (padded < SMALL_MAX + (1 << log)).then_some(padded >> log)
            }
            Small::Log2 => {
                let highest = size.wrapping_sub(1);
                (highest < SMALL_MAX).then(|| ((highest | (ALIGN - 1)) >> 2).ilog2() as usize)
            }
            Small::Table => {
                let padded = size.wrapping_add(ALIGN - 1);
                (padded < SMALL_MAX + ALIGN).then(|| {
                    // SAFETY: `padded / 16` is 64 at most, and the table has 65 entries.
                    usize::from(unsafe { *Self::TABLES.small.get_unchecked(padded / ALIGN) })
                })
            }
        }
    }

    /// The bin of a larger request: `SMALL_MAX < size <= Self::BIN_MAX`.
    #[inline(always)]
    #[must_use]
    fn large_bin(size: usize) -> usize {
        match Self::TABLES.large_form {
            Large::Quarters => {
                // With m = size - 1 and e its highest bit, the two bits below e number the quarter of the doubling.
                let m = size - 1;
                let e = (usize::BITS - 1 - m.leading_zeros()) as usize;
                Self::TABLES.small_count + (e - SMALL_MAX.trailing_zeros() as usize) * 4 + (m >> (e - 2) & 3)
            }
            Large::Table => usize::from(Self::TABLES.all[Bins::index_of(size) % Bins::POSSIBLE]),
        }
    }

    /// The bin of a request of `size` bytes, for `1 <= size <= Self::BIN_MAX`.
    #[inline(always)]
    #[must_use]
    fn bin_of(size: usize) -> usize {
        Self::small_bin(size).unwrap_or_else(|| Self::large_bin(size))
    }

    /// The smallest bin whose blocks hold `size` bytes and all start at multiples of `align`, a power of two; None where no
    /// bin does.
    #[inline]
    #[must_use]
    fn bin_of_aligned(size: usize, align: usize) -> Option<usize> {
        if size > Self::BIN_MAX || align > BIN_LIMIT.min(Self::BIN_MAX) {
            return None;
        }
        let least = Self::bin_of(size.max(align));
        if align <= ALIGN {
            return Some(least);
        }
        // Blocks sit at multiples of their size from a page's start, so the size decides the alignment of them all.
        (least..Self::BINS).find(|&bin| Self::size_of(bin).is_multiple_of(align))
    }
}

/// The words of a preset as const parameters: routes, knobs, bins, numbers.
pub struct Baked<const ROUTES: u32, const KNOBS: u64, const BINS: u128, const NUMBERS: u128>;

impl<const ROUTES: u32, const KNOBS: u64, const BINS: u128, const NUMBERS: u128> Config
    for Baked<ROUTES, KNOBS, BINS, NUMBERS>
{
    const WORDS: Words = {
        let words = Words { routes: ROUTES, knobs: KNOBS, bins: BINS, numbers: NUMBERS };
        if let Some(problem) = words.problem() {
            panic!("{}", problem);
        }
        words
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Routes;
    use crate::config::{Route, bins::MAX_BINS};

    macro_rules! baked {
        ($words:expr) => {
            Baked<{ $words.routes }, { $words.knobs }, { $words.bins }, { $words.numbers }>
        };
    }

    const fn words(bins: Bins) -> Words {
        Words::new(Routes::all(Route::Legacy), Geometry { bins, ..Geometry::STANDARD })
    }

    const ODD: Bins = Bins(Bins::POWERS.0 | 0x8421 | 0x1f << 80);
    const SHORT: Bins = Bins(u64::MAX as u128);

    fn every_size_lands_in_the_smallest_bin_that_holds_it<C: Config>() {
        assert!(C::BINS <= MAX_BINS);
        assert_eq!(C::small_bin(0).unwrap_or(0), 0);
        assert_eq!(C::small_bin(usize::MAX).unwrap_or(0), 0);
        assert_eq!(C::small_bin(SMALL_MAX + 1), None);
        for size in 1..=C::BIN_MAX {
            let bin = C::bin_of(size);
            assert!(C::size_of(bin) >= size, "{size}");
            assert!(bin == 1 || C::size_of(bin - 1) < size, "{size}");
        }
    }

    fn aligned_requests_land_in_bins_whose_blocks_are_aligned<C: Config>() {
        for shift in 0..=15 {
            let align = 1 << shift;
            for size in [0, 1, align - 1, align, align + 1, 3 * align, C::BIN_MAX] {
                match C::bin_of_aligned(size, align) {
                    Some(bin) => assert!(C::size_of(bin).is_multiple_of(align) && C::size_of(bin) >= size),
                    None => assert!(size.max(align) > C::BIN_MAX || C::BIN_MAX < BIN_LIMIT),
                }
            }
        }
        assert_eq!(C::bin_of_aligned(1, 2 * BIN_LIMIT), None);
    }

    fn look_up_of<C: Config>() {
        every_size_lands_in_the_smallest_bin_that_holds_it::<C>();
        aligned_requests_land_in_bins_whose_blocks_are_aligned::<C>();
    }

    #[test]
    fn look_up() {
        look_up_of::<baked!(words(Bins::STEPS))>();
        look_up_of::<baked!(words(Bins::STEPS).with(Knob::FrontV3Lut))>();
        look_up_of::<baked!(words(Bins::POWERS))>();
        look_up_of::<baked!(words(ODD))>();
        look_up_of::<baked!(words(SHORT))>();
        look_up_of::<baked!(words(Bins(1 << 63)))>();
    }
}

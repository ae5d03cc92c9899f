//! The bins: which exact block sizes exist, and from a request to its bin.
//!
//! Up to [`SMALL_MAX`] bytes the bins go in steps of 16 and bin `b` holds blocks of `16 * b` bytes. Above, four bins
//! a doubling up to [`BIN_MAX`]. Bin 0 holds nothing: it is where size 0, sizes that wrap, NULL and foreign pointers
//! land on the hot path, and its magazine is empty and full at once.

/// Every block starts at a multiple of this many bytes.
pub const ALIGN: usize = 16;
/// Largest size served by the bins in steps of 16, in bytes.
pub const SMALL_MAX: usize = 1024;
/// Largest size that has a bin, in bytes.
pub const BIN_MAX: usize = 32 * 1024;
/// Bins in steps of 16, bin 0 included.
const SMALL_BINS: usize = SMALL_MAX / ALIGN + 1;
/// Doublings between [`SMALL_MAX`] and [`BIN_MAX`].
const DOUBLINGS: usize = BIN_MAX.trailing_zeros() as usize - SMALL_MAX.trailing_zeros() as usize;
/// Number of bins, bin 0 included.
pub const BINS: usize = SMALL_BINS + 4 * DOUBLINGS;

/// A page is the unit in which a bin takes memory, in bytes; also what one byte of the page map describes.
pub const PAGE: usize = 1 << PAGE_SHIFT;
/// Binary logarithm of [`PAGE`].
pub const PAGE_SHIFT: u32 = 16;
/// A segment is what the heap takes from the OS at a time, in bytes, aligned to itself.
pub const SEGMENT: usize = 2 << 20;
/// Pages of a segment; the first one holds its header.
pub const SEGMENT_PAGES: usize = SEGMENT / PAGE;
/// Most blocks a page can hold.
pub const PAGE_BLOCKS: usize = PAGE / ALIGN;
/// What the OS maps and counts, in bytes.
pub const OS_PAGE: usize = 4096;

/// Slots of a magazine; one of them is the null below the lowest block.
pub const MAGAZINE_SLOTS: usize = 64;
/// Blocks that a full magazine may hold in all, in bytes: bounds the capacity for large bins.
const MAGAZINE_BYTES: usize = 32 * 1024;

/// Blocks that a thread's first magazine of a bin may hold in all, in bytes: it grows with misses.
const FIRST_BYTES: usize = 8 * 1024;

/// The bin of a request of `size` bytes, for `1 <= size <= BIN_MAX`.
#[must_use]
#[inline(always)]
pub const fn bin_of(size: usize) -> usize {
    if size <= SMALL_MAX { size.div_ceil(ALIGN) } else { large_bin_of(size) }
}

/// [`bin_of`] for `SMALL_MAX < size <= BIN_MAX`.
#[must_use]
#[inline(always)]
pub const fn large_bin_of(size: usize) -> usize {
    // With m = size - 1 and e its highest bit, the two bits below e number the quarter of the doubling.
    let m = size - 1;
    let e = (usize::BITS - 1 - m.leading_zeros()) as usize;
    let quarter = m >> (e - 2) & 3;
    SMALL_BINS + (e - SMALL_MAX.trailing_zeros() as usize) * 4 + quarter
}

/// Block size of bin `bin`, in bytes; 0 for bin 0.
#[must_use]
pub const fn size_of_bin(bin: usize) -> usize {
    if bin < SMALL_BINS {
        bin * ALIGN
    } else {
        let step = (bin - SMALL_BINS) / 4;
        let quarter = (bin - SMALL_BINS) % 4;
        (SMALL_MAX << step) + (quarter + 1) * (SMALL_MAX << step >> 2)
    }
}

/// The smallest bin whose blocks hold `size` bytes and all start at multiples of `align`; `None` where no bin does.
/// `align` is a power of two.
#[must_use]
pub const fn bin_of_aligned(size: usize, align: usize) -> Option<usize> {
    if size > BIN_MAX || align > BIN_MAX {
        return None;
    }
    let mut bin = bin_of(if size > align { size } else { align });
    // Blocks sit at multiples of their size from a page's start, so the size decides the alignment of them all.
    while bin < BINS {
        if size_of_bin(bin).is_multiple_of(align) {
            return Some(bin);
        }
        bin += 1;
    }
    None
}

/// What the heap knows of a bin's blocks.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Bytes of a block.
    pub size: u32,
    /// Blocks of a page.
    pub blocks: u16,
    /// Most blocks of a magazine.
    pub capacity: u16,
    /// Blocks that the first magazine of a thread has room for.
    pub first: u16,
    /// `offset * reciprocal >> 32 == offset / size` for every offset below [`PAGE`].
    pub reciprocal: u32,
}

/// The shape of every bin. Bin 0 has no blocks.
pub static SHAPES: [Shape; BINS] = shapes();

/// `value`, but at least `low` and at most `high`.
const fn between(low: usize, value: usize, high: usize) -> usize {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

const fn shapes() -> [Shape; BINS] {
    let mut table = [Shape { size: 0, blocks: 0, capacity: 0, first: 0, reciprocal: 0 }; BINS];
    let mut bin = 1;
    while bin < BINS {
        let size = size_of_bin(bin);
        table[bin] = Shape {
            size: size as u32,
            blocks: (PAGE / size) as u16,
            capacity: between(2, MAGAZINE_BYTES / size, MAGAZINE_SLOTS - 1) as u16,
            first: between(2, FIRST_BYTES / size, 8) as u16,
            // Rounded up: exact for offsets below 2^16 and sizes from 16 (checked by a test over all of them).
            reciprocal: ((1u64 << 32).div_ceil(size as u64)) as u32,
        };
        bin += 1;
    }
    table
}

impl Shape {
    /// Number of the block that starts `offset` bytes into a page; None if none does.
    #[inline]
    #[must_use]
    pub fn block_at(&self, offset: usize) -> Option<usize> {
        debug_assert!(offset < PAGE);
        let block = ((offset as u64 * u64::from(self.reciprocal)) >> 32) as usize;
        (block * self.size as usize == offset && block < usize::from(self.blocks)).then_some(block)
    }
}

/// The shape of `bin`, which must be below [`BINS`].
///
/// # Safety
/// `bin < BINS`.
#[must_use]
#[inline(always)]
pub unsafe fn shape(bin: usize) -> &'static Shape {
    debug_assert!(bin < BINS);
    // SAFETY: the caller keeps `bin` below the table's length.
    unsafe { SHAPES.get_unchecked(bin) }
}

const _: () = assert!(BINS == 85 && size_of_bin(BINS - 1) == BIN_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_lands_in_the_smallest_bin_that_holds_it() {
        for size in 1..=BIN_MAX {
            let bin = bin_of(size);
            assert!(size_of_bin(bin) >= size, "{size}");
            assert!(bin == 1 || size_of_bin(bin - 1) < size, "{size}");
        }
    }

    #[test]
    fn large_bins_waste_at_most_a_quarter() {
        for bin in SMALL_BINS..BINS {
            assert!(size_of_bin(bin) * 4 <= size_of_bin(bin - 1) * 5, "{bin}");
            assert_eq!(size_of_bin(bin) % ALIGN, 0);
        }
    }

    #[test]
    fn the_reciprocal_divides_every_offset_exactly() {
        for shape in &SHAPES[1..] {
            for offset in 0..PAGE as u64 {
                assert_eq!((offset * u64::from(shape.reciprocal)) >> 32, offset / u64::from(shape.size));
            }
        }
    }

    #[test]
    fn aligned_requests_land_in_bins_whose_blocks_are_aligned() {
        for shift in 4..=15 {
            let align = 1 << shift;
            for size in [0, 1, align - 1, align, align + 1, 3 * align, BIN_MAX] {
                match bin_of_aligned(size, align) {
                    Some(bin) => assert!(size_of_bin(bin).is_multiple_of(align) && size_of_bin(bin) >= size),
                    None => assert!(size > BIN_MAX),
                }
            }
        }
        assert_eq!(bin_of_aligned(1, 2 * BIN_MAX), None);
    }
}

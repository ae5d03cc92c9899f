//! What follows from a geometry: the shape of each bin, and the form of the look-up from a request to its bin that costs
//! least.
//!
//! Bins are numbered from 1 in order of size. Bin 0 holds nothing: it is where size 0, sizes that wrap, NULL and foreign
//! pointers land on the hot path, and its magazine is empty and full at once.

use super::class::Class;
use super::geometry::{Bins, Geometry};

/// Every block starts at a multiple of this many bytes.
pub const ALIGN: usize = 16;
/// Largest size whose bin the hot path looks up, in bytes; every geometry has a bin of this size.
pub const SMALL_MAX: usize = 1024;
/// Most bytes of a block in a bin.
pub const BIN_LIMIT: usize = 32 * 1024;
/// Most bins, bin 0 included: the page map's codes for all that is no bin begin here.
pub const MAX_BINS: usize = 85;
/// What one byte of the page map describes, in bytes; pages are one or two of these, huge blocks multiples.
pub const GRANULE: usize = 1 << GRANULE_SHIFT;
/// Binary logarithm of [`GRANULE`].
pub const GRANULE_SHIFT: u32 = 16;
/// Most pages of a segment; the first one holds its header.
pub const MAX_PAGES: usize = 32;
/// What the OS maps and counts, in bytes.
pub const OS_PAGE: usize = 4096;
/// Slots of a magazine; one of them is the null below the lowest block.
pub const MAGAZINE_SLOTS: usize = 64;

/// What the heap knows of a bin's blocks.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Bytes of a block.
    pub size: u32,
    /// Blocks of a page.
    pub blocks: u16,
    /// Most blocks of a magazine.
    pub capacity: u8,
    /// Blocks that the first magazine of a thread has room for.
    pub first: u8,
    /// `offset * reciprocal >> 32 == offset / size` for every offset into a page.
    pub reciprocal: u32,
    /// The class.
    pub class: Class,
}

/// How the bin of a request of up to [`SMALL_MAX`] bytes is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Small {
    /// Bins in equal steps: `(size + step - 1) >> log2(step)`.
    Steps(u32),
    /// Powers of two from 16 on: the highest bit of `size - 1`.
    Log2,
    /// Anything else: a table of bytes, one for 16 bytes.
    Table,
}

/// How the bin of a larger request is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Large {
    /// Four bins a doubling, up to the limit: the highest bit of `size - 1` and the two below.
    Quarters,
    /// Anything else: a table of bytes, eight a doubling.
    Table,
}

/// All that follows from a geometry.
pub struct Tables {
    /// Number of bins, bin 0 included.
    pub count: usize,
    /// Bins of up to [`SMALL_MAX`] bytes, bin 0 included.
    pub small_count: usize,
    /// Bins of C0 to C3, bin 0 apart.
    pub tiny_count: usize,
    /// Bytes of the largest bin's blocks.
    pub largest: usize,
    /// The shape of every bin; those beyond `count` have no blocks.
    pub shapes: [Shape; MAX_BINS],
    /// The look-up that costs least for small requests.
    pub small_form: Small,
    /// The look-up that costs least for the others.
    pub large_form: Large,
    /// Bin of `16 * i` bytes.
    pub small: [u8; SMALL_MAX / ALIGN + 1],
    /// Bin of the possible size number `i`, see [`Bins::size_at`].
    pub all: [u8; Bins::POSSIBLE],
}

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

impl Tables {
    /// The tables of a geometry without a [problem](Geometry::problem).
    #[must_use]
    pub const fn of(geometry: &Geometry) -> Self {
        let empty = Shape { size: 0, blocks: 0, capacity: 0, first: 0, reciprocal: 0, class: Class::C0 };
        let mut this = Self {
            count: 1,
            small_count: 0,
            tiny_count: 0,
            largest: 0,
            shapes: [empty; MAX_BINS],
            small_form: Small::Table,
            large_form: Large::Table,
            small: [0; SMALL_MAX / ALIGN + 1],
            all: [0; Bins::POSSIBLE],
        };
        let mut next = 0;
        let mut index = 0;
        while index < Bins::POSSIBLE {
            if geometry.bins.has(index) {
                let size = Bins::size_at(index);
                this.shapes[this.count] = Shape::of(size, geometry);
                this.largest = size;
                while next <= index {
                    this.all[next] = this.count as u8;
                    next += 1;
                }
                if size <= Class::C3.most() {
                    this.tiny_count = this.count;
                }
                this.count += 1;
                if size == SMALL_MAX {
                    this.small_count = this.count;
                }
            }
            index += 1;
        }
        index = 1;
        while index < this.small.len() {
            this.small[index] = this.all[index - 1];
            index += 1;
        }
        this.small_form = this.small_form();
        this.large_form = this.large_form(geometry);
        this
    }

    const fn small_form(&self) -> Small {
        let step = self.shapes[1].size;
        let (mut steps, mut powers) = (step.is_power_of_two(), step as usize == ALIGN);
        let mut bin = 1;
        while bin < self.small_count {
            let size = self.shapes[bin].size;
            steps &= size == bin as u32 * step;
            powers &= size as u64 == (ALIGN as u64).wrapping_shl(bin as u32 - 1);
            bin += 1;
        }
        if steps {
            Small::Steps(step.trailing_zeros())
        } else if powers {
            Small::Log2
        } else {
            Small::Table
        }
    }

    const fn large_form(&self, geometry: &Geometry) -> Large {
        let above = SMALL_MAX / ALIGN;
        if geometry.bins.0 >> above == Bins::STEPS.0 >> above { Large::Quarters } else { Large::Table }
    }
}

impl Shape {
    const fn of(size: usize, geometry: &Geometry) -> Self {
        let class = Class::of(size);
        let capacity = between(2, geometry.magazine_bytes / size, geometry.magazine[class as usize] as usize);
        Self {
            size: size as u32,
            blocks: (geometry.page / size) as u16,
            capacity: capacity as u8,
            first: between(2, geometry.first_bytes / size, if capacity < 8 { capacity } else { 8 }) as u8,
            // Rounded up: exact for offsets below 2^17 and sizes from 16 (checked by a test over all of them).
            reciprocal: (1u64 << 32).div_ceil(size as u64) as u32,
            class,
        }
    }

    /// Number of the block that starts `offset` bytes into a page; None if none does.
    #[inline]
    #[must_use]
    pub fn block_at(&self, offset: usize) -> Option<usize> {
        let block = ((offset as u64 * u64::from(self.reciprocal)) >> 32) as usize;
        (block * self.size as usize == offset && block < usize::from(self.blocks)).then_some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: Bins = Bins(Bins::POWERS.0 | 0x8421 | 0x1f << 80);

    fn geometries() -> [Geometry; 4] {
        let standard = Geometry::STANDARD;
        let (page, segment) = (2 * GRANULE, 4 << 20);
        [
            standard,
            Geometry { bins: Bins::POWERS, ..standard },
            Geometry { bins: ODD, page, segment, ..standard },
            Geometry { bins: Bins(1 << 63), page, segment, ..standard },
        ]
    }

    #[test]
    fn the_reciprocal_divides_every_offset_exactly() {
        for geometry in geometries() {
            let tables = Tables::of(&geometry);
            for shape in &tables.shapes[1..tables.count] {
                for offset in 0..geometry.page as u64 {
                    assert_eq!((offset * u64::from(shape.reciprocal)) >> 32, offset / u64::from(shape.size));
                }
            }
        }
    }

    #[test]
    fn the_cheapest_form_is_chosen() {
        let forms = geometries().map(|geometry| {
            let tables = Tables::of(&geometry);
            (tables.small_form, tables.large_form, tables.count)
        });
        assert_eq!(forms[0], (Small::Steps(4), Large::Quarters, 85));
        assert_eq!(forms[1], (Small::Log2, Large::Quarters, 28));
        assert_eq!((forms[2].0, forms[2].1), (Small::Table, Large::Table));
        assert_eq!(forms[3], (Small::Steps(10), Large::Table, 2));
    }

    #[test]
    fn quarters_waste_at_most_a_quarter() {
        let tables = Tables::of(&Geometry::STANDARD);
        for pair in tables.shapes[tables.small_count - 1..tables.count].windows(2) {
            assert!(pair[1].size * 4 <= pair[0].size * 5);
        }
        assert_eq!(tables.largest, BIN_LIMIT);
    }

    #[test]
    fn first_magazines_keep_to_the_geometry() {
        let first = |first_bytes: usize, size: usize| {
            let tables = Tables::of(&Geometry { first_bytes, ..Geometry::STANDARD });
            tables.shapes.iter().find(|shape| shape.size as usize == size).map(|shape| shape.first)
        };
        assert_eq!([128, 256, 512, 1024].map(|size| first(1 << 10, size)), [Some(8), Some(4), Some(2), Some(2)]);
        assert_eq!([512, 1024, 2048].map(|size| first(8 << 10, size)), [Some(8), Some(8), Some(4)]);
    }

    #[test]
    fn magazines_keep_to_the_geometry() {
        let mut geometry = Geometry { magazine_bytes: 16 << 10, ..Geometry::STANDARD };
        geometry.magazine[Class::C3 as usize] = 5;
        for shape in &Tables::of(&geometry).shapes[1..] {
            let most = if shape.class == Class::C3 { 5 } else { 63 };
            let (capacity, size) = (usize::from(shape.capacity), shape.size as usize);
            assert!(capacity == 2 || capacity <= most && capacity * size <= 16 << 10, "{size}");
            assert!(capacity == most || (capacity + 1) * size > 16 << 10, "{size}");
            assert!((2..=capacity).contains(&usize::from(shape.first)));
        }
    }
}

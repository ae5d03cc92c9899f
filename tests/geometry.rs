//! Front ends of unusual geometries: each serves every size and alignment, keeps contents, and gives memory back.

use hakmem::config::{Bins, Class, Classes, Config, Geometry, Knob, Words};
use std::alloc::{GlobalAlloc, Layout};
use std::collections::HashSet;
use std::thread;

const fn shaped(geometry: Geometry) -> Words {
    hakmem::Mixed::WORDS.shaped(geometry)
}

const STANDARD: Geometry = Geometry::STANDARD;
/// 16 to 1024 bytes in uneven steps, then a few.
const ODD: Bins = {
    let sizes = [16, 48, 80, 96, 128, 208, 320, 512, 528, 800, 1024, 1152, 2048, 5120, 6144, 20_480];
    let mut bins = Bins::NONE;
    let mut index = 0;
    while index < sizes.len() {
        bins = match bins.with(sizes[index]) {
            Some(bins) => bins,
            None => panic!("no possible size"),
        };
        index += 1;
    }
    bins
};
const ONE: Bins = Bins(1 << 63);
const SMALL_MAGAZINES: Geometry =
    Geometry { magazine: [2, 3, 4, 5, 6, 7, 8, 9], magazine_bytes: 4 << 10, first_bytes: 1 << 10, ..STANDARD };

hakmem::define_front!(Powers in powers = shaped(Geometry { bins: Bins::POWERS, ..STANDARD }));
hakmem::define_front!(Odd in odd = shaped(Geometry { bins: ODD, ..STANDARD }));
hakmem::define_front!(One in one = shaped(Geometry { bins: ONE, ..STANDARD }));
hakmem::define_front!(Lut in lut = shaped(STANDARD).with(Knob::FrontV3Lut));
hakmem::define_front!(Large in large = shaped(Geometry { page: 128 << 10, segment: 4 << 20, ..STANDARD }));
hakmem::define_front!(Few in few = shaped(Geometry { page: 128 << 10, segment: 1 << 20, ..STANDARD }));
hakmem::define_front!(Short in short = shaped(Geometry { segment: 512 << 10, bins: Bins::POWERS, ..STANDARD }));
hakmem::define_front!(Little in little = shaped(SMALL_MAGAZINES));
hakmem::define_front!(Prepared in prepared = shaped(Geometry { preallocated: Classes::TINY, ..STANDARD }));
hakmem::define_front!(Unprepared in unprepared = shaped(STANDARD));

/// A fixed sequence of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// A live block and the byte that fills its ends.
struct Block(*mut u8, Layout, u8);

// SAFETY: the block belongs to the value, and front ends serve every thread.
unsafe impl Send for Block {}

impl Block {
    fn new(front: &impl GlobalAlloc, layout: Layout, zeroed: bool, byte: u8) -> Self {
        // SAFETY: no layout of these tests has size 0; the block is used within its size.
        unsafe {
            let start = if zeroed { front.alloc_zeroed(layout) } else { front.alloc(layout) };
            assert!(!start.is_null() && start.addr().is_multiple_of(layout.align().max(16)), "{layout:?}");
            if zeroed {
                assert!((0..layout.size()).step_by(7).all(|index| *start.add(index) == 0), "{layout:?}");
            }
            start.write_bytes(byte, layout.size());
            Self(start, layout, byte)
        }
    }

    fn check(&self) {
        let step = (self.1.size() / 64).max(1);
        // SAFETY: the block is live.
        let same = unsafe { (0..self.1.size()).step_by(step).all(|index| *self.0.add(index) == self.2) };
        assert!(same, "{:?}", self.1);
    }

    fn resize(&mut self, front: &impl GlobalAlloc, size: usize) {
        self.check();
        // SAFETY: the block is live, and resized once.
        unsafe {
            let moved = front.realloc(self.0, self.1, size);
            assert!(!moved.is_null());
            let layout = Layout::from_size_align(size, self.1.align()).expect("a layout");
            Self(moved, Layout::from_size_align(size.min(self.1.size()), 1).expect("a layout"), self.2).check();
            moved.write_bytes(self.2, size);
            (self.0, self.1) = (moved, layout);
        }
    }

    fn free(self, front: &impl GlobalAlloc) {
        self.check();
        // SAFETY: the block is live, and freed once.
        unsafe { front.dealloc(self.0, self.1) };
    }
}

fn any_layout(numbers: &mut Numbers) -> Layout {
    let size = match numbers.below(40) {
        0 => 1 + numbers.below(3 << 20),
        1..4 => 1 + numbers.below(100 << 10),
        4..14 => 1 + numbers.below(8 << 10),
        _ => 1 + numbers.below(1100),
    };
    let align = if numbers.below(8) == 0 { 1 << numbers.below(14) } else { 1 << numbers.below(5) };
    Layout::from_size_align(size, align).expect("a layout")
}

/// Allocates, resizes and frees at random, a part of it in other threads than it came from.
fn churn<F: GlobalAlloc + Sync>(front: &F) {
    let run = |seed: u64, mut live: Vec<Block>| {
        let mut numbers = Numbers(seed);
        for step in 0..20_000 {
            let index = numbers.below(800);
            match live.get_mut(index) {
                None => live.push(Block::new(front, any_layout(&mut numbers), numbers.below(4) == 0, step as u8)),
                Some(block) if numbers.below(4) == 0 => {
                    let size = any_layout(&mut numbers).size();
                    block.resize(front, size);
                }
                Some(_) => live.swap_remove(index).free(front),
            }
        }
        live
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (1..3).map(|seed| scope.spawn(move || run(seed, Vec::new()))).collect();
        let handed: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect();
        run(9, handed).into_iter().for_each(|block| block.free(front));
    });
}

/// Every size that has a bin gets a block of its bin, aligned as its size allows, and none overlaps another.
fn serves_every_size<I: hakmem::Instance<C>, C: Config>(front: &hakmem::Front<I, C>) {
    let mut blocks = HashSet::new();
    for size in (1..=2100).chain((2100..=C::BIN_MAX + 5000).step_by(61)) {
        let block = Block::new(front, Layout::from_size_align(size, 1).expect("a layout"), false, size as u8);
        assert!(blocks.insert(block.0.addr()));
        // SAFETY: the block is live.
        let usable = unsafe { hakmem::Front::<I, C>::usable_size(block.0) };
        if size <= C::BIN_MAX {
            assert_eq!(usable, C::size_of(C::bin_of(size)), "{size}");
        } else {
            assert!(usable >= size && usable < size + C::PAGE, "{size}");
        }
        if size % 3 == 0 {
            blocks.remove(&block.0.addr());
            block.free(front);
        }
    }
}

fn works<I: hakmem::Instance<C>, C: Config>(front: &hakmem::Front<I, C>) {
    serves_every_size(front);
    churn(front);
}

#[test]
fn powers_of_two() {
    works(&Powers::new());
    // SAFETY: the block is live.
    unsafe { assert_eq!(Powers::usable_size(Powers::allocate(520)), 1024) };
}

#[test]
fn a_table_of_bins() {
    works(&Odd::new());
    // SAFETY: the blocks are live.
    unsafe {
        assert_eq!(Odd::usable_size(Odd::allocate(17)), 48);
        assert_eq!(Odd::usable_size(Odd::allocate(1025)), 1152);
        assert_eq!(Odd::usable_size(Odd::allocate(6145)), 20_480);
        assert_eq!(Odd::usable_size(Odd::allocate(20_481)), 64 << 10);
    }
}

#[test]
fn a_single_bin() {
    works(&One::new());
}

#[test]
fn bins_from_a_table_where_arithmetic_would_do() {
    works(&Lut::new());
}

#[test]
fn pages_of_128_kib_and_segments_of_other_sizes() {
    works(&Large::new());
    works(&Few::new());
    works(&Short::new());
    // A heap without freed blocks at hand. What has no bin takes whole pages, up to half a segment less a page: a huge block would come in steps of 64 KiB.
    hakmem::define_front!(Fresh in fresh = Large::WORDS);
    // SAFETY: the blocks are live.
    let usable = |block| unsafe { Fresh::usable_size(block) };
    assert_eq!(usable(Fresh::allocate(40_000)), 128 << 10);
    assert_eq!(usable(Fresh::allocate((3 << 19) + 1)), 13 * (128 << 10));
}

#[test]
fn small_magazines() {
    works(&Little::new());
}

/// Bytes of the 64 KiB around `block` that have memory.
fn resident_around(block: *mut u8) -> usize {
    let mut pages = [0u8; 16];
    let start = block.map_addr(|address| address & !0xffff);
    // SAFETY: the array has a byte for each OS page, and all of them belong to a mapped segment.
    assert_eq!(unsafe { libc::mincore(start.cast(), 64 << 10, pages.as_mut_ptr()) }, 0);
    pages.iter().filter(|&&page| page & 1 == 1).count() * 4096
}

#[test]
fn preallocated_classes_have_their_memory_before_the_first_block() {
    works(&Prepared::new());
    let fresh = |size| (resident_around(Unprepared::allocate(size)), resident_around(FreshlyPrepared::allocate(size)));
    for size in [16, 32, 48, 64] {
        let (plain, prepared) = fresh(size);
        assert!(plain < 16 << 10, "{size}: {plain} bytes without being asked for");
        assert_eq!(prepared, 64 << 10, "{size}");
    }
    // C4 is not among them.
    assert!(fresh(80).1 < 16 << 10);
}

hakmem::define_front!(FreshlyPrepared in freshly_prepared = Prepared::WORDS);

#[test]
fn words_say_what_the_geometry_is() {
    assert_eq!(Large::WORDS.geometry().segment, 4 << 20);
    assert_eq!(Odd::WORDS.geometry().bins, ODD);
    assert_eq!(Prepared::WORDS.geometry().preallocated, Classes::TINY);
    assert!(Class::ALL.iter().all(|&class| Little::WORDS.geometry().magazine[class as usize] == class as u8 + 2));
}

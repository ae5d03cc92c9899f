//! hakmem as Rust's allocator: the global one of this test binary, and two front ends side by side.

use hakmem::config::Knob;
use std::alloc::{GlobalAlloc, Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::mpsc;
use std::thread;

#[global_allocator]
static ALLOCATOR: hakmem::Mixed = hakmem::Mixed::new();

hakmem::define_front! {
    /// A second front end: freed memory stays.
    Kept in kept = hakmem::Mixed::WORDS.with(Knob::FreeKeep)
}
static KEPT: Kept = Kept::new();

/// Sizes of all regions: bins in steps of 16, larger bins, spans, huge blocks.
const SIZES: &[usize] =
    &[1, 8, 15, 16, 17, 100, 1000, 1024, 1025, 5000, 32_768, 32_769, 70_000, 900_000, 983_040, 983_041, 3 << 20];

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).expect("the test's layouts are valid")
}

/// Whether every byte is `byte`: by comparing the slice with itself one further on, which is quick in debug builds too.
fn all(bytes: &[u8], byte: u8) -> bool {
    bytes.is_empty() || (bytes[0] == byte && bytes[1..] == bytes[..bytes.len() - 1])
}

/// A live block of one front end, filled with a byte of its own.
struct Block<'a> {
    of: &'a dyn GlobalAlloc,
    start: *mut u8,
    layout: Layout,
    byte: u8,
}

// SAFETY: the block belongs to the value, and front ends serve every thread.
unsafe impl Send for Block<'_> {}

impl<'a> Block<'a> {
    fn new(of: &'a dyn GlobalAlloc, layout: Layout, byte: u8) -> Self {
        // SAFETY: no layout of these tests has size 0.
        let start = unsafe { of.alloc(layout) };
        assert!(!start.is_null(), "{layout:?}");
        assert_eq!(start.addr() % layout.align(), 0, "{layout:?}");
        assert_eq!(start.addr() % 16, 0, "{layout:?}");
        let mut this = Self { of, start, layout, byte };
        this.bytes_mut().fill(byte);
        this
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the block is live and was written when it was made.
        unsafe { from_raw_parts(self.start, self.layout.size()) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block is live, and bytes have no invalid values that could be read here: it is only written.
        unsafe { from_raw_parts_mut(self.start, self.layout.size()) }
    }

    fn verify(&self) {
        assert!(all(self.bytes(), self.byte), "{:?}", self.layout);
    }

    /// Resizes it; the part that both sizes have is kept.
    fn resize(&mut self, size: usize) {
        // SAFETY: the block is live with this layout, and `size` is neither 0 nor near the largest number.
        self.start = unsafe { self.of.realloc(self.start, self.layout, size) };
        assert!(!self.start.is_null(), "{:?} to {size}", self.layout);
        assert_eq!(self.start.addr() % self.layout.align(), 0, "{:?} to {size}", self.layout);
        let kept = self.layout.size().min(size);
        self.layout = layout(size, self.layout.align());
        // SAFETY: this much was written before.
        let kept = unsafe { from_raw_parts(self.start, kept) };
        assert!(all(kept, self.byte), "{:?}", self.layout);
        let byte = self.byte;
        self.bytes_mut().fill(byte);
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.verify();
        // SAFETY: the block is live with this layout, and gone afterwards.
        unsafe { self.of.dealloc(self.start, self.layout) };
    }
}

#[test]
fn the_global_allocator_is_hakmem() {
    let boxed = Box::new([0u8; 101]);
    let start = (&raw const *boxed).cast_mut().cast::<u8>();
    // SAFETY: the block is live. A bin of hakmem's, where libc would have said 104 or more than 112.
    assert_eq!(unsafe { hakmem::Mixed::usable_size(start) }, 112);
}

#[test]
fn collections_work() {
    let mut words: HashMap<String, Vec<usize>> = HashMap::new();
    let mut sorted = BTreeMap::new();
    for number in 0..60_000usize {
        let word = format!("{:x}", number % 7919);
        words.entry(word.clone()).or_default().push(number);
        sorted.insert(number, word.into_boxed_str());
        if number % 3 == 0 {
            sorted.remove(&(number / 2));
        }
    }
    assert_eq!(words.len(), 7919);
    for (word, numbers) in &words {
        let rest = usize::from_str_radix(word, 16).expect("a number was written");
        assert!(numbers.iter().all(|number| number % 7919 == rest));
    }
    assert!(sorted.iter().all(|(number, word)| **word == *format!("{:x}", number % 7919)));

    let mut text = String::new();
    for number in 0..200_000 {
        text.push_str(&number.to_string());
        text.push(' ');
    }
    text.shrink_to_fit();
    assert!(text.split_whitespace().enumerate().all(|(number, word)| word.parse() == Ok(number)));
}

#[test]
fn threads_hand_blocks_to_each_other() {
    let (to_main, from_threads) = mpsc::channel();
    let threads: Vec<_> = (0..6u8)
        .map(|number| {
            let to_main = to_main.clone();
            thread::spawn(move || {
                for round in 0..3000usize {
                    let size = 1 + round * 37 % 3000;
                    to_main.send((number, vec![number; size])).expect("the receiver lives");
                }
            })
        })
        .collect();
    drop(to_main);
    let mut bytes = 0;
    for (number, block) in from_threads {
        assert!(all(&block, number));
        bytes += block.len();
    }
    for thread in threads {
        thread.join().expect("the thread ends well");
    }
    assert_eq!(bytes, 6 * (0..3000usize).map(|round| 1 + round * 37 % 3000).sum::<usize>());
}

#[test]
fn over_aligned_layouts_are_honoured() {
    for align in [1, 2, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 1 << 16, 1 << 20] {
        let blocks: Vec<_> = SIZES
            .iter()
            .chain(SIZES)
            .enumerate()
            .map(|(index, &size)| Block::new(&ALLOCATOR, layout(size, align), index as u8 + 1))
            .collect();
        blocks.iter().for_each(Block::verify);
    }
    // Enough of them to fill pages, freed in two orders.
    for align in [32, 64, 256, 4096] {
        let mut blocks: Vec<_> =
            (0..2000usize).map(|index| Block::new(&ALLOCATOR, layout(index % 300 + 1, align), index as u8)).collect();
        let rest = blocks.split_off(1000);
        blocks.reverse();
        drop(blocks);
        rest.iter().for_each(Block::verify);
    }
}

#[repr(align(4096))]
struct Page([u8; 4096]);

#[test]
fn over_aligned_types_work_in_collections() {
    let mut pages: Vec<Box<Page>> = Vec::new();
    for number in 0..200 {
        pages.push(Box::new(Page([number as u8; 4096])));
    }
    for (number, page) in pages.iter().enumerate() {
        assert_eq!((&raw const **page).addr() % 4096, 0);
        assert!(page.0.iter().all(|&byte| byte == number as u8));
    }
}

#[test]
fn zeroed_blocks_are_zero_whatever_was_there() {
    for align in [1, 16, 64, 4096, 1 << 20] {
        for &size in SIZES {
            for round in 0..6 {
                let layout = layout(size, align);
                // SAFETY: the size is not 0; the block is live until it is freed with its layout.
                unsafe {
                    let start = black_box(alloc_zeroed(layout));
                    assert!(!start.is_null() && start.addr().is_multiple_of(align), "{layout:?}");
                    assert!(all(from_raw_parts(start, size), 0), "{layout:?} round {round}");
                    start.write_bytes(0xAA, size);
                    dealloc(start, layout);
                }
            }
        }
    }
    // Several at a time, after as many dirty ones.
    for &size in SIZES {
        let dirty: Vec<_> = (0..40).map(|_| Block::new(&ALLOCATOR, layout(size, 8), 0xAA)).collect();
        drop(dirty);
        let zeroed: Vec<Vec<u8>> = (0..40).map(|_| vec![0; size]).collect();
        assert!(zeroed.iter().all(|bytes| all(bytes, 0)), "{size}");
    }
}

#[test]
fn realloc_keeps_contents_and_alignment() {
    for align in [1, 16, 32, 256, 4096, 1 << 20] {
        let mut block = Block::new(&ALLOCATOR, layout(1, align), 0x5A);
        let neighbour = Block::new(&ALLOCATOR, layout(1, align), 0xA5);
        for &size in SIZES.iter().chain(SIZES.iter().rev()) {
            block.resize(size);
        }
        for step in 1..400 {
            block.resize(step * 7919 % 100_000 + 1);
        }
        for step in 1..60 {
            block.resize(step * 7_919_000 % 5_000_000 + 1);
        }
        neighbour.verify();
    }
}

#[test]
fn deallocation_by_layout_finds_the_right_bin() {
    // Each size is freed by its layout and allocated again beside its neighbours: a block in a wrong bin would overlap.
    let mut old: Vec<Block<'_>> = Vec::new();
    for align in [1, 16, 64, 1024] {
        for size in (1..3000).chain((3000..40_000).step_by(97)) {
            let new = Block::new(&ALLOCATOR, layout(size, align), size as u8);
            if old.len() == 500 {
                old.swap_remove(size * 31 % 500);
            }
            old.push(new);
        }
    }
}

#[test]
fn refusals_are_null_and_leave_the_block() {
    let vast = layout(isize::MAX as usize - 4095, 1);
    let wide = layout(isize::MAX as usize - (1 << 20), 1 << 20);
    let block = Block::new(&ALLOCATOR, layout(1000, 8), 7);
    // SAFETY: sizes are not 0, the block is live, and blocks that were refused are not used.
    unsafe {
        for layout in [vast, wide] {
            // Opaque, for an allocation without a use may be optimised away, and then succeeds.
            assert!(black_box(alloc(layout)).is_null());
            assert!(black_box(alloc_zeroed(layout)).is_null());
        }
        assert!(realloc(block.start, block.layout, vast.size()).is_null());
    }
    block.verify();
    assert!(Vec::<u8>::new().try_reserve(isize::MAX as usize).is_err());
}

#[test]
fn two_front_ends_work_side_by_side() {
    let fronts: [&(dyn GlobalAlloc + Sync); 2] = [&ALLOCATOR, &KEPT];
    let work = |seed: usize| {
        let mut blocks: Vec<Block<'_>> = Vec::new();
        for step in 0..6000usize {
            let size = if step % 200 == 0 { SIZES[step / 200 % SIZES.len()] } else { (step + seed) * 131 % 2000 + 1 };
            let front = fronts[step % 2];
            blocks.push(Block::new(front, layout(size, 1 << (step % 7)), (step + seed) as u8));
            if blocks.len() > 300 {
                blocks.swap_remove((step * 17 + seed) % 300);
            }
        }
        blocks
    };
    let threads = 4;
    let blocks: Vec<Vec<Block<'_>>> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|seed| scope.spawn(move || work(seed))).collect();
        handles.into_iter().map(|handle| handle.join().expect("the thread ends well")).collect()
    });
    // What ended threads allocated is live, and freed here.
    let mut ranges: Vec<_> =
        blocks.iter().flatten().map(|block| (block.start.addr(), block.start.addr() + block.layout.size())).collect();
    blocks.iter().flatten().for_each(Block::verify);
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
}

#[test]
fn functions_of_a_front_end_work_without_the_trait() {
    for &size in SIZES {
        let block = Kept::allocate(size);
        let zeroed = Kept::allocate_zeroed(size);
        let aligned = Kept::allocate_aligned(size, 512);
        assert!(!block.is_null() && !zeroed.is_null() && aligned.addr().is_multiple_of(512));
        // SAFETY: all three are live until they are freed, and hold `size` bytes.
        unsafe {
            assert!(Kept::usable_size(block) >= size);
            assert!(all(from_raw_parts(zeroed, size), 0));
            block.write_bytes(3, size);
            let moved = Kept::reallocate(block, size * 2);
            assert!(all(from_raw_parts(moved, size), 3));
            Kept::deallocate(moved);
            Kept::deallocate(zeroed);
            Kept::deallocate(aligned);
        }
    }
    // SAFETY: null is welcome.
    unsafe {
        Kept::deallocate(std::ptr::null_mut());
        assert_eq!(Kept::usable_size(std::ptr::null_mut()), 0);
    }
}

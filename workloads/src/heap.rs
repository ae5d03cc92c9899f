//! What a thread of a workload allocates with: blocks that are written as they are made, and a count of what was done.

use std::alloc::{GlobalAlloc, Layout, handle_alloc_error};
use std::ptr::NonNull;

/// Distance of the bytes that a growing block writes: an OS page, so that each page gets its memory.
const OS_PAGE: usize = 4096;

/// A live block. It is made by [`Heap::allocate`] and ends in [`Heap::free`], of the same allocator; what is dropped
/// instead is leaked.
pub(crate) struct Block {
    /// Its first byte.
    start: NonNull<u8>,
    /// Its size in bytes, as requested; at least 1.
    size: u32,
    /// What its first and its last byte are.
    mark: u8,
}

// SAFETY: a block belongs to the value alone, and the allocator lets every thread free every block.
unsafe impl Send for Block {}

impl Block {
    /// So many places for blocks, with nothing in them.
    pub fn places(count: usize) -> Vec<Option<Self>> {
        (0..count).map(|_| None).collect()
    }

    /// The size that was requested.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// What the block was allocated with. Alignment 1 makes `System` call `malloc` whatever the size.
    #[inline(always)]
    fn layout(&self) -> Layout {
        layout(self.size)
    }
}

/// The layout of a block of `size` bytes.
#[inline(always)]
fn layout(size: u32) -> Layout {
    Layout::from_size_align(size as usize, 1).expect("32 bits are never too many")
}

/// An allocator as one thread uses it, and what the thread has done with it.
pub(crate) struct Heap<'a, A> {
    /// Where the blocks come from.
    allocator: &'a A,
    /// Blocks allocated. Depends on the thread alone, unlike the frees, whose order other threads have a part in.
    allocated: u64,
    /// Blocks freed and resized.
    others: u64,
    /// Of the sizes, in the order of the requests.
    checksum: u64,
    /// Looks at a block that was not found as it was left.
    damaged: u64,
}

/// What a thread has done.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    /// Blocks allocated, freed and resized.
    pub operations: u64,
    /// Of the sizes requested.
    pub checksum: u64,
    /// Looks at a block that was not found as it was left.
    pub damaged: u64,
}

impl<'a, A: GlobalAlloc> Heap<'a, A> {
    /// Nothing done so far.
    pub fn new(allocator: &'a A) -> Self {
        Self { allocator, allocated: 0, others: 0, checksum: 0, damaged: 0 }
    }

    /// What has been done so far.
    pub fn tally(&self) -> Tally {
        Tally { operations: self.allocated + self.others, checksum: self.checksum, damaged: self.damaged }
    }

    /// A block of `size` bytes, at least 1, whose first and last byte are written.
    #[inline(always)]
    pub fn allocate(&mut self, size: u32) -> Block {
        debug_assert!(size > 0);
        self.allocated += 1;
        self.request(size);
        // Neighbours in time have different marks, so that blocks that overlap are noticed.
        let mark = self.allocated as u8;
        // SAFETY: the size is not 0.
        let Some(start) = NonNull::new(unsafe { self.allocator.alloc(layout(size)) }) else {
            handle_alloc_error(layout(size))
        };
        // SAFETY: both bytes are in the block.
        unsafe {
            start.write(mark);
            start.add(size as usize - 1).write(mark);
        }
        Block { start, size, mark }
    }

    /// A block of `size` bytes, at least 1, that is written throughout.
    #[inline(always)]
    pub fn allocate_filled(&mut self, size: u32) -> Block {
        let block = self.allocate(size);
        // SAFETY: so many bytes does the block have.
        unsafe { block.start.write_bytes(block.mark, size as usize) };
        block
    }

    /// Frees the block unread.
    #[inline(always)]
    pub fn free(&mut self, block: Block) {
        self.others += 1;
        // SAFETY: the block is live, since the value ends here, and came from this allocator with this layout.
        unsafe { self.allocator.dealloc(block.start.as_ptr(), block.layout()) };
    }

    /// Frees the block after a look at its contents.
    #[inline(always)]
    pub fn check_and_free(&mut self, block: Block) {
        self.check(&block);
        self.free(block);
    }

    /// Looks at the first and the last byte.
    #[inline(always)]
    pub fn check(&mut self, block: &Block) {
        // SAFETY: the block is live, and both bytes have been written.
        let (first, last) = unsafe { (block.start.read(), block.start.add(block.size as usize - 1).read()) };
        self.damaged += u64::from(first != block.mark || last != block.mark);
    }

    /// Gives the block `size` bytes, more than it has, after a look at its contents, and writes to each OS page that is
    /// new, and to the last byte.
    #[inline(always)]
    pub fn grow(&mut self, block: &mut Block, size: u32) {
        debug_assert!(size > block.size);
        self.others += 1;
        self.request(size);
        let (start, old) = (block.start.as_ptr(), block.size);
        // SAFETY: the block is live, came from this allocator with this layout, and its old place is forgotten.
        let Some(start) = NonNull::new(unsafe { self.allocator.realloc(start, block.layout(), size as usize) }) else {
            handle_alloc_error(layout(size))
        };
        block.start = start;
        // Before the new bytes are written: what was there must have come along.
        self.check(block);
        block.size = size;
        // SAFETY: every offset is below the new size.
        unsafe {
            for offset in (old as usize..size as usize).step_by(OS_PAGE) {
                start.add(offset).write(block.mark);
            }
            start.add(size as usize - 1).write(block.mark);
        }
    }

    /// Takes the size of a request into the checksum.
    #[inline(always)]
    fn request(&mut self, size: u32) {
        self.checksum = self.checksum.wrapping_mul(31).wrapping_add(u64::from(size));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::alloc::System;
    use std::ptr::null_mut;

    /// An allocator that hands out the same memory again and again. For a single thread.
    pub(crate) struct Same(*mut u8);

    impl Same {
        /// With memory for blocks of up to 64 bytes, which stays.
        pub fn new() -> Self {
            Self(Box::leak(Box::new([0; 64])).as_mut_ptr())
        }
    }

    // SAFETY: its one test with `together` has one thread.
    unsafe impl Sync for Same {}

    // SAFETY: the memory is there; that blocks overlap is what the tests are about.
    unsafe impl GlobalAlloc for Same {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if layout.size() <= 64 { self.0 } else { null_mut() }
        }

        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
    }

    /// The byte at this offset.
    fn byte(block: &Block, offset: usize) -> u8 {
        assert!(offset < block.size as usize);
        // SAFETY: the byte is in the block, and the tests ask for bytes that have been written.
        unsafe { block.start.add(offset).read() }
    }

    #[test]
    fn blocks_that_overlap_are_noticed() {
        let same = Same::new();
        let mut heap = Heap::new(&same);
        let (first, second) = (heap.allocate(50), heap.allocate(50));
        heap.check_and_free(second);
        assert_eq!(heap.tally().damaged, 0);
        heap.check_and_free(first);
        assert_eq!(heap.tally().damaged, 1);
    }

    #[test]
    fn a_filled_block_is_written_throughout() {
        let mut heap = Heap::new(&System);
        let block = heap.allocate_filled(64);
        assert!((0..64).all(|offset| byte(&block, offset) == block.mark));
        heap.free(block);
    }

    #[test]
    fn damage_to_either_end_is_noticed() {
        let mut heap = Heap::new(&System);
        for offset in [0, 99] {
            let (intact, damaged) = (heap.allocate(100), heap.allocate(100));
            // SAFETY: the byte is in the block.
            unsafe { damaged.start.add(offset).write(0) };
            heap.check_and_free(intact);
            heap.check_and_free(damaged);
        }
        assert_eq!((heap.tally().damaged, heap.tally().operations), (2, 8));
    }

    #[test]
    fn growth_keeps_the_ends_and_looks_at_them() {
        let mut heap = Heap::new(&System);
        let mut block = heap.allocate(16);
        heap.grow(&mut block, 100_000);
        assert!((16..100_000).step_by(OS_PAGE).all(|offset| byte(&block, offset) == block.mark));
        heap.grow(&mut block, 200_000);
        assert_eq!((heap.tally().damaged, block.size()), (0, 200_000));
        // SAFETY: the byte is in the block.
        unsafe { block.start.add(199_999).write(0) };
        heap.grow(&mut block, 200_001);
        heap.check_and_free(block);
        assert_eq!(heap.tally().damaged, 1);
    }

    #[test]
    fn the_checksum_depends_on_the_order_of_the_sizes() {
        let sum = |sizes: [u32; 2]| {
            let mut heap = Heap::new(&System);
            sizes.map(|size| heap.allocate(size)).into_iter().for_each(|block| heap.free(block));
            heap.tally().checksum
        };
        assert_ne!(sum([1, 2]), sum([2, 1]));
    }
}

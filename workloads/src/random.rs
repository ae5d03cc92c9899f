//! A working set of slots: each step picks one at random, frees what is in it, or fills it if it is empty.
//!
//! As hakmem's `bench_random_mixed` and, with a working set for each thread, its `bench_mid_large_mt`. Like these,
//! the steps write to blocks and do not read them; the blocks that are left at the end are looked at.

use crate::Report;
use crate::heap::{Block, Heap};
use crate::numbers::{Numbers, Sizes};
use crate::team::{alone, together};
use std::alloc::GlobalAlloc;

/// Slots of each thread of mid-large-mt.
const MID_LARGE_SLOTS: usize = 256;
/// 15 of 16 blocks of mid-large-mt.
const MID: Sizes = Sizes { low: 1 << 10, high: 32 << 10 };
/// The others.
const LARGE: Sizes = Sizes { low: (32 << 10) + 1, high: 512 << 10 };

/// `steps` steps with blocks of `sizes` in `slots` slots.
pub(crate) fn mixed<A: GlobalAlloc>(allocator: &A, sizes: Sizes, slots: usize, steps: u64) -> Report {
    let mut slots = Block::places(slots);
    alone(allocator, |heap| {
        let mut numbers = Numbers::of_thread(0);
        run(heap, &mut slots, &mut numbers, steps, |numbers| numbers.size(sizes));
    })
}

/// `steps` steps in each of `threads` threads, with blocks of 1 KiB to 32 KiB and one of 16 of up to 512 KiB.
pub(crate) fn mid_large<A: GlobalAlloc + Sync>(allocator: &A, threads: usize, steps: u64) -> Report {
    let mut seats: Vec<_> =
        (0..threads).map(|index| (Numbers::of_thread(index), Block::places(MID_LARGE_SLOTS))).collect();
    together(allocator, &mut seats, |heap, (numbers, slots)| {
        run(heap, slots, numbers, steps, |numbers| {
            let sizes = if numbers.below(16) == 0 { LARGE } else { MID };
            numbers.size(sizes)
        });
    })
}

/// The steps, and the end of what is left.
#[inline(always)]
fn run<A: GlobalAlloc>(
    heap: &mut Heap<'_, A>,
    slots: &mut [Option<Block>],
    numbers: &mut Numbers,
    steps: u64,
    size: impl Fn(&mut Numbers) -> u32,
) {
    for _ in 0..steps {
        let slot = &mut slots[numbers.below(slots.len())];
        match slot.take() {
            Some(block) => heap.free(block),
            None => *slot = Some(heap.allocate(size(numbers))),
        }
    }
    slots.iter_mut().filter_map(Option::take).for_each(|block| heap.check_and_free(block));
}

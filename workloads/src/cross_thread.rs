//! Threads that free each other's blocks: each has a working set, and a share of what it is done with goes to the next
//! thread, which frees it. As `benches/workloads/cross_thread.c`.

use crate::Report;
use crate::heap::Block;
use crate::numbers::{Numbers, Sizes};
use crate::ring::{Giver, Ring, Taker};
use crate::team::together;
use crate::wait::Meeting;
use std::alloc::GlobalAlloc;

/// Blocks that wait for a thread at most.
const RING: usize = 4096;
/// Slots of each thread.
const SLOTS: usize = 400;
/// Sizes of the blocks.
const SIZES: Sizes = Sizes { low: 16, high: 1024 };

/// `steps` steps in each of `threads` threads, of whose blocks `remote_percent` are freed by the next one.
///
/// Where the next thread is late and has as many blocks waiting as the ring holds, the thread frees the block itself.
pub(crate) fn cross_thread<A: GlobalAlloc + Sync>(
    allocator: &A,
    threads: usize,
    remote_percent: usize,
    steps: u64,
) -> Report {
    let mut rings: Vec<_> = (0..threads).map(|_| Ring::new(RING)).collect();
    let (mut givers, takers): (Vec<Giver<_>>, Vec<Taker<_>>) = rings.iter_mut().map(Ring::ends).unzip();
    givers.rotate_left(1);
    let seats = givers.into_iter().zip(takers).enumerate();
    let mut seats: Vec<_> = seats.map(|(index, ends)| (index, ends, Block::places(SLOTS))).collect();
    let all_given = Meeting::new(threads);
    together(allocator, &mut seats, |heap, (index, (next, own), slots)| {
        let mut numbers = Numbers::of_thread(*index);
        for _ in 0..steps {
            while let Some(block) = own.take() {
                heap.free(block);
            }
            let slot = &mut slots[numbers.below(SLOTS)];
            match slot.take() {
                Some(block) if numbers.below(100) < remote_percent => {
                    if let Err(block) = next.give(block) {
                        heap.free(block);
                    }
                }
                Some(block) => heap.free(block),
                None => *slot = Some(heap.allocate(numbers.size(SIZES))),
            }
        }
        slots.iter_mut().filter_map(Option::take).for_each(|block| heap.check_and_free(block));
        all_given.wait();
        while let Some(block) = own.take() {
            heap.check_and_free(block);
        }
    })
}

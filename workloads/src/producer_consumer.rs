//! One thread allocates, the other frees: batches of blocks go through a queue that is bounded, and the memory with it.

use crate::Report;
use crate::heap::Block;
use crate::numbers::{Numbers, Sizes};
use crate::ring::{Giver, Ring, Taker};
use crate::steps::for_each_group;
use crate::team::together;
use crate::wait::until;
use std::alloc::GlobalAlloc;

/// Blocks of a batch.
const BATCH: usize = 1000;
/// Batches under way, full or empty.
const BATCHES: usize = 8;
/// Sizes of the blocks.
const SIZES: Sizes = Sizes { low: 16, high: 256 };

/// What a thread does.
enum Role<'a> {
    /// Fills empty batches with blocks.
    Producer(Taker<'a, Vec<Block>>, Giver<'a, Vec<Block>>),
    /// Frees the blocks of full batches.
    Consumer(Taker<'a, Vec<Block>>, Giver<'a, Vec<Block>>),
}

/// `steps` blocks pass from one thread to the other.
pub(crate) fn producer_consumer<A: GlobalAlloc + Sync>(allocator: &A, steps: u64) -> Report {
    // The arrays of the batches go round, and their number is what bounds the queue.
    let (mut full, mut empty) = (Ring::new(BATCHES), Ring::new(BATCHES));
    let ((give_full, take_full), (mut give_empty, take_empty)) = (full.ends(), empty.ends());
    for _ in 0..BATCHES {
        pass(&mut give_empty, Vec::with_capacity(BATCH));
    }
    let mut seats = [Role::Producer(take_empty, give_full), Role::Consumer(take_full, give_empty)];
    together(allocator, &mut seats, |heap, role| match role {
        Role::Producer(empty, full) => {
            let mut numbers = Numbers::of_thread(0);
            for_each_group(steps, BATCH, |count| {
                let mut batch = until(|| empty.take());
                batch.extend((0..count).map(|_| heap.allocate(numbers.size(SIZES))));
                pass(full, batch);
            });
        }
        Role::Consumer(full, empty) => for_each_group(steps, BATCH, |_| {
            let mut batch = until(|| full.take());
            batch.drain(..).for_each(|block| heap.check_and_free(block));
            pass(empty, batch);
        }),
    })
}

/// Gives the batch to the other thread.
fn pass(giver: &mut Giver<'_, Vec<Block>>, batch: Vec<Block>) {
    assert!(giver.give(batch).is_ok(), "a ring has places for all batches");
}

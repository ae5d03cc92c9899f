//! Threads that inherit each other's blocks, after the benchmark of Larson and Krishnan: a server whose threads come
//! and go, and whose sessions outlive them.
//!
//! There, a thread ends and a new one takes over its blocks. Here the threads stay, since the making of threads is not
//! what is measured, and each round they pass their sets of blocks on.

use crate::Report;
use crate::heap::Block;
use crate::numbers::{Numbers, Sizes};
use crate::steps::for_each_group;
use crate::team::together;
use crate::wait::Meeting;
use std::alloc::GlobalAlloc;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Blocks of a set, and steps of a round: some two thirds of the blocks are replaced before the set is passed on.
const SET: usize = 5000;
/// Sizes of the blocks.
const SIZES: Sizes = Sizes { low: 10, high: 500 };

/// `steps` blocks replaced in each of `threads` threads.
pub(crate) fn larson<A: GlobalAlloc + Sync>(allocator: &A, threads: usize, steps: u64) -> Report {
    let sets: Vec<_> = (0..threads).map(|_| Mutex::new(Block::places(SET))).collect();
    let mut seats: Vec<_> = (0..threads).collect();
    let round_done = Meeting::new(threads);
    together(allocator, &mut seats, |heap, &mut index| {
        let mut numbers = Numbers::of_thread(index);
        lock(&sets[index]).fill_with(|| Some(heap.allocate(numbers.size(SIZES))));
        let mut set = index;
        for_each_group(steps, SET, |count| {
            let mut blocks = lock(&sets[set]);
            for _ in 0..count {
                let block = &mut blocks[numbers.below(SET)];
                block.take().into_iter().for_each(|block| heap.free(block));
                *block = Some(heap.allocate(numbers.size(SIZES)));
            }
            drop(blocks);
            set = (set + 1) % threads;
            round_done.wait();
        });
        lock(&sets[set]).iter_mut().filter_map(Option::take).for_each(|block| heap.check_and_free(block));
    })
}

/// The set is free: each round, each set is one thread's.
fn lock<T>(set: &Mutex<T>) -> MutexGuard<'_, T> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

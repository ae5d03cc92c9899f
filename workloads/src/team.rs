//! Runs the work of a workload in one thread or in several, and takes the time.

use crate::Report;
use crate::heap::{Heap, Tally};
use crate::wait::Meeting;
use std::alloc::GlobalAlloc;
use std::io::Write;
use std::time::Instant;
use std::{io, process, thread};

/// Ends the process if the thread panics while it is there: the other threads would wait for this one for ever.
struct NoPanic;

impl Drop for NoPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            // Not by `eprintln`, which a test would keep to itself.
            let _ =
                io::stderr().write_all(b"a thread of a workload panicked (cargo test -- --nocapture shows where)\n");
            process::abort();
        }
    }
}

/// Runs `work` in the calling thread: the C library treats a program of one thread differently.
pub(crate) fn alone<A: GlobalAlloc>(allocator: &A, work: impl FnOnce(&mut Heap<'_, A>)) -> Report {
    let mut heap = Heap::new(allocator);
    let start = Instant::now();
    work(&mut heap);
    let time = start.elapsed();
    let Tally { operations, checksum, damaged } = heap.tally();
    Report { operations, checksum, damaged, time }
}

/// Runs `work` at once in a thread for each seat. A seat is what a thread works with beside its [`Heap`].
///
/// The time is that between the first thread's start and the last one's end, without the making of the threads. Seats
/// outlive it: what they hold is not freed within it.
pub(crate) fn together<A, S>(allocator: &A, seats: &mut [S], work: impl Fn(&mut Heap<'_, A>, &mut S) + Sync) -> Report
where
    A: GlobalAlloc + Sync,
    S: Send,
{
    let ready = Meeting::new(seats.len());
    let in_thread = |seat: &mut S| {
        let mut heap = Heap::new(allocator);
        let _guard = NoPanic;
        ready.wait();
        let start = Instant::now();
        work(&mut heap, seat);
        (start, Instant::now(), heap.tally())
    };
    let results: Vec<_> = thread::scope(|scope| {
        let in_thread = &in_thread;
        let threads: Vec<_> = seats.iter_mut().map(|seat| scope.spawn(move || in_thread(seat))).collect();
        threads.into_iter().map(|thread| thread.join().expect("workloads do not panic")).collect()
    });
    let start = results.iter().map(|result| result.0).min();
    let end = results.iter().map(|result| result.1).max();
    let tallies = || results.iter().map(|result| result.2);
    Report {
        operations: tallies().map(|tally| tally.operations).sum(),
        // Threads have no order.
        checksum: tallies().fold(0, |sum, tally| sum.wrapping_add(tally.checksum)),
        damaged: tallies().map(|tally| tally.damaged).sum(),
        time: start.zip(end).map(|(start, end)| end - start).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::tests::Same;
    use std::alloc::System;
    use std::time::Duration;

    #[test]
    fn a_report_is_the_sum_of_the_threads() {
        let work = |sizes: &mut [Vec<u32>]| {
            together(&System, sizes, |heap, sizes: &mut Vec<u32>| {
                sizes.iter().for_each(|&size| {
                    let block = heap.allocate(size);
                    heap.free(block);
                });
                thread::sleep(Duration::from_millis(2));
            })
        };
        let report = work(&mut [vec![1, 2], vec![3], vec![4, 5, 6]]);
        assert_eq!((report.operations, report.damaged), (12, 0));
        assert!(report.time >= Duration::from_millis(2));
        // Threads have no order, requests have.
        assert_eq!(work(&mut [vec![3], vec![4, 5, 6], vec![1, 2]]).checksum, report.checksum);
        assert_ne!(work(&mut [vec![2, 1], vec![3], vec![4, 5, 6]]).checksum, report.checksum);
    }

    #[test]
    fn a_report_tells_of_damage() {
        let damage = |heap: &mut Heap<'_, Same>| {
            let (first, _second) = (heap.allocate(8), heap.allocate(8));
            heap.check_and_free(first);
        };
        assert_eq!(alone(&Same::new(), damage).damaged, 1);
        assert_eq!(together(&Same::new(), &mut [()], |heap, ()| damage(heap)).damaged, 1);
    }
}

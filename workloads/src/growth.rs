//! Vectors that grow from 16 bytes to 1 MiB, several at a time, some by doubling and some by small steps.

use crate::Report;
use crate::heap::{Block, Heap};
use crate::numbers::Numbers;
use crate::team::alone;
use std::alloc::GlobalAlloc;

/// Vectors that grow at a time. Those with an even number double; the others grow by a sixteenth.
const VECTORS: usize = 8;
/// What a vector starts with; also the smallest step.
const FIRST: u32 = 16;
/// Where it ends.
const LAST: u32 = 1 << 20;

/// `steps` steps, each of which grows a vector; one that is complete is freed, and the next one takes its place.
pub(crate) fn growth<A: GlobalAlloc>(allocator: &A, steps: u64) -> Report {
    let mut vectors = Block::places(VECTORS);
    alone(allocator, |heap: &mut Heap<'_, A>| {
        let mut numbers = Numbers::of_thread(0);
        for _ in 0..steps {
            let index = numbers.below(VECTORS);
            let place = &mut vectors[index];
            match place {
                None => *place = Some(heap.allocate(FIRST)),
                Some(vector) if vector.size() < LAST => {
                    let size = vector.size();
                    let step = if index.is_multiple_of(2) { size } else { (size / 16).max(FIRST) };
                    heap.grow(vector, (size + step).min(LAST));
                }
                Some(_) => place.take().into_iter().for_each(|vector| heap.check_and_free(vector)),
            }
        }
        vectors.iter_mut().filter_map(Option::take).for_each(|vector| heap.check_and_free(vector));
    })
}

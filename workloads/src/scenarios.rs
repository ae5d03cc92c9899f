//! The three scenarios of hakmem's Phase 6.12: blocks that die young, in order, or late, and are looked at then.

use crate::Report;
use crate::heap::{Block, Heap};
use crate::numbers::{Numbers, Sizes};
use crate::steps::for_each_group;
use crate::team::alone;
use std::alloc::GlobalAlloc;

/// Pieces that a string is made of.
const PIECES: usize = 16;
/// Sizes of the pieces.
const PIECE: Sizes = Sizes { low: 8, high: 64 };
/// Tokens that are under way at a time.
const TOKENS: usize = 256;
/// Sizes of the tokens.
const TOKEN: Sizes = Sizes { low: 16, high: 128 };
/// Objects that live together.
const OBJECTS: usize = 20_000;
/// Sizes of the objects.
const OBJECT: Sizes = Sizes { low: 32, high: 256 };

/// `steps` pieces of strings: allocated and filled, 16 to a string, then freed, the last one first.
pub(crate) fn string_builder<A: GlobalAlloc>(allocator: &A, steps: u64) -> Report {
    let mut pieces = Vec::with_capacity(PIECES);
    alone(allocator, |heap| {
        let mut numbers = Numbers::of_thread(0);
        for_each_group(steps, PIECES, |count| {
            pieces.extend((0..count).map(|_| heap.allocate_filled(numbers.size(PIECE))));
            while let Some(piece) = pieces.pop() {
                heap.check_and_free(piece);
            }
        });
    })
}

/// `steps` tokens: each is filled, waits until 256 others have come, and goes, the first one first.
pub(crate) fn token_stream<A: GlobalAlloc>(allocator: &A, steps: u64) -> Report {
    let mut stream = Block::places(TOKENS);
    alone(allocator, |heap| {
        let mut numbers = Numbers::of_thread(0);
        let mut end = 0;
        for _ in 0..steps {
            replace(heap, &mut stream[end], &mut numbers);
            end = (end + 1) % TOKENS;
        }
        for place in (end..TOKENS).chain(0..end) {
            stream[place].take().into_iter().for_each(|token| heap.check_and_free(token));
        }
    })
}

/// Frees the token in `place`, if there is one, and puts a new one there.
#[inline(always)]
fn replace<A: GlobalAlloc>(heap: &mut Heap<'_, A>, place: &mut Option<Block>, numbers: &mut Numbers) {
    if let Some(token) = place.take() {
        heap.check_and_free(token);
    }
    *place = Some(heap.allocate_filled(numbers.size(TOKEN)));
}

/// `steps` objects: 20,000 come to be, all are visited, and all go, in the order in which they came.
pub(crate) fn small_objects<A: GlobalAlloc>(allocator: &A, steps: u64) -> Report {
    let mut objects = Vec::with_capacity(OBJECTS);
    alone(allocator, |heap| {
        let mut numbers = Numbers::of_thread(0);
        for_each_group(steps, OBJECTS, |count| {
            objects.extend((0..count).map(|_| heap.allocate(numbers.size(OBJECT))));
            objects.iter().for_each(|object| heap.check(object));
            objects.drain(..).for_each(|object| heap.check_and_free(object));
        });
    })
}

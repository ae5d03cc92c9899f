//! The process that runs under callgrind: does one measurement and nothing else.
//!
//! `subject PRESET OPERATION COLUMN`, the column a number. Callgrind counts while one of the functions `measured_*`
//! runs. What has to happen before goes through the preset's functions themselves, inlined, and is not counted.

use hakmem::__private::CAbi;
use hakmem::config::Config;
use hakmem::{Front, Instance};
use instructions::operation::{BANDS, BLOCKS, First, HITS, Measurement, Operation, STEPS, TRACES, Trace};
use std::alloc::{GlobalAlloc, Layout};
use std::env;
use std::ffi::c_void;
use std::hint::black_box;
use std::process::exit;
use std::ptr::null_mut;
use std::thread;

/// A block, or null.
type Block = *mut c_void;

/// Rounds of allocating and freeing before a hit is measured: more than any cache takes to grow to its full size.
const ROUNDS: usize = 100;
/// The same for more blocks than a cache holds.
const BULK_ROUNDS: usize = 5;

/// A preset's calls, each a function by itself as C's are; sizes of sized frees are constants, one a band.
#[derive(Clone, Copy)]
struct Calls {
    malloc: unsafe extern "C" fn(usize) -> Block,
    free: unsafe extern "C" fn(Block),
    sized_free: [unsafe extern "C" fn(Block); BANDS.len()],
    calloc: unsafe extern "C" fn(usize, usize) -> Block,
    realloc: unsafe extern "C" fn(Block, usize) -> Block,
    aligned_alloc: unsafe extern "C" fn(usize, usize) -> Block,
}

// No function below is inlined, or it would have no name. Their bodies are those of `export_malloc!`.

#[inline(never)]
unsafe extern "C" fn measured_malloc<I: Instance<C>, C: Config>(size: usize) -> Block {
    Front::<I, C>::allocate(size).cast()
}

#[inline(never)]
unsafe extern "C" fn measured_free<I: Instance<C>, C: Config>(block: Block) {
    // SAFETY: callers give up a live block of this front end.
    unsafe { Front::<I, C>::deallocate(block.cast()) }
}

#[inline(never)]
unsafe extern "C" fn measured_sized_free<I: Instance<C>, C: Config, const SIZE: usize>(block: Block) {
    // SAFETY: callers give up a live block of this front end that was allocated with this size.
    unsafe { Front::<I, C>::new().dealloc(block.cast(), Layout::from_size_align_unchecked(SIZE, 1)) }
}

#[inline(never)]
unsafe extern "C" fn measured_calloc<I: Instance<C>, C: Config>(count: usize, size: usize) -> Block {
    <Front<I, C> as CAbi>::calloc(count, size)
}

#[inline(never)]
unsafe extern "C" fn measured_realloc<I: Instance<C>, C: Config>(block: Block, size: usize) -> Block {
    // SAFETY: callers pass a live block of this front end.
    unsafe { <Front<I, C> as CAbi>::realloc(block, size) }
}

#[inline(never)]
unsafe extern "C" fn measured_aligned_alloc<I: Instance<C>, C: Config>(align: usize, size: usize) -> Block {
    <Front<I, C> as CAbi>::memalign(align, size)
}

/// libc's function, for this program: time stands still. How much memory hakmem gives back to the OS depends on how
/// long ago it did so before, and callgrind takes longer on a busy machine. The compiler may not know the time.
#[inline(never)]
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(_clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int {
    // SAFETY: callers pass a place for the time.
    unsafe { time.write(black_box(libc::timespec { tv_sec: 1_000_000, tv_nsec: 0 })) };
    0
}

/// A preset, as far as it is measured.
trait Subject {
    /// Its calls; each counts.
    const CALLS: Calls;

    /// `malloc` that does not count.
    fn allocate(size: usize) -> Block;

    /// `aligned_alloc` that does not count.
    fn allocate_aligned(align: usize, size: usize) -> Block;

    /// `free` that does not count.
    ///
    /// # Safety
    /// `block` is a live block of this preset, and given up.
    unsafe fn deallocate(block: Block);
}

impl<I: Instance<C>, C: Config> Subject for Front<I, C> {
    const CALLS: Calls = Calls {
        malloc: measured_malloc::<I, C>,
        free: measured_free::<I, C>,
        sized_free: [
            measured_sized_free::<I, C, { BANDS[0].size }>,
            measured_sized_free::<I, C, { BANDS[1].size }>,
            measured_sized_free::<I, C, { BANDS[2].size }>,
            measured_sized_free::<I, C, { BANDS[3].size }>,
            measured_sized_free::<I, C, { BANDS[4].size }>,
            measured_sized_free::<I, C, { BANDS[5].size }>,
            measured_sized_free::<I, C, { BANDS[6].size }>,
            measured_sized_free::<I, C, { BANDS[7].size }>,
            measured_sized_free::<I, C, { BANDS[8].size }>,
            measured_sized_free::<I, C, { BANDS[9].size }>,
        ],
        calloc: measured_calloc::<I, C>,
        realloc: measured_realloc::<I, C>,
        aligned_alloc: measured_aligned_alloc::<I, C>,
    };

    fn allocate(size: usize) -> Block {
        Self::allocate(size).cast()
    }

    fn allocate_aligned(align: usize, size: usize) -> Block {
        Self::allocate_aligned(size, align).cast()
    }

    unsafe fn deallocate(block: Block) {
        // SAFETY: by the caller's promise.
        unsafe { Self::deallocate(block.cast()) }
    }
}

/// Does a measurement of a preset.
type Run = fn(Measurement);

/// Every preset of the library, by name.
const SUBJECTS: &[(&str, Run)] = include!(concat!(env!("OUT_DIR"), "/subjects.rs"));

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let found = || {
        let [preset, operation, column] = &*arguments else { return None };
        let (_, run) = SUBJECTS.iter().find(|(name, _)| name == preset)?;
        let operation = Operation::ALL.into_iter().find(|known| known.id() == operation)?;
        let column = column.parse().ok().filter(|&column| column < operation.columns().len())?;
        Some((run, Measurement { operation, column }))
    };
    let Some((run, measurement)) = found() else {
        eprintln!("subject: {arguments:?} names no measurement. Remedy: leave this program to the benchmark `calls`.");
        exit(2);
    };
    run(measurement);
}

fn run<S: Subject>(Measurement { operation, column }: Measurement) {
    // So that the compiler knows no more about a call than at the end of a symbol.
    let calls = black_box(S::CALLS);
    match operation {
        Operation::Fresh | Operation::Refill | Operation::Flush => bulk::<S>(calls, operation, BANDS[column].size),
        Operation::First => first::<S>(calls, First::ALL[column]),
        Operation::Trace => trace::<S>(calls, TRACES[column]),
        _ => hits::<S>(calls, operation, column),
    }
}

/// [`HITS`] calls in a row in the steady state of so many blocks that come and go.
fn hits<S: Subject>(calls: Calls, operation: Operation, column: usize) {
    const ALIGN: usize = 64;
    let size = BANDS[column].size;
    let allocate = || match operation {
        Operation::AlignedAlloc => S::allocate_aligned(ALIGN, size),
        _ => S::allocate(size),
    };
    let mut blocks = [null_mut(); HITS];
    for _ in 0..ROUNDS {
        blocks.fill_with(allocate);
        for block in blocks {
            // SAFETY: each block was just allocated.
            unsafe { S::deallocate(block) };
        }
    }
    // SAFETY: each call gets what its function asks for: blocks are live, and freed once, with their size.
    unsafe {
        match operation {
            Operation::Malloc => blocks.fill_with(|| (calls.malloc)(size)),
            Operation::Calloc => blocks.fill_with(|| (calls.calloc)(1, size)),
            Operation::AlignedAlloc => blocks.fill_with(|| (calls.aligned_alloc)(ALIGN, size)),
            _ => {
                blocks.fill_with(allocate);
                for block in blocks {
                    match operation {
                        Operation::Free => (calls.free)(block),
                        Operation::SizedFree => (calls.sized_free[column])(block),
                        _ => assert_eq!((calls.realloc)(block, size), block, "realloc moved the block"),
                    }
                }
            }
        }
    }
    assert!(blocks.iter().all(|block| !block.is_null()), "out of memory");
}

/// [`BLOCKS`] calls in a row, most of which hit, and some of which fill or empty a magazine.
fn bulk<S: Subject>(calls: Calls, operation: Operation, size: usize) {
    // The thread's heap is attached before; that cost stands elsewhere.
    S::allocate(BANDS[8].size);
    let mut blocks = vec![null_mut(); BLOCKS];
    if operation != Operation::Fresh {
        for _ in 0..BULK_ROUNDS {
            blocks.fill_with(|| S::allocate(size));
            // SAFETY: each block was just allocated.
            blocks.iter().for_each(|&block| unsafe { S::deallocate(block) });
        }
    }
    // SAFETY: any size may be asked for, and each block was just allocated when it is freed.
    unsafe {
        if operation == Operation::Flush {
            blocks.fill_with(|| S::allocate(size));
            blocks.iter().for_each(|&block| (calls.free)(block));
        } else {
            blocks.fill_with(|| (calls.malloc)(size));
        }
    }
    assert!(blocks.iter().all(|block| !block.is_null()), "out of memory");
}

/// The first `malloc` of the process or of a thread.
fn first<S: Subject>(calls: Calls, whose: First) {
    const SIZE: usize = 64;
    // SAFETY: any size may be asked for.
    let malloc = move || assert!(!unsafe { (calls.malloc)(SIZE) }.is_null(), "out of memory");
    if whose == First::Process {
        return malloc();
    }
    S::allocate(SIZE);
    if whose == First::NextThread {
        thread::spawn(|| _ = black_box(S::allocate(SIZE))).join().expect("the thread ends well");
    }
    thread::spawn(malloc).join().expect("the thread ends well");
}

/// [`STEPS`] calls of a trace, after as many that do not count.
fn trace<S: Subject>(calls: Calls, Trace { slots, sizes: (least, most), .. }: Trace) {
    /// Marsaglia's xorshift, as the C program has it.
    fn next(state: &mut u32) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 17;
        *state ^= *state << 5;
        u64::from(*state)
    }
    /// A number below `count`.
    fn below(state: &mut u32, count: usize) -> usize {
        ((next(state) * count as u64) >> 32) as usize
    }

    let mut state = 2_654_435_761_u32 | 1;
    let mut blocks: Vec<Block> = vec![null_mut(); slots];
    for step in 0..2 * STEPS {
        let counts = step >= STEPS;
        let slot = below(&mut state, slots);
        let block = blocks[slot];
        // SAFETY: any size may be asked for; a block in a slot is live, and is taken out of it.
        blocks[slot] = unsafe {
            if !block.is_null() {
                if counts {
                    (calls.free)(block)
                } else {
                    S::deallocate(block)
                }
                null_mut()
            } else {
                let size = least + below(&mut state, most - least + 1);
                let block = if counts { (calls.malloc)(size) } else { S::allocate(size) };
                assert!(!block.is_null(), "out of memory");
                block
            }
        };
    }
}

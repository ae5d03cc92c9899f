//! The table of workloads.

use crate::numbers::Sizes;
use crate::{Report, cross_thread, growth, larson, producer_consumer, random, scenarios};
use std::alloc::GlobalAlloc;

/// A workload. `cargo bench -p hakmem-workloads -- NAME` and `hakmem bench` know it by its name.
#[derive(Debug)]
pub struct Workload {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The presets that are made for it, by name, the one that it is named after first. Each preset is in one workload.
    pub presets: &'static [&'static str],
    /// How many threads it runs in.
    pub threads: usize,
    /// The steps of each thread at the scale 1. What a step is depends on the workload: about an operation or two.
    pub iterations: u64,
    /// What it does.
    shape: Shape,
}

/// What a workload does, with what distinguishes it from others of its kind.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// [`random::mixed`]
    Mixed {
        /// Sizes of the blocks.
        sizes: Sizes,
        /// Slots of the working set.
        slots: usize,
    },
    /// [`random::mid_large`]
    MidLarge,
    /// [`scenarios::string_builder`]
    StringBuilder,
    /// [`scenarios::token_stream`]
    TokenStream,
    /// [`scenarios::small_objects`]
    SmallObjects,
    /// [`larson::larson`]
    Larson,
    /// [`producer_consumer::producer_consumer`]
    ProducerConsumer,
    /// [`cross_thread::cross_thread`]
    CrossThread {
        /// How many of 100 blocks another thread frees.
        remote_percent: usize,
    },
    /// [`growth::growth`]
    Growth,
}

impl Workload {
    /// The workload of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// The workload that this preset is made for.
    pub fn of_preset(preset: &str) -> Option<&'static Self> {
        WORKLOADS.iter().find(|workload| workload.presets.contains(&preset))
    }

    /// The steps of each thread at this scale, at least 1.
    pub fn steps(&self, scale: f64) -> u64 {
        ((self.iterations as f64 * scale).round() as u64).max(1)
    }

    /// Runs it on the allocator with its standard iterations times `scale`.
    ///
    /// Everything that it allocates it frees. A request that the allocator does not meet ends the process.
    pub fn run<A: GlobalAlloc + Sync>(&self, allocator: &A, scale: f64) -> Report {
        let (threads, steps) = (self.threads, self.steps(scale));
        match self.shape {
            Shape::Mixed { sizes, slots } => random::mixed(allocator, sizes, slots, steps),
            Shape::MidLarge => random::mid_large(allocator, threads, steps),
            Shape::StringBuilder => scenarios::string_builder(allocator, steps),
            Shape::TokenStream => scenarios::token_stream(allocator, steps),
            Shape::SmallObjects => scenarios::small_objects(allocator, steps),
            Shape::Larson => larson::larson(allocator, threads, steps),
            Shape::ProducerConsumer => producer_consumer::producer_consumer(allocator, steps),
            Shape::CrossThread { remote_percent } => {
                cross_thread::cross_thread(allocator, threads, remote_percent, steps)
            }
            Shape::Growth => growth::growth(allocator, steps),
        }
    }
}

/// All workloads. The standard iterations of the first ones are hakmem's; the others take about as long.
///
/// Those of one thread come first: a C library may work differently from the first thread on that a process makes.
pub static WORKLOADS: &[Workload] = &[
    mixed("mixed", "blocks of 16 to 1024 bytes in 400 slots at random", &["mixed", "debug-front"], 16, 1024, 400),
    mixed("mixed-100k", "blocks of 16 to 1024 bytes in 100,000 slots at random", &[], 16, 1024, 100_000),
    mixed(
        "c6-heavy",
        "blocks of 257 to 768 bytes in 400 slots at random",
        &["c6-heavy", "c6-heavy-flatten", "c6-only-v4", "c7c6-v4"],
        257,
        768,
        400,
    ),
    mixed(
        "c6-ultra",
        "blocks of 257 to 512 bytes in 400 slots at random",
        &["c6-ultra", "c6-v3", "c6-v4", "c6-v5"],
        257,
        512,
        400,
    ),
    mixed("c5c6", "blocks of 200 to 500 bytes in 400 slots at random", &["c5c6-v7"], 200, 500, 400),
    workload(
        "string-builder",
        "strings of 16 pieces of 8 to 64 bytes that are freed at once",
        1,
        40_000_000,
        Shape::StringBuilder,
    ),
    workload("token-stream", "blocks of 16 to 128 bytes, first in, first out", 1, 20_000_000, Shape::TokenStream),
    workload(
        "small-objects",
        "20,000 blocks of 32 to 256 bytes that live together",
        1,
        20_000_000,
        Shape::SmallObjects,
    ),
    workload("realloc-growth", "8 vectors that grow from 16 bytes to 1 MiB", 1, 200_000, Shape::Growth),
    workload(
        "mid-large-mt",
        "blocks of 1 to 32 KiB, some of up to 512 KiB, in 256 slots of each of 2 threads",
        2,
        4_000_000,
        Shape::MidLarge,
    ),
    workload("larson", "2 threads that inherit each other's blocks of 10 to 500 bytes", 2, 5_000_000, Shape::Larson),
    workload(
        "producer-consumer",
        "blocks of 16 to 256 bytes, allocated in one thread and freed in another",
        2,
        10_000_000,
        Shape::ProducerConsumer,
    ),
    cross_thread("cross-thread-0", "2 threads, each with 400 slots of its own", 2, 5_000_000, 0),
    cross_thread("cross-thread-50", "2 threads that free half of each other's blocks", 2, 5_000_000, 50),
    cross_thread("cross-thread-100", "2 threads that free all of each other's blocks", 2, 5_000_000, 100),
    cross_thread("cross-thread-8", "8 threads that free half of each other's blocks", 8, 1_000_000, 50),
];

/// A workload that no preset is made for.
const fn workload(
    name: &'static str,
    summary: &'static str,
    threads: usize,
    iterations: u64,
    shape: Shape,
) -> Workload {
    Workload { name, summary, presets: &[], threads, iterations, shape }
}

/// A working set in one thread.
const fn mixed(
    name: &'static str,
    summary: &'static str,
    presets: &'static [&'static str],
    low: u32,
    high: u32,
    slots: usize,
) -> Workload {
    let shape = Shape::Mixed { sizes: Sizes { low, high }, slots };
    Workload { name, summary, presets, threads: 1, iterations: 20_000_000, shape }
}

/// Threads that hand blocks on.
const fn cross_thread(
    name: &'static str,
    summary: &'static str,
    threads: usize,
    iterations: u64,
    remote_percent: usize,
) -> Workload {
    workload(name, summary, threads, iterations, Shape::CrossThread { remote_percent })
}

//! The operations that are measured, the columns that each has in the table, and who is measured.

use hakmem::Preset;

/// A request that stands for a band of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// The column's name.
    pub name: &'static str,
    /// Bytes that are asked for: the most of a class.
    pub size: usize,
}

/// The bands. C0 has no bin of its own and is served as C1. `large` is a bin beyond the small ones.
pub const BANDS: [Band; 10] = [
    Band { name: "C1", size: 16 },
    Band { name: "C2", size: 32 },
    Band { name: "C3", size: 64 },
    Band { name: "C4", size: 128 },
    Band { name: "C5", size: 256 },
    Band { name: "C6", size: 512 },
    Band { name: "C7", size: 1024 },
    Band { name: "large", size: 2048 },
    Band { name: "span", size: 100_000 },
    Band { name: "huge", size: 4 << 20 },
];

/// How many of the [`BANDS`] are bins: spans and huge blocks have no magazines to fill and to empty.
const BINS: usize = 8;

/// A fixed sequence of calls on a working set: what `benches/workloads/random_mixed.c` does with seed 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The column's name.
    pub name: &'static str,
    /// Slots of the working set.
    pub slots: usize,
    /// Fewest and most bytes of a request.
    pub sizes: (usize, usize),
}

/// The traces.
pub const TRACES: [Trace; 4] = [
    Trace { name: "Mixed", slots: 400, sizes: (16, 1024) },
    Trace { name: "C6-heavy", slots: 400, sizes: (257, 768) },
    Trace { name: "C5/C6", slots: 400, sizes: (200, 500) },
    Trace { name: "Mixed, ws 100,000", slots: 100_000, sizes: (16, 1024) },
];

/// Calls of a hit that are measured in a row; every bin's magazines have room for so many blocks.
pub const HITS: usize = 8;
/// Blocks over which the costs of filling and emptying magazines are spread.
pub const BLOCKS: usize = 1000;
/// Calls of a trace, those before the first measured one apart.
pub const STEPS: usize = 1_000_000;

/// Whose first `malloc` it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The process's.
    Process,
    /// A second thread's.
    Thread,
    /// A thread's that starts after another one ended.
    NextThread,
}

/// What is measured: a section of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `malloc` out of the thread's cache.
    Malloc,
    /// `free` into the thread's cache.
    Free,
    /// Rust's `dealloc` into the thread's cache, with a constant layout.
    SizedFree,
    /// `calloc` out of the thread's cache.
    Calloc,
    /// `realloc` to the size that the block has.
    Realloc,
    /// `aligned_alloc` to 64 bytes, out of the thread's cache.
    AlignedAlloc,
    /// `malloc` of blocks that nobody had before.
    Fresh,
    /// `malloc` of blocks that were free.
    Refill,
    /// `free` of those blocks.
    Flush,
    /// The first `malloc`.
    First,
    /// `malloc` and `free` in a random order.
    Trace,
}

impl Operation {
    /// All of them, in the table's order.
    pub const ALL: [Self; 11] = [
        Self::Malloc,
        Self::Free,
        Self::SizedFree,
        Self::Calloc,
        Self::Realloc,
        Self::AlignedAlloc,
        Self::Fresh,
        Self::Refill,
        Self::Flush,
        Self::First,
        Self::Trace,
    ];

    /// Its name as an argument and as iai-callgrind's benchmark.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Malloc => "malloc_hit",
            Self::Free => "free_hit",
            Self::SizedFree => "sized_free_hit",
            Self::Calloc => "calloc_hit",
            Self::Realloc => "realloc_in_place",
            Self::AlignedAlloc => "aligned_alloc_hit",
            Self::Fresh => "malloc_fresh",
            Self::Refill => "malloc_refill",
            Self::Flush => "free_flush",
            Self::First => "first_malloc",
            Self::Trace => "trace",
        }
    }

    /// The heading of its section.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Malloc => "malloc, hit",
            Self::Free => "free, hit",
            Self::SizedFree => "sized free, hit",
            Self::Calloc => "calloc, hit",
            Self::Realloc => "realloc in place",
            Self::AlignedAlloc => "aligned_alloc, hit",
            Self::Fresh => "malloc, fresh pages",
            Self::Refill => "malloc, refill included",
            Self::Flush => "free, flush included",
            Self::First => "first malloc",
            Self::Trace => "traces",
        }
    }

    /// What exactly it is, for the reader of the table.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Malloc => {
                "`malloc(size)` where the thread has a block at hand. Spans and huge blocks are cached \
                             elsewhere, if at all: the steady state of eight blocks that come and go."
            }
            Self::Free => "`free(block)` of the blocks above: the pointer is looked up in the page map.",
            Self::SizedFree => "Rust's `dealloc(block, layout)` of the same blocks, the layout a constant.",
            Self::Calloc => "`calloc(1, size)` of the same blocks; the clearing is libc's `memset`.",
            Self::Realloc => "`realloc(block, size)` of a block of that size, which stays where it is.",
            Self::AlignedAlloc => "`aligned_alloc(64, size)` out of the thread's cache.",
            Self::Fresh => {
                "Per block, 1000 blocks in a row in a process that has none of them: pages are taken and \
                            carved."
            }
            Self::Refill => {
                "Per block, the same 1000 blocks once more, after they were allocated and freed five times."
            }
            Self::Flush => "Per block, the same 1000 blocks freed in the order in which they were allocated.",
            Self::First => {
                "`malloc(64)`, the first of the process, of its second thread, and of a thread that starts \
                            after another one ended: a heap is attached, and its exit hook arranged by libc."
            }
            Self::Trace => {
                "Per call, `malloc` and `free` in equal parts: the second million calls of \
                            `benches/workloads/random_mixed.c` with seed 1. Mixed is 16 to 1024 bytes, C6-heavy 257 to \
                            768, C5/C6 200 to 500; the working set is 400 blocks, or 100,000."
            }
        }
    }

    /// The names of its columns.
    #[must_use]
    pub fn columns(self) -> Vec<&'static str> {
        match self {
            Self::Fresh | Self::Refill | Self::Flush => BANDS[..BINS].iter().map(|band| band.name).collect(),
            Self::First => vec!["process", "second thread", "next thread"],
            Self::Trace => TRACES.iter().map(|trace| trace.name).collect(),
            _ => BANDS.iter().map(|band| band.name).collect(),
        }
    }

    /// How many calls one measurement counts.
    #[must_use]
    pub fn calls(self) -> u64 {
        let calls = match self {
            Self::Fresh | Self::Refill | Self::Flush => BLOCKS,
            Self::First => 1,
            Self::Trace => STEPS,
            _ => HITS,
        };
        calls as u64
    }
}

impl First {
    /// In the order of the columns.
    pub const ALL: [Self; 3] = [Self::Process, Self::Thread, Self::NextThread];
}

/// A cell of the table, but for the presets that share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// What is done.
    pub operation: Operation,
    /// In which variant.
    pub column: usize,
}

impl Measurement {
    /// All of them, in the table's order.
    pub fn all() -> impl Iterator<Item = Self> {
        Operation::ALL
            .into_iter()
            .flat_map(|operation| (0..operation.columns().len()).map(move |column| Self { operation, column }))
    }
}

/// The preset that `preset` is measured with: the first one with the same words, those that are built like other
/// programs before those for debuggers. Types with the same words differ in nothing but the addresses of their statics.
#[must_use]
pub fn measured_as(preset: &Preset) -> &'static Preset {
    let same = || hakmem::PRESETS.iter().filter(|other| other.words == preset.words);
    let first = same().find(|other| other.profile == "release").or_else(|| same().next());
    first.expect("at the latest the preset itself has its words")
}

/// The environment variable that tells the benchmark which share of the measurements is its own: `0/2` is the first of
/// two. All of them if it is not set.
pub const SHARE: &str = "INSTRUCTIONS_SHARE";

/// iai-callgrind's name for a measurement of a preset within its operation: letters, digits and underscores.
#[must_use]
pub fn id(preset: &str, column: usize) -> String {
    format!("{}_{column}", preset.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = Operation::ALL.into_iter().flat_map(|o| [o.id(), o.title()]).collect();
        assert_eq!(names.len(), 2 * Operation::ALL.len());
        let ids: HashSet<_> = hakmem::PRESETS.iter().map(|preset| id(preset.name, 0)).collect();
        assert_eq!(ids.len(), hakmem::PRESETS.len());
    }

    #[test]
    fn bands_are_what_they_are_called() {
        for band in &BANDS[..7] {
            assert_eq!(hakmem::config::Class::of(band.size).name(), band.name);
        }
        assert!(BANDS[BINS - 1].size <= hakmem::config::bins::BIN_LIMIT && BANDS[BINS].size > 32 << 10);
    }
}

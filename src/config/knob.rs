//! Knobs: the yes-or-no decisions, each a cargo feature of the same name and a bit of the knob word.
//!
//! One row of the list below is all that defines a knob. A knob whose mechanism is not built can be named, so that every
//! decision of the original has its place; switching it on is an error that says what is missing.

/// Whether a knob can be turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// On and off are both built.
    Ready,
    /// On in every preset: the front end is built this way, and its other side is not there.
    BuiltIn,
    /// Off in every preset: its mechanism is not there.
    Missing,
}

/// What is missing: the second half of a sentence.
macro_rules! missing {
    (layered) => {
        "the layered front end, in which hakmem's gates can be taken apart, is not built"
    };
    (env) => {
        "the gate that reads the environment at run time is not built, and without it nothing asks the environment"
    };
    (policy) => {
        "the route table that a learner may change at run time is not built"
    };
    (route) => {
        "the route that it belongs to is not built"
    };
    (header) => {
        "block headers are not built"
    };
}

macro_rules! standing {
    (ready) => {
        Standing::Ready
    };
    (built_in) => {
        Standing::BuiltIn
    };
    (missing) => {
        Standing::Missing
    };
}

macro_rules! refusal {
    (ready $feature:literal) => {
        ""
    };
    (built_in $what:ident $feature:literal) => {
        concat!("`", $feature, "` cannot be taken away: ", missing!($what))
    };
    (missing $what:ident $feature:literal) => {
        concat!("`", $feature, "` cannot be switched on: ", missing!($what))
    };
}

macro_rules! knobs {
    ($(#[doc = $summary:literal] $name:ident = $bit:literal, $feature:literal, $standing:ident $($what:ident)?;)*) => {
        /// A yes-or-no decision of the front end or of the heap behind it; the value is its bit in the knob word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Knob {
            $(#[doc = $summary] $name = $bit,)*
        }

        impl Knob {
            /// Every knob, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The knobs that are on in every preset.
            pub(super) const BUILT_IN: u64 = 0 $(| (matches!(standing!($standing), Standing::BuiltIn) as u64) << $bit)*;

            /// Its name in preset files, and the feature that adds it; behind `no-`, the feature that takes it away.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $feature,)*
                }
            }

            /// What it does, in a sentence.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Self::$name => $summary,)*
                }
            }

            /// Whether it can be turned.
            #[must_use]
            pub const fn standing(self) -> Standing {
                match self {
                    $(Self::$name => standing!($standing),)*
                }
            }

            /// Why it cannot be turned; empty for one that can.
            #[must_use]
            pub const fn refusal(self) -> &'static str {
                match self {
                    $(Self::$name => refusal!($standing $($what)? $feature),)*
                }
            }
        }
    };
}

knobs! {
    #[doc = "Free policy keep: freed memory stays with the process until `malloc_trim`; off is batch, many pages at a time."]
    FreeKeep = 0, "free-keep", ready;
    #[doc = "Freed pages and huge blocks go back to the OS at once, one by one."]
    DisableBatch = 1, "disable-batch", ready;
    #[doc = "Memory goes back to the OS by whole segments only (hakmem's SuperSlabs)."]
    MadviseStrict = 2, "madvise-strict", ready;
    #[doc = "Heaps beyond a few megabytes, and huge blocks, ask the kernel for huge pages."]
    ThpAuto = 3, "thp-auto", ready;
    #[doc = "Counts blocks by bin, per thread, summed on demand."]
    HeapStats = 4, "heap-stats", ready;
    #[doc = "Prints the counters on stderr when the process ends, and on SIGUSR2."]
    HeapStatsDump = 5, "heap-stats-dump", ready;
    #[doc = "Counts the paths that calls take, per thread, summed on demand."]
    FreePathStats = 6, "free-path-stats", ready;
    #[doc = "`free` leaves for LEGACY at once where a block of C0 to C3 finds its magazine full."]
    FreeDualhot = 7, "free-dualhot", ready;
    #[doc = "`malloc` leaves for LEGACY at once where a request of C0 to C3 finds its magazine empty."]
    AllocDualhot = 8, "alloc-dualhot", ready;
    #[doc = "The bin of a small request comes from a table, even where arithmetic costs less."]
    FrontV3Lut = 9, "front-v3-lut", ready;
    #[doc = "`malloc` asks for the cache line of the magazine slots that come next."]
    Prefetch = 10, "prefetch", ready;
    #[doc = "The exported function is the hot path itself, no layer between."]
    FastlaneDirect = 11, "fastlane-direct", built_in layered;
    #[doc = "Rare checks of the wrapper stand in a cold function of their own."]
    WrapShape = 12, "wrap-shape", built_in layered;
    #[doc = "LEGACY is the likely branch of `malloc`, other routes are reached through a cold call."]
    AllocRouteShape = 13, "alloc-route-shape", built_in layered;
    #[doc = "The routes of `malloc` are constants."]
    StaticRoute = 14, "static-route", built_in policy;
    #[doc = "The routes of `free` are constants."]
    FreeStaticRoute = 15, "free-static-route", built_in policy;
    #[doc = "A pointer is looked up once in `free`."]
    FreeTinyDirect = 16, "free-tiny-direct", built_in layered;
    #[doc = "Tiny front v3: from size to bin without the old front's layers."]
    FrontV3 = 17, "front-v3", built_in layered;
    #[doc = "A pointer is classified by one load from the page map."]
    FastClassify = 18, "fast-classify", built_in layered;
    #[doc = "The alloc gate has a simpler branch shape."]
    AllocGateShape = 19, "alloc-gate-shape", missing layered;
    #[doc = "`free` skips the policy snapshot."]
    FreePolicyFast = 20, "free-policy-fast", missing layered;
    #[doc = "A thread-local cache of page metadata."]
    MetadataCache = 21, "metadata-cache", missing layered;
    #[doc = "Every call goes to libc's allocator, decided before anything else."]
    ForceLibc = 22, "force-libc", missing layered;
    #[doc = "The environment's values are read from one snapshot."]
    EnvSnapshot = 23, "env-snapshot", missing env;
    #[doc = "The snapshot is filled by a constructor."]
    EnvSnapshotCtor = 24, "env-snapshot-ctor", missing env;
    #[doc = "The free wrapper's values are read from one thread-local snapshot."]
    FreeWrapperSnapshot = 25, "free-wrapper-snapshot", missing env;
    #[doc = "The malloc wrapper's values are read from one thread-local snapshot."]
    MallocWrapperSnapshot = 26, "malloc-wrapper-snapshot", missing env;
    #[doc = "A thread-local cache of the pointer to the wrapper's values."]
    WrapEnvCache = 27, "wrap-env-cache", missing env;
    #[doc = "Blocks freed by another thread go home to their owner."]
    LarsonFix = 28, "larson-fix", missing route;
    #[doc = "C7 has a hot box of its own."]
    C7Hot = 29, "c7-hot", missing route;
    #[doc = "C6 has a hot box of its own."]
    C6Hot = 30, "c6-hot", missing route;
    #[doc = "The older hot heap, second version."]
    HotheapV2 = 31, "hotheap-v2", missing route;
    #[doc = "Heap profile LEGACY; the profile is C7_SAFE unless this or the next knob says otherwise."]
    HeapProfileLegacy = 32, "heap-profile-legacy", missing route;
    #[doc = "Heap profile C7_ULTRA_BENCH."]
    HeapProfileC7UltraBench = 33, "heap-profile-c7-ultra-bench", missing route;
    #[doc = "ULTRA keeps C6 as an intrusive list, with the array as fallback."]
    C6UltraIntrusive = 34, "c6-ultra-intrusive", missing route;
    #[doc = "Counters of small v3."]
    SmallV3Stats = 35, "small-v3-stats", missing route;
    #[doc = "Small v4 has segments of its own."]
    SmallSegmentV4 = 36, "small-segment-v4", missing route;
    #[doc = "Pointers into small v4's segments are classified by arithmetic."]
    FastClassifyV4 = 37, "fast-classify-v4", missing route;
    #[doc = "The learner moves C5 between small v7 and MID v3."]
    LearnerV7 = 38, "learner-v7", missing policy;
    #[doc = "MID v3.5 writes headers when it refills."]
    MidV35HeaderPrefill = 39, "mid-v35-header-prefill", missing route;
    #[doc = "MID v3.5 counts allocations on its hot path."]
    MidV35HotCounts = 40, "mid-v35-hot-counts", missing route;
    #[doc = "MID v3.5 serves C6 with the constant slot size 512."]
    MidV35C6Fast = 41, "mid-v35-c6-fast", missing route;
    #[doc = "Pool v1 without its inner calls."]
    PoolFlatten = 42, "pool-flatten", missing route;
    #[doc = "Counters of the flattened pool v1."]
    PoolFlattenStats = 43, "pool-flatten-stats", missing route;
    #[doc = "The pool clears the header of a block and nothing else."]
    PoolZeroHeader = 44, "pool-zero-header", missing route;
    #[doc = "The pool's in-use counts are decremented in batches."]
    PoolInuseDeferred = 45, "pool-inuse-deferred", missing route;
    #[doc = "Counters of the deferred decrements."]
    PoolInuseStats = 46, "pool-inuse-stats", missing route;
    #[doc = "The deferred decrements are collected in a hash map, not in a linear one."]
    PoolInuseHash = 47, "pool-inuse-hash", missing route;
    #[doc = "A thread-local cache of the pool's page look-up."]
    MidDescCache = 48, "mid-desc-cache", missing route;
    #[doc = "A thin header stands before each block."]
    HeaderLight = 49, "header-light", missing header;
    #[doc = "A full header stands before each block."]
    HeaderFull = 50, "header-full", missing header;
    #[doc = "Header code is always inlined."]
    HeaderInline = 51, "header-inline", missing header;
}

impl Knob {
    /// The knob of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|knob| knob.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_names_are_unique() {
        let mut bits = 0u64;
        for &knob in Knob::ALL {
            assert_eq!(bits >> knob as u8 & 1, 0, "{knob:?}");
            bits |= 1 << knob as u8;
            assert_eq!(Knob::named(knob.name()), Some(knob));
            assert!(!knob.name().starts_with("no-"));
        }
    }

    #[test]
    fn a_knob_that_cannot_be_turned_says_why() {
        for &knob in Knob::ALL {
            match knob.standing() {
                Standing::Ready => assert_eq!(knob.refusal(), ""),
                Standing::BuiltIn => assert!(knob.refusal().contains("taken away: the ")),
                Standing::Missing => assert!(knob.refusal().contains("switched on: ")),
            }
        }
        assert_eq!(Knob::StaticRoute.standing(), Standing::BuiltIn);
        assert_eq!(Knob::LarsonFix.standing(), Standing::Missing);
    }
}

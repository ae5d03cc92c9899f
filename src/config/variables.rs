//! Every environment variable of the original, hakmem, and what it is here.

use super::class::Class;
use super::knob::Knob;
use super::route::Route;

/// What a variable is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A knob.
    Knob(Knob),
    /// A variable with several values, which are knobs; none of them is its default.
    Knobs(&'static [Knob]),
    /// A route, chosen class by class.
    Route(Route),
    /// The classes of a route: the keys under which a preset file names it.
    Classes(Route),
    /// A route of one class.
    RouteOf(Route, Class),
    /// The choice of a preset.
    Preset,
    /// An argument of the tool or of a benchmark.
    Tool(&'static str),
}

/// One variable of the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name without the prefix `HAKMEM_`.
    pub name: &'static str,
    /// What it is here.
    pub place: Place,
}

const fn knob(name: &'static str, knob: Knob) -> Variable {
    Variable { name, place: Place::Knob(knob) }
}

const fn knobs(name: &'static str, knobs: &'static [Knob]) -> Variable {
    Variable { name, place: Place::Knobs(knobs) }
}

const fn route(name: &'static str, route: Route) -> Variable {
    Variable { name, place: Place::Route(route) }
}

const fn classes(name: &'static str, route: Route) -> Variable {
    Variable { name, place: Place::Classes(route) }
}

const fn tool(name: &'static str, argument: &'static str) -> Variable {
    Variable { name, place: Place::Tool(argument) }
}

/// All 68 variables, in the order of hakmem's own list.
pub const VARIABLES: &[Variable] = &[
    Variable { name: "PROFILE", place: Place::Preset },
    tool("BENCH_MIN_SIZE", "MIN, the third argument of benches/workloads/random_mixed.c"),
    tool("BENCH_MAX_SIZE", "MAX, the fourth argument of benches/workloads/random_mixed.c"),
    knob("FORCE_LIBC_ALLOC", Knob::ForceLibc),
    knob("FASTLANE_DIRECT", Knob::FastlaneDirect),
    knob("WRAP_SHAPE", Knob::WrapShape),
    knob("TINY_ALLOC_ROUTE_SHAPE", Knob::AllocRouteShape),
    knob("TINY_STATIC_ROUTE", Knob::StaticRoute),
    knob("FREE_STATIC_ROUTE", Knob::FreeStaticRoute),
    knob("FREE_TINY_FAST_HOTCOLD", Knob::FreeDualhot),
    knob("TINY_ALLOC_DUALHOT", Knob::AllocDualhot),
    knob("TINY_LARSON_FIX", Knob::LarsonFix),
    knob("FREE_TINY_DIRECT", Knob::FreeTinyDirect),
    knob("ENV_SNAPSHOT", Knob::EnvSnapshot),
    knob("ENV_SNAPSHOT_CTOR", Knob::EnvSnapshotCtor),
    knob("FREE_WRAPPER_ENV_SNAPSHOT", Knob::FreeWrapperSnapshot),
    knob("MALLOC_WRAPPER_ENV_SNAPSHOT", Knob::MallocWrapperSnapshot),
    knob("WRAP_ENV_CACHE", Knob::WrapEnvCache),
    knob("TINY_FREE_POLICY_FAST_V2", Knob::FreePolicyFast),
    knob("POLICY_FAST_PATH_V2", Knob::FreePolicyFast),
    knob("ALLOC_GATE_SHAPE", Knob::AllocGateShape),
    knob("TINY_PREFETCH", Knob::Prefetch),
    knob("TINY_METADATA_CACHE", Knob::MetadataCache),
    knobs("TINY_HEADER_MODE", &[Knob::HeaderLight, Knob::HeaderFull]),
    knob("TINY_HEADER_ALWAYS_INLINE", Knob::HeaderInline),
    knob("TINY_FRONT_V3_ENABLED", Knob::FrontV3),
    knob("TINY_FRONT_V3_LUT_ENABLED", Knob::FrontV3Lut),
    knob("TINY_PTR_FAST_CLASSIFY_ENABLED", Knob::FastClassify),
    knob("TINY_PTR_FAST_CLASSIFY_V4_ENABLED", Knob::FastClassifyV4),
    knobs("TINY_HEAP_PROFILE", &[Knob::HeapProfileLegacy, Knob::HeapProfileC7UltraBench]),
    knob("TINY_C7_HOT", Knob::C7Hot),
    knob("TINY_C6_HOT", Knob::C6Hot),
    knob("TINY_HOTHEAP_V2", Knob::HotheapV2),
    route("SMALL_HEAP_V3_ENABLED", Route::SmallV3),
    classes("SMALL_HEAP_V3_CLASSES", Route::SmallV3),
    knob("SMALL_HEAP_V3_STATS", Knob::SmallV3Stats),
    route("SMALL_HEAP_V4_ENABLED", Route::SmallV4),
    classes("SMALL_HEAP_V4_CLASSES", Route::SmallV4),
    knob("SMALL_SEGMENT_V4_ENABLED", Knob::SmallSegmentV4),
    route("SMALL_HEAP_V5_ENABLED", Route::SmallV5),
    classes("SMALL_HEAP_V5_CLASSES", Route::SmallV5),
    route("SMALL_HEAP_V7_ENABLED", Route::SmallV7),
    classes("SMALL_HEAP_V7_CLASSES", Route::SmallV7),
    knob("SMALL_LEARNER_V7_ENABLED", Knob::LearnerV7),
    route("MID_V3_ENABLED", Route::MidV3),
    classes("MID_V3_CLASSES", Route::MidV3),
    route("MID_V35_ENABLED", Route::MidV35),
    classes("MID_V35_CLASSES", Route::MidV35),
    knob("MID_V35_HEADER_PREFILL", Knob::MidV35HeaderPrefill),
    knob("MID_V35_HOT_COUNTS", Knob::MidV35HotCounts),
    knob("MID_V35_C6_FASTPATH", Knob::MidV35C6Fast),
    Variable { name: "TINY_C6_ULTRA_FREE_ENABLED", place: Place::RouteOf(Route::Ultra, Class::C6) },
    knob("TINY_C6_ULTRA_INTRUSIVE_FL", Knob::C6UltraIntrusive),
    route("POOL_V2_ENABLED", Route::PoolV2),
    knob("POOL_V1_FLATTEN_ENABLED", Knob::PoolFlatten),
    knob("POOL_V1_FLATTEN_STATS", Knob::PoolFlattenStats),
    knob("POOL_ZERO_MODE", Knob::PoolZeroHeader),
    knob("POOL_MID_INUSE_DEFERRED", Knob::PoolInuseDeferred),
    knob("POOL_MID_INUSE_DEFERRED_STATS", Knob::PoolInuseStats),
    knob("POOL_MID_INUSE_MAP_KIND", Knob::PoolInuseHash),
    knob("MID_DESC_CACHE_ENABLED", Knob::MidDescCache),
    knob("FREE_POLICY", Knob::FreeKeep),
    knob("DISABLE_BATCH", Knob::DisableBatch),
    knob("SS_MADVISE_STRICT", Knob::MadviseStrict),
    knob("THP", Knob::ThpAuto),
    knob("TINY_HEAP_STATS", Knob::HeapStats),
    knob("TINY_HEAP_STATS_DUMP", Knob::HeapStatsDump),
    knob("FREE_PATH_STATS", Knob::FreePathStats),
];

const _: () = assert!(VARIABLES.len() == 68);

//! Which words make no sense together, and which cannot be built yet. Read through [`Words::problem`].

use super::class::{Class, Classes};
use super::knob::{Knob, Standing};
use super::route::{Route, Routes};
use super::words::Words;

/// Two knobs or two facts that exclude each other, as a sentence with a remedy.
pub const fn contradiction(words: &Words) -> Option<&'static str> {
    if let Some(problem) = routes(words.routes()) {
        return Some(problem);
    }
    if let Some(problem) = front(words) {
        return Some(problem);
    }
    if let Some(problem) = boxes(words) {
        return Some(problem);
    }
    policies(words)
}

/// What a preset asks for that is not built.
pub const fn unbuilt(words: &Words) -> Option<&'static str> {
    let mut index = 0;
    while index < Knob::ALL.len() {
        let knob = Knob::ALL[index];
        match (knob.standing(), words.has(knob)) {
            (Standing::Missing, true) | (Standing::BuiltIn, false) => return Some(knob.refusal()),
            _ => {}
        }
        index += 1;
    }
    index = 0;
    while index < Route::ALL.len() {
        let route = Route::ALL[index];
        if !route.ready() && words.routes().classes(route).0 != 0 {
            return Some(
                "only the route `legacy` is built: give every class that one, and list the others under [awaits]",
            );
        }
        index += 1;
    }
    None
}

const fn routes(routes: Routes) -> Option<&'static str> {
    let mut index = 0;
    while index < Class::ALL.len() {
        let class = Class::ALL[index];
        match routes.of(class) {
            None => return Some("the route word holds a number that is no route: make it with Routes::with"),
            Some(route) if !route.classes().has(class) => {
                return Some("a class has a route that does not serve it: see Route::classes for those that it serves");
            }
            Some(_) => {}
        }
        index += 1;
    }
    if routes.0 & 0xf != routes.0 >> 4 & 0xf {
        return Some("C0 has no bin of its own and is served as C1: give both one route");
    }
    None
}

const fn front(words: &Words) -> Option<&'static str> {
    use Knob::*;
    if words.has(LarsonFix) && words.has(FreeDualhot) {
        return Some("larson-fix sends C0 to C3 home, free-dualhot passes that by: take one of the two away");
    }
    if words.has(FreePolicyFast) && words.has(LearnerV7) {
        return Some("free-policy-fast skips the snapshot that learner-v7 changes: take one of the two away");
    }
    if words.has(MetadataCache) && words.has(LearnerV7) {
        return Some("metadata-cache would keep pages of a route that learner-v7 left: take one of the two away");
    }
    if words.has(LearnerV7) && (words.has(StaticRoute) || words.has(FreeStaticRoute)) {
        return Some(
            "learner-v7 changes routes at run time: take static-route and free-static-route away, or the learner",
        );
    }
    if words.has(FrontV3Lut) && !words.has(FrontV3) {
        return Some("front-v3-lut is a part of front-v3: add front-v3, or take the table away");
    }
    if words.has(EnvSnapshotCtor) && !words.has(EnvSnapshot) {
        return Some(
            "env-snapshot-ctor fills the snapshot of env-snapshot: add env-snapshot, or take the constructor away",
        );
    }
    if words.has(HeaderLight) && words.has(HeaderFull) {
        return Some("a header is light or full: take header-light or header-full away");
    }
    if words.has(HeaderInline) && !words.has(HeaderLight) && !words.has(HeaderFull) {
        return Some("header-inline has no header to inline: add header-light or header-full, or take it away");
    }
    None
}

const fn boxes(words: &Words) -> Option<&'static str> {
    use Knob::*;
    let routes = words.routes();
    let v7 = routes.classes(Route::SmallV7).0 != 0;
    let v4 = routes.classes(Route::SmallV4).0 != 0;
    let v35 = routes.classes(Route::MidV35);
    let v1 = routes.classes(Route::PoolV1).0 | routes.classes(Route::SmallV5).0 != 0;
    let pool = v1 || routes.classes(Route::PoolV2).0 != 0;
    if words.has(HeapProfileLegacy) && words.has(HeapProfileC7UltraBench) {
        return Some("there is one heap profile: take heap-profile-legacy or heap-profile-c7-ultra-bench away");
    }
    if words.has(PoolFlatten) && !words.has(HeapProfileLegacy) {
        return Some(
            "pool-flatten contradicts the heap profiles C7_SAFE and C7_ULTRA_BENCH: add heap-profile-legacy, or take it away",
        );
    }
    if words.has(PoolFlatten) && !v1 {
        return Some("pool-flatten flattens pool v1: give a class the route pool-v1, or take it away");
    }
    if words.has(PoolFlattenStats) && !words.has(PoolFlatten) {
        return Some("pool-flatten-stats counts what pool-flatten does: add pool-flatten, or take it away");
    }
    if (words.has(PoolZeroHeader) || words.has(PoolInuseDeferred) || words.has(MidDescCache)) && !pool {
        return Some(
            "pool-zero-header, pool-inuse-deferred and mid-desc-cache are the pools': give a class pool-v1 or pool-v2, or take them away",
        );
    }
    if (words.has(PoolInuseStats) || words.has(PoolInuseHash)) && !words.has(PoolInuseDeferred) {
        return Some(
            "pool-inuse-stats and pool-inuse-hash are parts of pool-inuse-deferred: add that, or take them away",
        );
    }
    if words.has(C6UltraIntrusive) && !routes.serves(Route::Ultra, Class::C6) {
        return Some("c6-ultra-intrusive is ULTRA's list for C6: give C6 the route ultra, or take it away");
    }
    if words.has(LearnerV7) && !v7 {
        return Some(
            "learner-v7 moves classes off small v7: give C5 or C6 the route small-v7, or take the learner away",
        );
    }
    if (words.has(SmallSegmentV4) || words.has(FastClassifyV4)) && !v4 {
        return Some(
            "small-segment-v4 and fast-classify-v4 are small v4's: give C6 or C7 the route small-v4, or take them away",
        );
    }
    if words.has(SmallV3Stats) && routes.classes(Route::SmallV3).0 == 0 {
        return Some("small-v3-stats counts for small v3: give C6 or C7 the route small-v3, or take it away");
    }
    if (words.has(MidV35HeaderPrefill) || words.has(MidV35HotCounts)) && v35.0 == Classes::NONE.0 {
        return Some(
            "mid-v35-header-prefill and mid-v35-hot-counts are MID v3.5's: give a class the route mid-v35, or take them away",
        );
    }
    if words.has(MidV35C6Fast) && !v35.has(Class::C6) {
        return Some("mid-v35-c6-fast is MID v3.5's path for C6: give C6 the route mid-v35, or take it away");
    }
    None
}

const fn policies(words: &Words) -> Option<&'static str> {
    use Knob::*;
    if words.has(FreeKeep) && words.has(DisableBatch) {
        return Some("free-keep gives nothing back, disable-batch all at once: take one of the two away");
    }
    if words.has(FreeKeep) && words.has(MadviseStrict) {
        return Some("free-keep gives nothing back, so madvise-strict has no say: take one of the two away");
    }
    if words.has(HeapStatsDump) && !words.has(HeapStats) && !words.has(FreePathStats) {
        return Some("heap-stats-dump has no counters to print: add heap-stats or free-path-stats, or take it away");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Geometry;

    const BASE: Words = Words::new(Routes::all(Route::Legacy), Geometry::STANDARD);

    fn with(knobs: &[Knob]) -> Words {
        knobs.iter().fold(BASE, |words, &knob| words.with(knob))
    }

    fn routed(class: Class, route: Route, knobs: &[Knob]) -> Words {
        with(knobs).routed(Routes::all(Route::Legacy).with(class, route))
    }

    /// Words that break one rule, two words of the sentence, and the same words with the rule kept.
    fn cases() -> impl IntoIterator<Item = (Words, [&'static str; 2], Words)> {
        use Class::*;
        use Knob::*;
        let dynamic = |words: Words| words.without(StaticRoute).without(FreeStaticRoute);
        let v7 = |knobs: &[Knob]| dynamic(routed(C6, Route::SmallV7, knobs));
        [
            (with(&[LarsonFix, FreeDualhot]), ["larson-fix", "free-dualhot"], with(&[LarsonFix])),
            (v7(&[LearnerV7, FreePolicyFast]), ["free-policy-fast", "learner-v7"], v7(&[LearnerV7])),
            (v7(&[LearnerV7, MetadataCache]), ["metadata-cache", "learner-v7"], with(&[MetadataCache])),
            (routed(C5, Route::SmallV7, &[LearnerV7]), ["learner-v7", "static-route"], v7(&[LearnerV7])),
            (dynamic(with(&[LearnerV7])), ["learner-v7", "small-v7"], v7(&[LearnerV7])),
            (with(&[FrontV3Lut]).without(FrontV3), ["front-v3-lut", "front-v3"], with(&[FrontV3Lut])),
            (with(&[EnvSnapshotCtor]), ["env-snapshot-ctor", "env-snapshot"], with(&[EnvSnapshot, EnvSnapshotCtor])),
            (with(&[HeaderLight, HeaderFull]), ["header-light", "header-full"], with(&[HeaderFull])),
            (with(&[HeaderInline]), ["header-inline", "header-light"], with(&[HeaderInline, HeaderLight])),
            (
                with(&[HeapProfileLegacy, HeapProfileC7UltraBench]),
                ["heap-profile-legacy", "heap-profile-c7-ultra-bench"],
                with(&[HeapProfileC7UltraBench]),
            ),
            (
                routed(C7, Route::PoolV1, &[PoolFlatten]),
                ["pool-flatten", "C7_SAFE"],
                routed(C7, Route::PoolV1, &[PoolFlatten, HeapProfileLegacy]),
            ),
            (
                with(&[PoolFlatten, HeapProfileLegacy]),
                ["pool-flatten", "pool-v1"],
                routed(C6, Route::SmallV5, &[PoolFlatten, HeapProfileLegacy]),
            ),
            (with(&[PoolFlattenStats]), ["pool-flatten-stats", "pool-flatten"], BASE),
            (
                with(&[PoolZeroHeader]),
                ["pool-zero-header", "pool-v1"],
                routed(C7, Route::PoolV2, &[PoolZeroHeader, PoolInuseDeferred, MidDescCache]),
            ),
            (with(&[PoolInuseDeferred]), ["pool-inuse-deferred", "pool-v2"], BASE),
            (with(&[MidDescCache]), ["mid-desc-cache", "pool-v2"], BASE),
            (
                routed(C7, Route::PoolV1, &[PoolInuseHash]),
                ["pool-inuse-hash", "pool-inuse-deferred"],
                routed(C7, Route::PoolV1, &[PoolInuseHash, PoolInuseStats, PoolInuseDeferred]),
            ),
            (routed(C7, Route::PoolV1, &[PoolInuseStats]), ["pool-inuse-stats", "pool-inuse-deferred"], BASE),
            (
                routed(C7, Route::Ultra, &[C6UltraIntrusive]),
                ["c6-ultra-intrusive", "route ultra"],
                routed(C6, Route::Ultra, &[C6UltraIntrusive]),
            ),
            (
                with(&[SmallSegmentV4]),
                ["small-segment-v4", "small-v4"],
                routed(C6, Route::SmallV4, &[SmallSegmentV4, FastClassifyV4]),
            ),
            (with(&[FastClassifyV4]), ["fast-classify-v4", "small-v4"], BASE),
            (with(&[SmallV3Stats]), ["small-v3-stats", "small-v3"], routed(C7, Route::SmallV3, &[SmallV3Stats])),
            (
                with(&[MidV35HeaderPrefill]),
                ["mid-v35-header-prefill", "mid-v35"],
                routed(C5, Route::MidV35, &[MidV35HeaderPrefill, MidV35HotCounts]),
            ),
            (with(&[MidV35HotCounts]), ["mid-v35-hot-counts", "mid-v35"], BASE),
            (
                routed(C5, Route::MidV35, &[MidV35C6Fast]),
                ["mid-v35-c6-fast", "C6"],
                routed(C6, Route::MidV35, &[MidV35C6Fast]),
            ),
            (with(&[FreeKeep, DisableBatch]), ["free-keep", "disable-batch"], with(&[DisableBatch])),
            (with(&[FreeKeep, MadviseStrict]), ["free-keep", "madvise-strict"], with(&[MadviseStrict])),
            (with(&[HeapStatsDump]), ["heap-stats-dump", "heap-stats"], with(&[HeapStatsDump, FreePathStats])),
            (routed(C4, Route::SmallV4, &[]), ["route", "serve"], routed(C7, Route::SmallV4, &[])),
            (routed(C0, Route::Ultra, &[]), ["route", "serve"], BASE),
            (BASE.routed(Routes(0xf00)), ["number", "no route"], BASE),
        ]
    }

    #[test]
    fn contradictions_are_named_with_a_remedy() {
        for (wrong, expected, right) in cases() {
            let problem = contradiction(&wrong).unwrap_or_else(|| panic!("{wrong:?} is taken for possible"));
            assert!(expected.iter().all(|part| problem.contains(part)), "{problem}: not about {expected:?}");
            assert!(problem.contains(": "), "no remedy: {problem}");
            assert_eq!(contradiction(&right), None);
            assert_eq!(wrong.problem(), Some(problem));
        }
    }

    #[test]
    fn what_is_not_built_cannot_be_had() {
        assert_eq!(BASE.problem(), None);
        for &knob in Knob::ALL {
            match knob.standing() {
                Standing::Ready => {}
                Standing::BuiltIn => assert_eq!(unbuilt(&BASE.without(knob)), Some(knob.refusal())),
                Standing::Missing => assert_eq!(unbuilt(&BASE.with(knob)), Some(knob.refusal())),
            }
        }
        assert!(routed(Class::C6, Route::MidV35, &[]).problem().is_some_and(|problem| problem.contains("legacy")));
    }
}

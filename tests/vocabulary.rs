//! Every decision of the original has its place here, and every place has its name: environment variables, knobs,
//! routes, cargo features, preset files and the types that they become.

use hakmem::PRESETS;
use hakmem::config::{Class, Knob, Place, Route, Standing, VARIABLES};
use std::collections::{BTreeMap, BTreeSet};

/// The variables of hakmem by the table of its records, without the prefix `HAKMEM_`; a row of the table a line.
const ORIGINAL: &str = "
    PROFILE
    BENCH_MIN_SIZE BENCH_MAX_SIZE
    FORCE_LIBC_ALLOC
    FASTLANE_DIRECT
    WRAP_SHAPE
    TINY_ALLOC_ROUTE_SHAPE
    TINY_STATIC_ROUTE
    FREE_STATIC_ROUTE
    FREE_TINY_FAST_HOTCOLD
    TINY_ALLOC_DUALHOT
    TINY_LARSON_FIX
    FREE_TINY_DIRECT
    ENV_SNAPSHOT
    ENV_SNAPSHOT_CTOR
    FREE_WRAPPER_ENV_SNAPSHOT
    MALLOC_WRAPPER_ENV_SNAPSHOT
    WRAP_ENV_CACHE
    TINY_FREE_POLICY_FAST_V2 POLICY_FAST_PATH_V2
    ALLOC_GATE_SHAPE
    TINY_PREFETCH
    TINY_METADATA_CACHE
    TINY_HEADER_MODE
    TINY_HEADER_ALWAYS_INLINE
    TINY_FRONT_V3_ENABLED TINY_FRONT_V3_LUT_ENABLED
    TINY_PTR_FAST_CLASSIFY_ENABLED
    TINY_PTR_FAST_CLASSIFY_V4_ENABLED
    TINY_HEAP_PROFILE
    TINY_C7_HOT TINY_C6_HOT
    TINY_HOTHEAP_V2
    SMALL_HEAP_V3_ENABLED SMALL_HEAP_V3_CLASSES SMALL_HEAP_V3_STATS
    SMALL_HEAP_V4_ENABLED SMALL_HEAP_V4_CLASSES SMALL_SEGMENT_V4_ENABLED
    SMALL_HEAP_V5_ENABLED SMALL_HEAP_V5_CLASSES
    SMALL_HEAP_V7_ENABLED SMALL_HEAP_V7_CLASSES SMALL_LEARNER_V7_ENABLED
    MID_V3_ENABLED MID_V3_CLASSES
    MID_V35_ENABLED MID_V35_CLASSES
    MID_V35_HEADER_PREFILL
    MID_V35_HOT_COUNTS
    MID_V35_C6_FASTPATH
    TINY_C6_ULTRA_FREE_ENABLED
    TINY_C6_ULTRA_INTRUSIVE_FL
    POOL_V2_ENABLED
    POOL_V1_FLATTEN_ENABLED POOL_V1_FLATTEN_STATS
    POOL_ZERO_MODE
    POOL_MID_INUSE_DEFERRED POOL_MID_INUSE_DEFERRED_STATS POOL_MID_INUSE_MAP_KIND
    MID_DESC_CACHE_ENABLED
    FREE_POLICY DISABLE_BATCH SS_MADVISE_STRICT THP
    TINY_HEAP_STATS TINY_HEAP_STATS_DUMP FREE_PATH_STATS
";

/// The profiles of hakmem.
const PROFILES: [&str; 11] = [
    "MIXED_TINYV3_C7_SAFE",
    "C6_HEAVY_LEGACY_POOLV1",
    "C6_HEAVY_LEGACY_POOLV1_FLATTEN",
    "C6_SMALL_HEAP_V3_EXPERIMENT",
    "C6_SMALL_HEAP_V4_EXPERIMENT",
    "C6_SMALL_HEAP_V5_STUB",
    "C6_ONLY_SMALLOBJECT_V4",
    "C7_C6_V4_EXPERIMENT",
    "DEBUG_TINY_FRONT_PERF",
    "C5_C6_SMALL_HEAP_V7_LEARNER",
    "C6_ULTRA_INTRUSIVE_EXPERIMENT_V12",
];

const MANIFEST: &str = include_str!("../Cargo.toml");

/// Fails with what only one of two sets has.
#[track_caller]
fn assert_same<T: Ord + std::fmt::Debug>(what: &str, left: BTreeSet<T>, right: BTreeSet<T>) {
    let (only_left, only_right): (Vec<_>, Vec<_>) =
        (left.difference(&right).collect(), right.difference(&left).collect());
    assert!(only_left.is_empty() && only_right.is_empty(), "{what}: {only_left:?} against {only_right:?}");
}

#[test]
fn every_variable_of_the_original_has_its_place() {
    let original: Vec<_> = ORIGINAL.split_whitespace().collect();
    assert_eq!((original.len(), VARIABLES.len()), (68, 68));
    assert_same(
        "only in the records, only in the vocabulary",
        original.into_iter().collect(),
        VARIABLES.iter().map(|variable| variable.name).collect(),
    );
}

#[test]
fn every_knob_and_route_comes_from_a_variable() {
    let mut knobs = BTreeSet::new();
    let mut routes = BTreeSet::new();
    for variable in VARIABLES {
        match variable.place {
            Place::Knob(knob) => drop(knobs.insert(knob.name())),
            Place::Knobs(several) => {
                assert!(several.len() > 1, "{}", variable.name);
                knobs.extend(several.iter().map(|knob| knob.name()));
            }
            Place::Route(route) => drop(routes.insert(route.name())),
            Place::RouteOf(route, class) => {
                assert!(route.classes().has(class), "{}", variable.name);
                routes.insert(route.name());
            }
            // The classes of a route that another variable switches on.
            Place::Classes(route) => {
                let switched_on = |place| place == Place::Route(route);
                assert!(VARIABLES.iter().any(|other| switched_on(other.place)), "{}", variable.name);
            }
            Place::Preset => assert_eq!(variable.name, "PROFILE"),
            Place::Tool(argument) => assert!(!argument.is_empty(), "{}", variable.name),
        }
    }
    assert_same("without a variable", Knob::ALL.iter().map(|knob| knob.name()).collect(), knobs);
    // LEGACY is what a class has where nothing else is said, and pool v1 what mid sizes had before there were routes.
    routes.extend([Route::Legacy.name(), Route::PoolV1.name()]);
    assert_same("without a variable", Route::ALL.iter().map(|route| route.name()).collect(), routes);
}

/// Every feature that the vocabulary asks for.
fn wanted_features() -> BTreeSet<String> {
    let mut flips: Vec<String> = Knob::ALL.iter().map(|knob| knob.name().to_owned()).collect();
    for route in Route::ALL.into_iter().filter(|&route| route != Route::Legacy) {
        let served = Class::ALL.into_iter().filter(|&class| route.classes().has(class));
        flips.extend(served.map(|class| format!("{}-{}", route.name(), class.name().to_lowercase())));
    }
    let presets = PRESETS.iter().map(|preset| format!("preset-{}", preset.name));
    let both = flips.iter().flat_map(|flip| [flip.clone(), format!("no-{flip}")]);
    presets.chain(both).chain(["default", "preset-file"].map(Into::into)).collect()
}

/// The features of Cargo.toml.
fn features() -> BTreeSet<String> {
    let manifest: toml::Table = MANIFEST.parse().expect("cargo has read it");
    let features = manifest["features"].as_table().expect("a table of features");
    for (name, others) in features {
        assert!(others.as_array().is_some_and(Vec::is_empty), "{name} is more than its name: it switches others on");
    }
    features.keys().cloned().collect()
}

#[test]
fn the_features_are_the_vocabulary() {
    let features = features();
    assert!(features.len() <= 300, "crates.io takes no more than 300 features");
    assert_same("only in Cargo.toml, only in the vocabulary", features, wanted_features());
}

/// What describes each feature: the comment in the line above it, or for a `no-` twin that of the feature above it.
fn descriptions() -> BTreeMap<&'static str, &'static str> {
    let mut descriptions = BTreeMap::new();
    let lines: Vec<_> = MANIFEST.lines().collect();
    for pair in lines.windows(2) {
        let Some(feature) = pair[1].strip_suffix(" = []") else { continue };
        let comment = pair[0].strip_prefix("# ").filter(|text| !text.starts_with('-'));
        let twin = feature.strip_prefix("no-").filter(|twin| pair[0].strip_suffix(" = []") == Some(twin));
        if let Some(text) = comment.or_else(|| descriptions.get(twin?).copied()) {
            descriptions.insert(feature, text);
        }
    }
    descriptions
}

#[test]
fn every_feature_has_a_comment_that_says_whether_it_is_built() {
    let described = descriptions();
    let undescribed: Vec<_> = features().into_iter().filter(|name| !described.contains_key(name.as_str())).collect();
    assert_eq!(undescribed, ["default"]);
    let mark = |name: &str, mark: &str| {
        let text = described[name];
        let marks: Vec<_> = ["(always on)", "(not built)"].into_iter().filter(|mark| text.contains(mark)).collect();
        assert_eq!(marks.concat(), mark, "{name}: {text}");
    };
    for &knob in Knob::ALL {
        let expected = match knob.standing() {
            Standing::Ready => "",
            Standing::BuiltIn => "(always on)",
            Standing::Missing => "(not built)",
        };
        mark(knob.name(), expected);
    }
    for route in Route::ALL.into_iter().filter(|&route| route != Route::Legacy) {
        for class in Class::ALL.into_iter().filter(|&class| route.classes().has(class)) {
            let expected = if route.ready() { "" } else { "(not built)" };
            mark(&format!("{}-{}", route.name(), class.name().to_lowercase()), expected);
        }
    }
    for preset in PRESETS {
        let text = described[format!("preset-{}", preset.name).as_str()];
        let expected = match preset.hakmem {
            "" => format!("{}.", preset.summary),
            hakmem => format!("{} ({hakmem}).", preset.summary),
        };
        assert_eq!(text, expected, "{}", preset.name);
    }
}

#[test]
fn every_profile_of_the_original_is_a_preset() {
    let followed: Vec<_> = PRESETS.iter().map(|preset| preset.hakmem).filter(|hakmem| !hakmem.is_empty()).collect();
    for profile in PROFILES {
        assert_eq!(followed.iter().filter(|&&other| other == profile).count(), 1, "{profile}");
    }
    assert_eq!(followed.len(), PROFILES.len(), "{followed:?}");
}

#[test]
fn a_presets_type_has_the_words_of_its_file() {
    macro_rules! words {
        ($($name:ident)*) => { [$((stringify!($name), hakmem::$name::WORDS)),*] };
    }
    let types = words!(
        C5c6V7 C6Heavy C6HeavyFlatten C6OnlyV4 C6Ultra C6V3 C6V4 C6V5 C7c6V4 DebugFront Mixed
    );
    let listed: Vec<_> = PRESETS.iter().map(|preset| (preset.type_name, preset.words)).collect();
    assert_eq!(listed, types);
}

/// What the words of the standard are, written down a second time.
#[test]
fn mixed_is_what_its_file_says() {
    let words = hakmem::Mixed::WORDS;
    let on: Vec<_> = Knob::ALL.iter().filter(|&&knob| words.has(knob)).map(|knob| knob.name()).collect();
    let built_in = Knob::ALL.iter().filter(|knob| knob.standing() == Standing::BuiltIn).map(|knob| knob.name());
    assert_eq!(on, ["free-dualhot"].into_iter().chain(built_in).collect::<Vec<_>>());
    assert!(Class::ALL.iter().all(|&class| words.routes().of(class) == Some(Route::Legacy)));
    let mixed = PRESETS.iter().find(|preset| preset.name == "mixed").expect("the standard");
    assert_eq!(mixed.awaits, ["c7-hot", "small-v3 on C7"]);
    assert_eq!(mixed.profile, "release");
}

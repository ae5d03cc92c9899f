//! What the build script makes of preset files and features, and what it says where they are wrong: the place, what is
//! wrong with it, and a remedy, word for word.
//!
//! Cargo builds the script and shows that a mistake fails the build; the other cases run it without cargo, in
//! milliseconds.

mod support;

use hakmem::config::{Bins, Class, Classes, Geometry, Knob, Route, Routes, Words};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Names the file of the feature `preset-file`.
const FILE_VARIABLE: &str = "HAKMEM_PRESET_FILE";

/// A file `NAME.toml` in a directory that goes with the value.
struct PresetFile {
    _dir: TempDir,
    path: PathBuf,
}

impl PresetFile {
    fn new(name: &str, text: &str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let path = dir.path().join(name).with_extension("toml");
        fs::write(&path, text).expect("the directory is writable");
        Self { _dir: dir, path }
    }
}

/// `cargo check` of the library, in a target directory of its own.
fn check(features: &str, file: &Path) -> Output {
    Command::new(env!("CARGO"))
        .args(["check", "--package", "hakmem-alloc", "--message-format", "json", "--features", features])
        .current_dir(support::root())
        .env("CARGO_TARGET_DIR", support::root().join("target/preset-files"))
        .env(FILE_VARIABLE, file)
        .output()
        .expect("the cargo that built this test exists")
}

/// The build script, as cargo builds it. Cargo stops where the script reports a mistake: the library is not compiled.
fn script() -> &'static Path {
    static SCRIPT: OnceLock<PathBuf> = OnceLock::new();
    SCRIPT.get_or_init(|| {
        let file = PresetFile::new("own", "summary = 'A preset'\ncolour = 'red'\n");
        let output = check("preset-file", &file.path);
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "a mistake does not fail the build:\n{messages}");
        let error = format!(
            "{}: colour: there is no such key. Remedy: leave it out; the keys here are summary, hakmem, profile, \
             knobs, routes, geometry and awaits.\n",
            file.path.display()
        );
        assert!(messages.contains(&error), "{messages}");
        let source = format!("\"src_path\":\"{}\"", support::root().join("build.rs").display());
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter(|line| line.contains("\"compiler-artifact\"") && line.contains(&source))
            .flat_map(|line| line.split('"'))
            .map(PathBuf::from)
            .find(|path| path.is_absolute() && path.file_name().is_some_and(|name| name == "build-script-build"))
            .expect("cargo names the script that it built")
    })
}

/// What the build script said and wrote.
#[derive(Debug)]
struct Said {
    lines: Vec<String>,
    presets: String,
}

impl Said {
    /// The values of the instructions `cargo::KEY=`.
    fn values(&self, key: &str) -> Vec<&str> {
        let start = format!("cargo::{key}=");
        self.lines.iter().filter_map(|line| line.strip_prefix(&start)).collect()
    }

    /// Fails unless there are exactly these mistakes, and nothing was written.
    #[track_caller]
    fn assert_errors(&self, expected: &[String]) {
        assert_eq!(self.values("error"), expected);
        assert_eq!(self.presets, "", "it writes types in spite of mistakes");
    }

    /// Fails unless `Selected` is a type of its own with these words, under the library name `name`.
    #[track_caller]
    fn assert_selected(&self, name: &str, words: Words) {
        assert_eq!(self.values("error"), [""; 0]);
        assert_eq!(self.values("metadata"), [format!("preset={name}")]);
        assert_eq!(self.values("rustc-cfg"), ["hakmem_preset"]);
        let (_, selected) = self.presets.split_once("pub Selected in selected = ").expect("a type of its own");
        let selected: String = selected.split_whitespace().collect::<Vec<_>>().join(" ");
        let Words { routes, knobs, bins, numbers } = words;
        let expected =
            format!("Words {{ routes: {routes:#x}, knobs: {knobs:#x}, bins: {bins:#x}, numbers: {numbers:#x}, }} }}");
        assert_eq!(selected, expected);
    }
}

/// Runs the build script in `directory`, without cargo.
fn run_in(directory: &Path, features: &[&str], file: Option<&Path>) -> Said {
    let out = tempfile::tempdir().expect("a temporary directory can be made");
    let mut command = Command::new(script());
    command.current_dir(directory).env_clear().env("OUT_DIR", out.path());
    for feature in features {
        command.env(format!("CARGO_FEATURE_{}", feature.to_uppercase().replace('-', "_")), "1");
    }
    if let Some(file) = file {
        command.env(FILE_VARIABLE, file);
    }
    let output = command.output().expect("the script starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let presets = fs::read_to_string(out.path().join("presets.rs")).unwrap_or_default();
    Said { lines: text.lines().map(Into::into).collect(), presets }
}

fn run(features: &[&str], file: Option<&Path>) -> Said {
    run_in(support::root(), features, file)
}

/// Runs the build script with a preset file of the user's, `own.toml`.
fn run_with_file(text: &str) -> (Said, String) {
    let file = PresetFile::new("own", text);
    (run(&["preset-file"], Some(&file.path)), file.path.display().to_string())
}

/// What stands in a preset file, and what is said about it behind the file's name.
const MISTAKES: &[(&str, &[&str])] = &[
    ("[knobs]", &["summary: it is missing. Remedy: say in a line what the preset is for: `summary = \"...\"`."]),
    ("summary = 3", &["summary: this is of type integer, not a string. Remedy: write `summary = \"...\"`."]),
    ("summary = ' '", &["summary: a text of one line is wanted. Remedy: write `summary = \"...\"`."]),
    ("summary = \"a\\nb\"", &["summary: a text of one line is wanted. Remedy: write `summary = \"...\"`."]),
    ("summary = 'x'\nprofil = 'release'", &["profil: there is no such key. Remedy: write `profile`."]),
    ("summary = 'x'\nknobs = true", &["knobs: this is of type boolean, not a table. Remedy: write `[knobs]`."]),
    (
        "summary = 'x'\nprofile = 'fast'",
        &["profile: `fast` is no profile of presets. Remedy: write `release` or `unoptimised`."],
    ),
    (
        "summary = 'x'\nhakmem = 'mixed'",
        &["hakmem: `mixed` is no profile of the original. Remedy: write it as there, in upper-case letters, digits \
             and underscores, or leave it out."],
    ),
    (
        "summary = 'x'\n[knobs]\non = ['fre-dualhott', 'free_keep']",
        &[
            "knobs.on: there is no knob `fre-dualhott`. Remedy: write `free-dualhot`.",
            "knobs.on: there is no knob `free_keep`. Remedy: write `free-keep`.",
        ],
    ),
    (
        "summary = 'x'\n[knobs]\non = ['no-free-keep', 'haste']\noff = 'free-keep'",
        &[
            "knobs.on: there is no knob `no-free-keep`. Remedy: write `free-keep` under `off`.",
            "knobs.on: there is no knob `haste`. Remedy: take one of those that Cargo.toml lists as features.",
            "knobs.off: this is of type string, not a list of strings. Remedy: write `off = [\"...\"]`.",
        ],
    ),
    (
        "summary = 'x'\n[knobs]\non = ['prefetch', 3]\noff = ['prefetch']",
        &[
            "knobs.on: this is of type integer, not a string. Remedy: write `on = [\"...\"]`.",
            "knobs.off: `prefetch` is named twice. Remedy: name it once, under `on` or under `off`.",
        ],
    ),
    (
        "summary = 'x'\n[knobs]\non = ['free-keep', 'disable-batch']",
        &["knobs: free-keep gives nothing back, disable-batch all at once. Remedy: take one of the two away."],
    ),
    (
        "summary = 'x'\n[routes]\nC6 = 'legcy'\nC8 = 'legacy'\n0x1ff = 'legacy'\nC1 = 3",
        &[
            "routes.0x1ff: `0x1ff` is no class and no mask of classes. Remedy: write C0 to C7, or a mask from \
             \"0x01\" to \"0xff\", whose bit n is class Cn.",
            "routes.C1: this is of type integer, not a string. Remedy: write `C1 = \"legacy\"`.",
            "routes.C6: there is no route `legcy`. Remedy: write `legacy`.",
            "routes.C8: `C8` is no class and no mask of classes. Remedy: write C0 to C7, or a mask from \"0x01\" to \
             \"0xff\", whose bit n is class Cn.",
        ],
    ),
    (
        "summary = 'x'\n[routes]\nall = 'fastest'\n0x60 = 'legacy'\nC6 = 'legacy'",
        &[
            "routes.C6: C6 is named by `0x60` already. Remedy: name each class once, those that are left by `all`.",
            "routes.all: there is no route `fastest`. Remedy: take one of legacy, ultra, mid-v3, mid-v35, small-v3, \
             small-v4, small-v5, small-v7, pool-v1 and pool-v2.",
        ],
    ),
    (
        "summary = 'x'\n[geometry]\nbins = [16, 33, 1100, 0, 99999, 16, 1024]",
        &[
            "geometry.bins: no block can have 33 bytes. Remedy: take 32 or 48.",
            "geometry.bins: no block can have 1100 bytes. Remedy: take 1024 or 1152.",
            "geometry.bins: no block can have 0 bytes. Remedy: take 16.",
            "geometry.bins: no block can have 99999 bytes. Remedy: take 32768.",
            "geometry.bins: 16 is named twice. Remedy: name it once.",
        ],
    ),
    (
        "summary = 'x'\n[geometry]\nbins = 'fibonacci'\npage = '64K'\npages = 1",
        &[
            "geometry.pages: there is no such key. Remedy: write `page`.",
            "geometry.bins: there is no table of bins `fibonacci`. Remedy: write `steps`, `powers` or a list of sizes \
             in bytes.",
            "geometry.page: this is of type string, not an integer. Remedy: write `page = 65536`.",
        ],
    ),
    (
        "summary = 'x'\n[geometry]\nbins = [16, 64]",
        &["geometry: the bins must include 1024 bytes and be 84 at most. Remedy: add 1024, or leave some sizes out."],
    ),
    (
        "summary = 'x'\n[geometry]\npage = 65537",
        &["geometry: a page has 64 or 128 KiB. Remedy: set `page` to 65536 or 131072."],
    ),
    (
        "summary = 'x'\n[geometry]\nsegment = -2097152",
        &["geometry: a segment has 8, 16 or 32 pages. Remedy: set `segment` to that many times `page`."],
    ),
    (
        "summary = 'x'\n[geometry]\nmagazine = 319",
        &["geometry: a magazine holds 2 to 63 blocks. Remedy: set `magazine` accordingly."],
    ),
    (
        "summary = 'x'\n[geometry]\nmagazine = { C6 = 'all', 0xc0 = 3, C7 = 3 }\npreallocated = 'tiny'",
        &[
            "geometry.magazine.C6: this is of type string, not an integer. Remedy: write `C6 = 32`.",
            "geometry.magazine.C7: C7 is named by `0xc0` already. Remedy: name each class once, those that are left \
             by `all`.",
            "geometry.preallocated: `tiny` is no class and no mask of classes. Remedy: write C0 to C7, or a mask from \
             \"0x01\" to \"0xff\", whose bit n is class Cn.",
        ],
    ),
    (
        "summary = 'x'\n[geometry]\nmagazine-bytes = 3000",
        &["geometry: `magazine-bytes` is a power of two from 1 KiB to 1 MiB. Remedy: set it accordingly, in bytes."],
    ),
    (
        "summary = 'x'\n[awaits]\non = ['free-keep', 'front-v3']\noff = ['prefetch', 'c6-hot']",
        &[
            "awaits.on: `free-keep` is built. Remedy: move it up to `on` of [knobs].",
            "awaits.on: `front-v3` is on in every preset. Remedy: leave it out.",
            "awaits.off: `prefetch` is built. Remedy: move it up to `off` of [knobs].",
            "awaits.off: `c6-hot` is off in every preset. Remedy: leave it out.",
        ],
    ),
    (
        "summary = 'x'\n[awaits]\nroutes = { C5 = 'legacy' }",
        &["awaits.routes.C5: the route `legacy` is built. Remedy: move it up to [routes]."],
    ),
    (
        "summary = 'x'\n[awaits]\nroutes = { C5 = 'small-v5' }",
        &["awaits.routes.C5: the route `small-v5` does not serve C5. Remedy: give it another one, `small-v5` serves \
             C6."],
    ),
    (
        "summary = 'x'\n[awaits]\nroutes = 'ultra'",
        &["awaits.routes: this is of type string, not a table. Remedy: write `[awaits.routes]`."],
    ),
    (
        "summary = 'x'\n[awaits]\non = ['c6-ultra-intrusive']",
        &["awaits: c6-ultra-intrusive is ULTRA's list for C6. Remedy: give C6 the route ultra, or take it away."],
    ),
    (
        "summary = 'x'\n[knobs]\non = ['larson-fix']\noff = ['fastlane-direct']\n[routes]\nC6 = 'small-v5'",
        &[
            "knobs.on: `larson-fix` cannot be switched on: the route that it belongs to is not built. Remedy: move it \
             to `on` of [awaits].",
            "knobs.off: `fastlane-direct` cannot be taken away: the layered front end, in which hakmem's gates can be \
             taken apart, is not built. Remedy: move it to `off` of [awaits].",
            "routes.C6: the route `small-v5` is not built. Remedy: move it to `routes` of [awaits].",
        ],
    ),
];

#[test]
fn every_mistake_in_a_preset_file_is_named_with_a_remedy() {
    for (text, expected) in MISTAKES {
        println!("{text}");
        let (said, path) = run_with_file(text);
        said.assert_errors(&expected.iter().map(|rest| format!("{path}: {rest}")).collect::<Vec<_>>());
    }
}

/// What is wrong is what the parser says, which is not ours to decide.
#[test]
fn a_mistake_in_the_syntax_is_named_by_its_line() {
    for text in ["summary = 'x'\n[knobs\non = []", "summary = 'x'\nsummary = 'y'", "\nsummary = '"] {
        let (said, path) = run_with_file(text);
        let errors = said.values("error");
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with(&format!("{path}: line 2: no valid TOML: ")), "{errors:?}");
        assert!(errors[0].ends_with(". Remedy: correct it; https://toml.io describes the syntax."), "{errors:?}");
        assert_eq!(said.presets, "");
    }
}

#[test]
fn a_file_needs_a_name_of_its_own() {
    let remedy = "rename the file: lower-case letters, digits and dashes, a letter first and no dash last";
    let plain = |name: &str| format!("`{name}` cannot name a preset. Remedy: {remedy}.");
    let cases = [
        ("Own", plain("Own")),
        ("own_one", plain("own_one")),
        ("1st", plain("1st")),
        ("own-", plain("own-")),
        ("selected", "the name `selected` has another meaning. Remedy: rename the file.".into()),
        ("type", "the name `type` has another meaning. Remedy: rename the file.".into()),
        ("path", "the name `path` has another meaning. Remedy: rename the file.".into()),
        (
            "mixed",
            "the library has a preset `mixed` of its own. Remedy: rename the file, or use the feature preset-mixed."
                .into(),
        ),
    ];
    for (name, expected) in cases {
        let file = PresetFile::new(name, "summary = 'x'");
        run(&["preset-file"], Some(&file.path)).assert_errors(&[format!("{}: {expected}", file.path.display())]);
    }
}

#[test]
fn preset_file_needs_a_file() {
    run(&["preset-file"], None).assert_errors(&[format!(
        "features: preset-file is given without the environment variable {FILE_VARIABLE}. Remedy: set it to the path \
         of a preset file, or name a preset of the library."
    )]);
    run(&["preset-file"], Some(Path::new("no/such.toml"))).assert_errors(&[format!(
        "no/such.toml: No such file or directory (os error 2). Remedy: give {FILE_VARIABLE} the path of a preset \
         file, absolute or from {} on.",
        fs::canonicalize(support::root()).expect("the workspace is there").display()
    )]);
    // Without the feature nobody looks at the variable.
    let said = run(&["preset-mixed"], Some(Path::new("no/such.toml")));
    assert_eq!((said.values("error"), said.values("rerun-if-env-changed")), (vec![], vec![]));
}

#[test]
fn a_mistake_in_a_preset_of_the_library_is_named_by_its_path_in_the_repository() {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    run_in(dir.path(), &[], None).assert_errors(&[
        "src/presets: No such file or directory (os error 2). Remedy: restore the preset files.".into(),
    ]);
    let presets = dir.path().join("src/presets");
    fs::create_dir_all(&presets).expect("the directory is writable");
    for (name, text) in [("b.toml", "summary = 'x'\ncolor = 1"), ("a.toml", ""), ("file.toml", ""), ("notes", "?")] {
        fs::write(presets.join(name), text).expect("the directory is writable");
    }
    run_in(dir.path(), &["preset-mixed"], None).assert_errors(&[
        "src/presets/a.toml: summary: it is missing. Remedy: say in a line what the preset is for: `summary = \"...\"`."
            .into(),
        "src/presets/b.toml: color: there is no such key. Remedy: leave it out; the keys here are summary, hakmem, \
         profile, knobs, routes, geometry and awaits."
            .into(),
        "src/presets/file.toml: the name `file` has another meaning. Remedy: rename the file.".into(),
    ]);
}

/// Features that do not go together, and what is said about them.
const QUARRELS: &[(&[&str], &[&str])] = &[
    (
        &["preset-mixed", "preset-c6-v3"],
        &["preset-c6-v3 and preset-mixed exclude each other: one library has one C ABI. Remedy: name one of them."],
    ),
    (
        &["free-keep", "no-ultra-c6"],
        &["no preset is chosen that no-ultra-c6 and free-keep could change. Remedy: add a feature such as \
             preset-mixed, or leave these out."],
    ),
    (
        &["preset-mixed", "free-keep", "no-free-keep", "ultra-c4", "no-ultra-c4"],
        &[
            "free-keep and no-free-keep contradict each other. Remedy: name one of them.",
            "ultra-c4 and no-ultra-c4 contradict each other. Remedy: name one of them.",
        ],
    ),
    (
        &["preset-mixed", "free-keep", "disable-batch"],
        &["preset-mixed, disable-batch and free-keep: free-keep gives nothing back, disable-batch all at once. \
             Remedy: take one of the two away; a feature no-NAME takes away what the preset has."],
    ),
    (
        &["preset-c6-ultra", "no-free-path-stats"],
        &["preset-c6-ultra and no-free-path-stats: heap-stats-dump has no counters to print. Remedy: add heap-stats \
             or free-path-stats, or take it away; a feature no-NAME takes away what the preset has."],
    ),
    (
        &["preset-mixed", "larson-fix", "no-front-v3", "small-v5-c6"],
        &[
            "no-front-v3: `front-v3` cannot be taken away: the layered front end, in which hakmem's gates can be \
             taken apart, is not built. Remedy: leave the feature out.",
            "larson-fix: `larson-fix` cannot be switched on: the route that it belongs to is not built. Remedy: leave \
             the feature out.",
            "small-v5-c6: the route `small-v5` is not built. Remedy: leave the feature out.",
        ],
    ),
    (
        &["preset-mixed", "small-v3-c7", "pool-v1-c7"],
        &[
            "small-v3-c7 and pool-v1-c7 give C7 more than one route. Remedy: name one of them.",
            "small-v3-c7: the route `small-v3` is not built. Remedy: leave the feature out.",
            "pool-v1-c7: the route `pool-v1` is not built. Remedy: leave the feature out.",
        ],
    ),
];

#[test]
fn features_that_do_not_go_together_are_named_with_a_remedy() {
    for (features, expected) in QUARRELS {
        println!("{features:?}");
        run(features, None).assert_errors(&expected.iter().map(|rest| format!("features: {rest}")).collect::<Vec<_>>());
    }
    let file = PresetFile::new("own", "summary = 'x'");
    run(&["preset-file", "preset-mixed"], Some(&file.path)).assert_errors(&[
        "features: preset-mixed and preset-file exclude each other: one library has one C ABI. Remedy: name one of \
         them."
            .into(),
    ]);
}

#[test]
fn without_features_nothing_is_chosen() {
    let said = run(&[], None);
    assert_eq!(said.values("error"), [""; 0]);
    assert_eq!((said.values("metadata"), said.values("rustc-cfg")), (vec![], vec![]));
    assert!(said.presets.contains("pub Mixed in mixed = ") && !said.presets.contains("Selected"));
}

#[test]
fn a_preset_is_chosen_as_it_is_and_idle_features_are_warned_of() {
    let said = run(&["preset-mixed", "free-dualhot", "no-heap-stats", "no-ultra-c6"], None);
    assert!(said.presets.contains("pub type Selected = crate::Mixed;"));
    assert_eq!(said.values("metadata"), ["preset=mixed"]);
    assert_eq!(
        said.values("warning"),
        [
            "the feature no-heap-stats has no effect: the preset mixed does not have that",
            "the feature no-ultra-c6 has no effect: the preset mixed does not have that",
            "the feature free-dualhot has no effect: the preset mixed has that already",
        ]
    );
}

#[test]
fn features_change_the_preset_and_the_librarys_name() {
    let mixed = hakmem::Mixed::WORDS;
    let said = run(&["preset-mixed", "prefetch", "no-free-dualhot", "free-keep"], None);
    let words = mixed.with(Knob::Prefetch).without(Knob::FreeDualhot).with(Knob::FreeKeep);
    said.assert_selected("mixed-free-keep-no-free-dualhot-prefetch", words);
    run(&["preset-c5c6-v7", "free-dualhot"], None)
        .assert_selected("c5c6-v7-free-dualhot", hakmem::C5c6V7::WORDS.with(Knob::FreeDualhot));
}

/// A preset file with a bit of everything, and its words.
const GOOD: &str = r#"
summary = "A preset with [brackets] and `ticks`."
profile = "unoptimised"
[knobs]
on = ["free-dualhot", "fastlane-direct"]
off = ["heap-stats"]
[routes]
all = "legacy"
C6 = "legacy"
0x80 = "legacy"
[geometry]
bins = [16, 48, 1024, 1152, 32768]
page = 131072
segment = 4194304
magazine = { all = 20, C6 = 32, "0x81" = 16 }
magazine-bytes = 65536
first-bytes = 1024
preallocated = "0x0f"
[awaits]
on = ["learner-v7"]
off = ["static-route", "free-static-route"]
routes = { "0x60" = "small-v7", C7 = "pool-v2" }
"#;

fn good() -> Words {
    let geometry = Geometry {
        bins: [16, 48, 1024, 1152, 32768].into_iter().fold(Bins::NONE, |bins, size| bins.with(size).expect("possible")),
        page: 128 << 10,
        segment: 4 << 20,
        magazine: [16, 20, 20, 20, 20, 20, 32, 16],
        magazine_bytes: 64 << 10,
        first_bytes: 1 << 10,
        preallocated: Classes::TINY,
    };
    Words::new(Routes::all(Route::Legacy).with(Class::C6, Route::Legacy), geometry).with(Knob::FreeDualhot)
}

#[test]
fn a_file_becomes_words() {
    let (said, path) = run_with_file(GOOD);
    said.assert_selected("own", good());
    assert_eq!(said.values("warning"), [""; 0]);
    assert_eq!(said.values("rerun-if-env-changed"), [FILE_VARIABLE]);
    assert!(said.values("rerun-if-changed").contains(&path.as_str()));
    let awaits = "`learner-v7`, `no-static-route`, `no-free-static-route`, `small-v7 on C5`, `small-v7 on C6` and \
                  `pool-v2 on C7`";
    assert!(said.presets.contains(awaits), "{}", said.presets);
    assert!(!said.presets.contains("\"own\""), "the list is for the library's presets");

    let file = PresetFile::new("own", "summary = 'Nothing else'\n[geometry]\nbins = 'powers'\nmagazine = 2");
    let geometry = Geometry { bins: Bins::POWERS, magazine: [2; 8], ..Geometry::STANDARD };
    run(&["preset-file", "free-keep"], Some(&file.path))
        .assert_selected("own-free-keep", Words::new(Routes::all(Route::Legacy), geometry).with(Knob::FreeKeep));
}

#[test]
fn what_the_script_writes_compiles() {
    let file = PresetFile::new("own", GOOD);
    for features in ["preset-file,free-keep", "preset-mixed,no-free-dualhot", "preset-c6-ultra"] {
        let output = check(features, &file.path);
        assert!(output.status.success(), "{features}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

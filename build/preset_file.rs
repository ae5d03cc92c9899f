//! The format of a preset file, `src/presets/NAME.toml`, and what can be wrong with one.
//!
//! ```toml
//! summary = "Blocks of 16 to 1024 bytes"  # what it is for
//! hakmem = "MIXED_TINYV3_C7_SAFE"         # the profile of the original, if it follows one
//! profile = "release"                     # the cargo profile that it is built with: this one, or "unoptimised"
//! [knobs]                                 # against the knobs that are on in every preset
//! on = ["free-dualhot"]
//! off = []
//! [routes]                                # class, mask of classes or `all` to route; `all` is `legacy` if not given
//! C6 = "legacy"
//! [geometry]                              # what is left out is as in Geometry::STANDARD
//! bins = "steps"                          # or "powers", or a list of sizes in bytes
//! page = 65536
//! segment = 2097152
//! magazine = 63                           # or by class, as [routes]
//! magazine-bytes = 32768
//! first-bytes = 8192
//! preallocated = "0x0f"                   # a class or a mask of classes
//! [awaits]                                # what it would have besides, if that were built
//! on = ["c7-hot"]
//! off = ["static-route"]
//! routes = { "0x80" = "small-v3" }
//! ```

use crate::config::{Class, Knob, Route, Routes, Standing, Words};
use crate::geometry;
use crate::mistakes::{Mistakes, list, nearest};
use crate::section::Section;
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// What a preset file says.
pub struct PresetFile {
    /// Its name without `.toml`.
    pub name: String,
    /// What it is for.
    pub summary: String,
    /// The profile of the original; may be empty.
    pub hakmem: String,
    /// The cargo profile.
    pub profile: String,
    /// Routes, knobs and geometry.
    pub words: Words,
    /// What it would have besides.
    pub awaits: Vec<String>,
}

/// Names that mean something else: as the feature `preset-file`, as a type of the library, or, for the module, in Rust.
const RESERVED: &[&str] = &[
    "file",
    "selected",
    "front",
    "instance",
    "path",
    "preset",
    "statistics",
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// The preset of the file at `path`, which messages call `shown`, or all that is wrong with it.
pub fn read(path: &Path, shown: &str) -> Result<PresetFile, Vec<String>> {
    let mistakes = Mistakes::of(shown);
    let preset = name(path, &mistakes).and_then(|name| {
        let table = parse(path, &mistakes)?;
        preset(name, &table, &mistakes)
    });
    match preset {
        Some(preset) if mistakes.none() => Ok(preset),
        _ => Err(mistakes.into_list()),
    }
}

/// The name of the preset in the file at `path`.
fn name(path: &Path, mistakes: &Mistakes) -> Option<String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let plain = stem.bytes().all(|letter| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if !plain || !stem.starts_with(|letter: char| letter.is_ascii_lowercase()) || stem.ends_with('-') {
        let what = format!("`{stem}` cannot name a preset");
        mistakes.add(
            "",
            what,
            "rename the file: lower-case letters, digits and dashes, a letter first and no dash last",
        );
        return None;
    }
    if RESERVED.contains(&&*stem) {
        mistakes.add("", format!("the name `{stem}` has another meaning"), "rename the file");
        return None;
    }
    Some(stem.into_owned())
}

fn parse(path: &Path, mistakes: &Mistakes) -> Option<Table> {
    let text = fs::read_to_string(path)
        .map_err(|error| mistakes.add("", format!("cannot be read: {error}"), "put a preset file there"))
        .ok()?;
    text.parse()
        .map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let what = format!("no valid TOML: {}", error.message().replace('\n', ", "));
            mistakes.add(&format!("line {line}"), what, "correct it; https://toml.io describes the syntax");
        })
        .ok()
}

fn preset(name: String, table: &Table, mistakes: &Mistakes) -> Option<PresetFile> {
    let keys = ["summary", "hakmem", "profile", "knobs", "routes", "geometry", "awaits"];
    let root = Section::root(mistakes, table, &keys);
    if root.value("summary").is_none() {
        root.wrong("summary", "it is missing", "say in a line what the preset is for: `summary = \"...\"`");
    }
    let summary = root.text("summary").unwrap_or_default().to_owned();
    let hakmem = root.text("hakmem").unwrap_or_default().to_owned();
    if !hakmem.bytes().all(|letter| matches!(letter, b'A'..=b'Z' | b'0'..=b'9' | b'_')) {
        let remedy = "write it as there, in upper-case letters, digits and underscores, or leave it out";
        root.wrong("hakmem", format!("`{hakmem}` is no profile of the original"), remedy);
    }
    let profile = root.text("profile").unwrap_or("release").to_owned();
    if !["release", "unoptimised"].contains(&profile.as_str()) {
        root.wrong("profile", format!("`{profile}` is no profile of presets"), "write `release` or `unoptimised`");
    }

    let on_off = root.section("knobs", &["on", "off"]);
    let turned = knobs(&on_off, |knob, on| match (knob.standing(), on) {
        (Standing::Missing, true) => Some((knob.refusal().into(), "move it to `on` of [awaits]")),
        (Standing::BuiltIn, false) => Some((knob.refusal().into(), "move it to `off` of [awaits]")),
        _ => None,
    });
    let served = routes(&root.section("routes", &[]), |route| {
        let what = format!("the route `{}` is not built", route.name());
        (!route.ready()).then_some((what, "move it to `routes` of [awaits]"))
    });
    let awaits = root.section("awaits", &["on", "off", "routes"]);
    let awaited_knobs = knobs(&awaits, |knob, on| match (knob.standing(), on) {
        (Standing::Ready, true) => Some((format!("`{}` is built", knob.name()), "move it up to `on` of [knobs]")),
        (Standing::Ready, false) => Some((format!("`{}` is built", knob.name()), "move it up to `off` of [knobs]")),
        (Standing::BuiltIn, true) => Some((format!("`{}` is on in every preset", knob.name()), "leave it out")),
        (Standing::Missing, false) => Some((format!("`{}` is off in every preset", knob.name()), "leave it out")),
        _ => None,
    });
    let awaited_routes = routes(&awaits.section("routes", &[]), |route| {
        let what = format!("the route `{}` is built", route.name());
        route.ready().then_some((what, "move it up to [routes]"))
    });
    let geometry = geometry::read(&root.section("geometry", geometry::KEYS));
    if !mistakes.none() {
        return None;
    }
    if let Some(sentence) = geometry.problem() {
        mistakes.add_sentence("geometry", sentence);
        return None;
    }

    let with_routes = |words: Words, routes: &[Option<Route>; 8]| {
        let given = Class::ALL.into_iter().zip(routes).filter_map(|(class, route)| Some((class, (*route)?)));
        words.routed(given.fold(words.routes(), |routes, (class, route)| routes.with(class, route)))
    };
    let plain = with_routes(Words::new(Routes::all(Route::Legacy), geometry), &served);
    let words = turned.iter().fold(plain, with_knob);
    if let Some(sentence) = words.problem() {
        mistakes.add_sentence(if plain.problem().is_some() { "routes" } else { "knobs" }, sentence);
        return None;
    }
    let wished = awaited_knobs.iter().fold(with_routes(words, &awaited_routes), with_knob);
    if let Some(sentence) = wished.contradiction() {
        mistakes.add_sentence("awaits", sentence);
        return None;
    }

    let missing_knobs =
        awaited_knobs.iter().map(|&(knob, on)| format!("{}{}", if on { "" } else { "no-" }, knob.name()));
    let missing_routes = Class::ALL
        .into_iter()
        .zip(awaited_routes)
        .filter_map(|(class, route)| Some(format!("{} on {}", route?.name(), class.name())));
    let awaits = missing_knobs.chain(missing_routes).collect();
    Some(PresetFile { name, summary, hakmem, profile, words, awaits })
}

fn with_knob(words: Words, &(knob, on): &(Knob, bool)) -> Words {
    if on { words.with(knob) } else { words.without(knob) }
}

/// The knobs that the keys `on` and `off` name. `refuse` gives what is wrong with one, and the remedy.
fn knobs(section: &Section<'_>, refuse: impl Fn(Knob, bool) -> Option<(String, &'static str)>) -> Vec<(Knob, bool)> {
    let mut found: Vec<(Knob, bool)> = Vec::new();
    for (key, on) in [("on", true), ("off", false)] {
        for name in section.names(key) {
            let Some(knob) = Knob::named(name) else {
                let remedy = match name.strip_prefix("no-").and_then(Knob::named) {
                    Some(knob) => format!("write `{}` under `off`", knob.name()),
                    None => {
                        let known = Knob::ALL.iter().map(|knob| knob.name());
                        nearest(name, known, "take one of those that Cargo.toml lists as features")
                    }
                };
                section.wrong(key, format!("there is no knob `{name}`"), remedy);
                continue;
            };
            if found.iter().any(|&(other, _)| other == knob) {
                section.wrong(key, format!("`{name}` is named twice"), "name it once, under `on` or under `off`");
            } else if let Some((what, remedy)) = refuse(knob, on) {
                section.wrong(key, what, remedy);
            }
            found.push((knob, on));
        }
    }
    found
}

/// The route of each class that `section` names. `refuse` gives what is wrong with a route, and the remedy.
fn routes(section: &Section<'_>, refuse: impl Fn(Route) -> Option<(String, &'static str)>) -> [Option<Route>; 8] {
    let given = section.by_class(|key, value| {
        let Value::String(name) = value else {
            return section.unlike(key, value, "a string", &format!("{key} = \"legacy\""));
        };
        let Some(route) = Route::ALL.into_iter().find(|route| route.name() == name) else {
            let known = Route::ALL.map(Route::name);
            let remedy = nearest(name, known, format!("take one of {}", list(known)));
            section.wrong(key, format!("there is no route `{name}`"), remedy);
            return None;
        };
        if let Some((what, remedy)) = refuse(route) {
            section.wrong(key, what, remedy);
            return None;
        }
        Some(route)
    });
    for class in Class::ALL {
        let Some((key, route)) = given[class as usize] else { continue };
        if !route.classes().has(class) {
            let served = Class::ALL.into_iter().filter(|&class| route.classes().has(class)).map(Class::name);
            let remedy = format!("give it another one, `{}` serves {}", route.name(), list(served));
            section.wrong(key, format!("the route `{}` does not serve {}", route.name(), class.name()), remedy);
        }
    }
    given.map(|found| found.map(|(_, route)| route))
}

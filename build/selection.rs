//! The features: which preset is the C ABI, and how it differs from its file.
//!
//! `preset-NAME` or `preset-file` chooses a preset. A flip changes it: `KNOB` and `no-KNOB`, and `ROUTE-cN` and
//! `no-ROUTE-cN`, which put class CN on a route and back on `legacy`.

use crate::config::{Class, Knob, Route, Standing, Words};
use crate::mistakes::{Mistakes, list};
use crate::preset_file::PresetFile;

/// What the features chose.
pub struct Selection<'a> {
    /// The preset that they name.
    pub preset: &'a PresetFile,
    /// Whether it is one of the library's own, which have a type already.
    pub own: bool,
    /// Its words after the flips.
    pub words: Words,
    /// The flips that have an effect, sorted.
    pub flips: Vec<String>,
}

impl Selection<'_> {
    /// The preset's name with the flips behind it, as in `mixed-no-free-dualhot`: it tells libraries apart.
    pub fn name(&self) -> String {
        let parts: Vec<_> = std::iter::once(&self.preset.name).chain(&self.flips).map(String::as_str).collect();
        parts.join("-")
    }
}

/// What a flip changes.
#[derive(Clone, Copy)]
enum Subject {
    Knob(Knob),
    Route(Route, Class),
}

impl Subject {
    /// Every one of them.
    fn all() -> impl Iterator<Item = Self> {
        let routed = |route: Route| {
            let classes = Class::ALL.into_iter().filter(move |&class| route.classes().has(class));
            classes.map(move |class| Self::Route(route, class))
        };
        let routes = Route::ALL.into_iter().filter(|&route| route != Route::Legacy);
        Knob::ALL.iter().map(|&knob| Self::Knob(knob)).chain(routes.flat_map(routed))
    }

    /// The feature that adds it; behind `no-`, the one that takes it away.
    fn feature(self) -> String {
        match self {
            Self::Knob(knob) => knob.name().to_owned(),
            Self::Route(route, class) => format!("{}-{}", route.name(), class.name().to_lowercase()),
        }
    }

    fn is_in(self, words: Words) -> bool {
        match self {
            Self::Knob(knob) => words.has(knob),
            Self::Route(route, class) => words.routes().serves(route, class),
        }
    }

    fn flip(self, words: Words, on: bool) -> Words {
        match self {
            Self::Knob(knob) if on => words.with(knob),
            Self::Knob(knob) => words.without(knob),
            Self::Route(route, class) => {
                words.routed(words.routes().with(class, if on { route } else { Route::Legacy }))
            }
        }
    }

    /// Why it cannot be flipped that way.
    fn refusal(self, on: bool) -> Option<String> {
        match self {
            Self::Knob(knob) => match (knob.standing(), on) {
                (Standing::Missing, true) | (Standing::BuiltIn, false) => Some(knob.refusal().to_owned()),
                _ => None,
            },
            Self::Route(route, _) => {
                (on && !route.ready()).then(|| format!("the route `{}` is not built", route.name()))
            }
        }
    }
}

/// What the features choose from `presets` and `file`, the one that `preset-file` names. None if they choose nothing,
/// or nothing possible; then there are mistakes. Features without an effect become `warnings`.
pub fn select<'a>(
    presets: &'a [PresetFile],
    file: Option<&'a PresetFile>,
    enabled: impl Fn(&str) -> bool,
    mistakes: &Mistakes,
    warnings: &mut Vec<String>,
) -> Option<Selection<'a>> {
    let flips = flips(&enabled, mistakes);
    let named = presets.iter().filter(|preset| enabled(&format!("preset-{}", preset.name)));
    let chosen: Vec<_> = named.map(|preset| (preset, true)).chain(file.map(|preset| (preset, false))).collect();
    let feature = |&(preset, own): &(&PresetFile, bool)| match own {
        true => format!("preset-{}", preset.name),
        false => "preset-file".to_owned(),
    };
    let (preset, own) = match chosen[..] {
        [chosen] => chosen,
        [] if flips.is_empty() => return None,
        [] => {
            let changes = list(flips.iter().map(|flip| &*flip.feature));
            let what = format!("no preset is chosen that {changes} could change");
            mistakes.add("", what, "add a feature such as preset-mixed, or leave these out");
            return None;
        }
        _ => {
            let what = format!("{} exclude each other: one library has one C ABI", list(chosen.iter().map(feature)));
            mistakes.add("", what, "name one of them");
            return None;
        }
    };

    let mut selection = Selection { preset, own, words: preset.words, flips: Vec::new() };
    for flip in flips {
        if flip.subject.is_in(preset.words) == flip.on {
            let state = if flip.on { "has that already" } else { "does not have that" };
            let what = format!("the feature {} has no effect: the preset {} {state}", flip.feature, preset.name);
            warnings.push(what);
        } else if let Some(what) = flip.subject.refusal(flip.on) {
            mistakes.add(&flip.feature, what, "leave the feature out");
        } else {
            selection.words = flip.subject.flip(selection.words, flip.on);
            selection.flips.push(flip.feature);
        }
    }
    selection.flips.sort();
    if !mistakes.none() {
        return None;
    }
    if let Some(sentence) = selection.words.problem() {
        let features = list(std::iter::once(feature(&(preset, own))).chain(selection.flips));
        mistakes.add_sentence(&features, &format!("{sentence}; a feature no-NAME takes away what the preset has"));
        return None;
    }
    Some(selection)
}

/// A feature that changes a preset.
struct Flip {
    feature: String,
    subject: Subject,
    on: bool,
}

/// The flips that are enabled: first what they take away, then what they add, so that a class which leaves a route for
/// another ends on that.
fn flips(enabled: &impl Fn(&str) -> bool, mistakes: &Mistakes) -> Vec<Flip> {
    let (mut removed, mut added): (Vec<Flip>, Vec<Flip>) = Default::default();
    for subject in Subject::all() {
        let add = subject.feature();
        let remove = format!("no-{add}");
        match (enabled(&add), enabled(&remove)) {
            (true, true) => {
                mistakes.add("", format!("{add} and {remove} contradict each other"), "name one of them");
            }
            (true, false) => added.push(Flip { feature: add, subject, on: true }),
            (false, true) => removed.push(Flip { feature: remove, subject, on: false }),
            (false, false) => {}
        }
    }
    for class in Class::ALL {
        let here = |flip: &&Flip| matches!(flip.subject, Subject::Route(_, other) if other == class);
        let routes: Vec<_> = added.iter().filter(here).map(|flip| &*flip.feature).collect();
        if routes.len() > 1 {
            let what = format!("{} give {} more than one route", list(routes), class.name());
            mistakes.add("", what, "name one of them");
        }
    }
    removed.into_iter().chain(added).collect()
}

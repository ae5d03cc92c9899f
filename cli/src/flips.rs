//! What `--with` and `--without` change about a preset: features of the core, and their traces in a library's name.

use std::collections::BTreeSet;

use hakmem::config::{Class, Knob, Route};

use crate::mistakes::nearest;

/// The features, sorted as they are in the library's name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flips(Vec<String>);

impl Flips {
    /// `with` is added, `without` taken away.
    pub fn new(with: &[String], without: &[String]) -> Self {
        let removed = without.iter().map(|name| format!("no-{name}"));
        // A set: sorted, each once.
        let features: BTreeSet<_> = with.iter().cloned().chain(removed).collect();
        Self(features.into_iter().collect())
    }

    /// The features of the core.
    pub fn features(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The flips that had no effect on the library `soname` of `preset`: its name has those that had one. None if it is
    /// not that preset's library with flips among these.
    pub fn idle(&self, soname: &str, preset: &str) -> Option<Vec<&str>> {
        let named = soname.strip_prefix("libhakmem-")?.strip_prefix(preset)?.strip_suffix(".so")?;
        idle(named, &self.0)
    }
}

/// The flips whose names are not in `named`, which is made of the others, each behind a dash.
fn idle<'a>(named: &str, flips: &'a [String]) -> Option<Vec<&'a str>> {
    let Some((first, others)) = flips.split_first() else {
        return named.is_empty().then(Vec::new);
    };
    let rest = named.strip_prefix('-').and_then(|named| named.strip_prefix(first.as_str()));
    // A name may begin with another one: heap-stats-dump.
    if let Some(found) = rest.and_then(|rest| idle(rest, others)) {
        return Some(found);
    }
    let mut found = idle(named, others)?;
    found.insert(0, first);
    Some(found)
}

/// Reads an argument that names a knob, or a route with the class that is put on it.
pub fn parse(name: &str) -> Result<String, String> {
    let known: Vec<String> = names().collect();
    if known.iter().any(|known| known == name) {
        return Ok(name.into());
    }
    let near = nearest(name, known.iter().map(String::as_str), "take one of those that `hakmem presets --knobs` lists");
    Err(format!("there is no such knob. Remedy: {near}"))
}

/// What can be flipped: the knobs, and the routes by class. Behind the command line, the build says what cannot be.
fn names() -> impl Iterator<Item = String> {
    let knobs = Knob::ALL.iter().map(|knob| knob.name().into());
    let routes = Route::ALL.into_iter().filter(|&route| route != Route::Legacy);
    let routed = routes.flat_map(|route| {
        let classes = Class::ALL.into_iter().filter(move |&class| route.classes().has(class));
        classes.map(move |class| format!("{}-{}", route.name(), class.name().to_lowercase()))
    });
    knobs.chain(routed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flips(names: &[&str]) -> Flips {
        Flips(names.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn flips_are_the_features_of_the_core() {
        let manifest = include_str!("../../Cargo.toml");
        let features: BTreeSet<&str> = manifest
            .lines()
            .filter_map(|line| Some(line.split_once(" = [")?.0))
            .filter(|name| manifest.contains(&format!("\nno-{name} = [")))
            .collect();
        let names: BTreeSet<String> = names().collect();
        assert!(names.iter().map(String::as_str).eq(features.iter().copied()), "{names:?}\n{features:?}");
    }

    #[test]
    fn they_are_sorted_and_each_is_there_once() {
        let with = ["prefetch", "free-keep", "prefetch"].map(String::from);
        assert_eq!(Flips::new(&with, &["free-dualhot".into()]), flips(&["free-keep", "no-free-dualhot", "prefetch"]));
        assert_eq!(Flips::new(&[], &[]), Flips::default());
    }

    #[test]
    fn the_name_tells_what_had_an_effect() {
        let two = flips(&["no-free-dualhot", "prefetch"]);
        assert_eq!(two.idle("libhakmem-mixed-no-free-dualhot-prefetch.so", "mixed"), Some(vec![]));
        assert_eq!(two.idle("libhakmem-mixed-prefetch.so", "mixed"), Some(vec!["no-free-dualhot"]));
        assert_eq!(two.idle("libhakmem-mixed.so", "mixed"), Some(vec!["no-free-dualhot", "prefetch"]));
        // Another preset, another flip, another order.
        assert_eq!(two.idle("libhakmem-c6-heavy.so", "mixed"), None);
        assert_eq!(two.idle("libhakmem-c6-heavy-flatten.so", "c6-heavy"), None);
        assert_eq!(two.idle("libhakmem-mixed-free-keep.so", "mixed"), None);
        assert_eq!(two.idle("libhakmem-mixed-prefetch-no-free-dualhot.so", "mixed"), None);
        assert_eq!(Flips::default().idle("libhakmem-c6-heavy-flatten.so", "c6-heavy"), None);
        let stats = flips(&["heap-stats", "heap-stats-dump"]);
        assert_eq!(stats.idle("libhakmem-mixed-heap-stats-dump.so", "mixed"), Some(vec!["heap-stats"]));
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        assert_eq!(parse("free-keep"), Ok("free-keep".into()));
        assert_eq!(parse("ultra-c6"), Ok("ultra-c6".into()));
        assert!(parse("fre-keep").unwrap_err().contains("write `free-keep`"));
        assert!(parse("no-free-keep").unwrap_err().contains("write `free-keep`"));
        assert!(parse("bananas").unwrap_err().contains("hakmem presets --knobs"));
        assert!(parse("legacy-c6").is_err());
    }
}

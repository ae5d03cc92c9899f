//! The library that counts: that of a preset with the knobs of the counters, beside this executable.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, bail};
use hakmem::config::{Knob, Words};

use crate::compile;
use crate::flips::Flips;
use crate::library;
use crate::preset::{Choice, Preset};
use crate::remedy::OrRemedy;
use crate::sources::Sources;

/// What a library needs for `stats`.
const COUNTING: [Knob; 3] = [Knob::HeapStats, Knob::FreePathStats, Knob::HeapStatsDump];

/// The counting library of `preset`, which is what `choice` names; found beside this executable, or built there. The path
/// is absolute.
pub fn counting(choice: &Choice, preset: &Preset) -> anyhow::Result<PathBuf> {
    let with = missing(preset.words);
    if with.is_empty() {
        return library::of_preset(choice);
    }
    let executable = env::current_exe().or_remedy(|| "cannot tell where this executable is", "run it by its path")?;
    let directory = executable.parent().context("this executable is in no directory. Remedy: run it by its path")?;
    let sources = Sources::find();
    let path = directory.join(file_name(preset, &with));
    // That a library was made from this file and no other of its name only cargo knows.
    if preset.file.is_none() {
        let newest = sources.as_ref().map(Sources::newest).transpose()?;
        if current(&path, newest) {
            return Ok(path);
        }
    }
    let Some(sources) = sources else {
        bail!(
            "there is no {} in `{}`, and the sources to build it from are not where they were. Remedy: where they are, \
             build it with `hakmem build --preset {}{}`, and copy it there",
            file_name(preset, &with),
            directory.display(),
            preset.name,
            with.iter().map(|knob| format!(" --with {knob}")).collect::<String>()
        );
    };
    eprintln!("hakmem: building preset {} with counters", preset.name);
    compile::build(&sources, preset, &Flips::new(&with, &[]), directory)
}

/// The knobs that a preset of these words has not.
fn missing(words: Words) -> Vec<String> {
    let missing = COUNTING.into_iter().filter(|&knob| !words.has(knob));
    missing.map(|knob| knob.name().into()).collect()
}

/// The name of the file that `hakmem build` writes for the preset with those knobs.
fn file_name(preset: &Preset, with: &[String]) -> String {
    let flips = Flips::new(with, &[]);
    let features: Vec<_> = flips.features().collect();
    format!("libhakmem-{}-{}.so", preset.name, features.join("-"))
}

/// Whether the library at `path` is what its name says, and not older than `newest`, the newest source.
fn current(path: &std::path::Path, newest: Option<std::time::SystemTime>) -> bool {
    let modified = || std::fs::metadata(path).and_then(|found| found.modified());
    let new_enough = newest.is_none_or(|newest| modified().is_ok_and(|at| at >= newest));
    new_enough && library::soname_of(path).is_some_and(|soname| path.ends_with(soname))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::tests::mixed;

    #[test]
    fn a_preset_gets_the_counters_that_it_has_not() {
        let mixed = mixed();
        let with = missing(mixed.words);
        assert_eq!(with, ["heap-stats", "free-path-stats", "heap-stats-dump"]);
        assert_eq!(file_name(&mixed, &with), "libhakmem-mixed-free-path-stats-heap-stats-heap-stats-dump.so");
        let words = mixed.words.with(Knob::HeapStatsDump).with(Knob::FreePathStats);
        assert_eq!(missing(words), ["heap-stats"]);
        assert!(missing(words.with(Knob::HeapStats)).is_empty());
    }

    #[test]
    fn the_name_is_the_one_that_the_build_gives() {
        let with = missing(mixed().words);
        let name = file_name(&mixed(), &with);
        assert_eq!(Flips::new(&with, &[]).idle(&name, "mixed"), Some(vec![]));
    }
}

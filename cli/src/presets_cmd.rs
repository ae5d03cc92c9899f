//! `hakmem presets`: the list of presets, one of them in full, or what can be decided about one.

use serde_json::Value;

use crate::args::PresetsArgs;
use crate::preset::{Choice, Preset};
use crate::{json, knobs, show, text};

/// Prints what was asked for.
pub fn presets(args: &PresetsArgs) -> anyhow::Result<()> {
    let out = match (&args.preset, args.json) {
        (Some(choice), true) => pretty(&json::full(&choice.preset()?)),
        (Some(choice), false) => show::show(&choice.preset()?),
        (None, true) if args.knobs => pretty(&json::knobs()),
        (None, false) if args.knobs => knobs::list(),
        (None, true) => pretty(&all()?.iter().map(json::brief).collect()),
        (None, false) => list(&all()?),
    };
    text::print(&out)
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn all() -> anyhow::Result<Vec<Preset>> {
    Choice::all().iter().map(Choice::preset).collect()
}

/// Three columns: the last one, which is the longest, is broken where the line is full.
fn list(presets: &[Preset]) -> String {
    let column =
        |title: &str, length: fn(&Preset) -> usize| presets.iter().map(length).max().unwrap_or(0).max(title.len()) + 2;
    let (name, profile) = ("PRESET", "PROFILE OF HAKMEM");
    let (first, second) = (column(name, |preset| preset.name.len()), column(profile, |preset| preset.hakmem.len()));
    let line = |name: &str, profile: &str, summary: &str| {
        text::entry(&format!("{name:<first$}{profile}"), first + second, summary)
    };
    let lines = presets.iter().map(|preset| line(&preset.name, &preset.hakmem, &preset.summary));
    line(name, profile, "SUMMARY") + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_the_list_are_aligned() {
        let presets = all().unwrap();
        let list = list(&presets);
        assert!(list.lines().all(|line| line.len() <= text::WIDTH), "{list}");
        let title = list.lines().next().unwrap();
        let (profile, summary) = (title.find("PROFILE").unwrap(), title.find("SUMMARY").unwrap());
        for preset in &presets {
            let line = list.lines().find(|line| line.starts_with(&format!("{} ", preset.name))).unwrap();
            assert!(line[profile..].starts_with(&format!("{} ", preset.hakmem)), "{line}");
            assert!(preset.summary.starts_with(&line[summary..]), "{line}");
        }
    }
}

//! `hakmem ab --knobs`: every knob of a preset that can be flipped, flipped.

use hakmem::config::{Knob, Standing, Words};

use crate::bench::ab_args::AbArgs;
use crate::bench::comparison::{Comparison, Identical};
use crate::bench::progress::Progress;
use crate::bench::side::{Sides, Wanted};
use crate::bench::subject::Subject;
use crate::bench::{interrupt, report, table};
use crate::preset::Choice;
use crate::text;

/// A knob that is the other way round.
pub struct Flip {
    /// `KNOB` where the preset is without, `no-KNOB` where it has it.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What comes of a flip.
pub enum Outcome {
    /// It was measured against the preset.
    Compared(Box<Comparison>),
    /// It was not, and why.
    Skipped(&'static str),
}

/// Measures each flip against the preset, and prints a table.
pub fn knobs(args: &AbArgs, preset: &Choice, subject: &Subject) -> anyhow::Result<()> {
    let mut makers = Sides::default();
    let unchanged = makers.make(&Wanted::Preset(preset.clone(), Vec::new()))?;
    let preset_words = preset.preset()?.words;
    let method = args.method();
    // All are built before the first run: a compiler at work is bad company.
    let mut built = Vec::new();
    for (name, problem) in flips(preset_words) {
        interrupt::check()?;
        let side = match problem {
            Some(problem) => Err(problem),
            None => Ok(makers.make(&Wanted::Preset(preset.clone(), vec![name.clone()]))?),
        };
        built.push((name, side));
    }
    let measured = built.iter().filter(|(_, side)| side.is_ok()).count();
    let progress = Progress::new(measured * method.least_runs());
    let mut flips = Vec::new();
    for (name, side) in built {
        let outcome = match side {
            Err(problem) => Outcome::Skipped(problem),
            Ok(side) => match method.compare(subject, &[unchanged.clone(), side], &progress)? {
                Ok(comparison) => Outcome::Compared(Box::new(comparison)),
                Err(Identical) => Outcome::Skipped("the same code"),
            },
        };
        flips.push(Flip { name, outcome });
    }
    drop(progress);
    text::print(&match args.json {
        true => format!("{:#}\n", report::knobs_json(&unchanged.name, subject, &flips)),
        false => table::knobs(&unchanged.name, subject, &flips, args.markdown),
    })
}

/// The knobs of a preset that can be flipped, as features of the core, and what stands against it.
fn flips(words: Words) -> impl Iterator<Item = (String, Option<&'static str>)> {
    Knob::ALL.iter().filter(|knob| knob.standing() == Standing::Ready).map(move |&knob| {
        let (flipped, name) = match words.has(knob) {
            true => (words.without(knob), format!("no-{}", knob.name())),
            false => (words.with(knob), knob.name().into()),
        };
        (name, flipped.problem())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::tests::mixed;

    #[test]
    fn each_knob_is_turned_and_what_makes_no_sense_is_told() {
        let flips: Vec<_> = flips(mixed().words).collect();
        let ready = Knob::ALL.iter().filter(|knob| knob.standing() == Standing::Ready).count();
        assert_eq!(flips.len(), ready);
        assert!(flips.contains(&("no-free-dualhot".into(), None)));
        assert!(flips.contains(&("free-keep".into(), None)));
        // It means nothing alone.
        assert!(flips.iter().any(|(name, problem)| name == "heap-stats-dump" && problem.is_some()));
    }
}

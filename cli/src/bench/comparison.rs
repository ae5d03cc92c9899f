//! Two sides against each other: enough runs for a verdict, and what goes beside it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::bail;

use crate::bench::code::Code;
use crate::bench::measure::Rounds;
use crate::bench::progress::Progress;
use crate::bench::side::Side;
use crate::bench::subject::Subject;
use crate::bench::summary::{Estimate, median};
use crate::bench::verdict::{Verdict, is_close};
use crate::bench::{callgrind, interrupt};

/// hakmem's number of runs, and that of those which are added where the result is close.
pub const RUNS: usize = 10;

/// How a comparison is made.
pub struct Method {
    /// So many runs of each side, however close the result is.
    pub runs: Option<usize>,
    /// Compares a side with itself, too.
    pub allow_identical: bool,
    /// Counts instructions where that is possible.
    pub instructions: bool,
    /// The counts so far, by library: one that is compared with several others is counted once.
    pub counts: RefCell<HashMap<Option<PathBuf>, f64>>,
}

/// What came of a side.
pub struct Measured {
    /// What it is.
    pub side: Side,
    /// The file in which its `malloc` was found.
    pub malloc: PathBuf,
    /// The median of its runs.
    pub seconds: f64,
    /// The median of the peaks of its runs.
    pub peak_rss_kb: f64,
    /// The median, where operations are counted.
    pub ns_per_operation: Option<f64>,
    /// Where they are counted.
    pub instructions: Option<f64>,
}

/// What came of both.
pub struct Comparison {
    /// The runs of each.
    pub runs: usize,
    /// A and B.
    pub sides: [Measured; 2],
    /// How much faster B is than A, in percent: the mean over the rounds.
    pub mean: Estimate,
    /// The median over the rounds.
    pub median: Estimate,
    /// On B.
    pub verdict: Verdict,
    /// More runs would hardly change it.
    pub settled: bool,
    /// Why no instructions were counted.
    pub instructions_note: Option<String>,
}

/// The sides are the same code, and were not measured.
pub struct Identical;

impl Method {
    /// How many runs there are at least.
    pub fn least_runs(&self) -> usize {
        2 * self.runs.unwrap_or(RUNS)
    }

    /// Measures B against A.
    pub fn compare(
        &self,
        subject: &Subject,
        sides: &[Side; 2],
        progress: &Progress,
    ) -> anyhow::Result<Result<Comparison, Identical>> {
        let mallocs = [subject.prove(&sides[0])?, subject.prove(&sides[1])?];
        if !self.allow_identical && Code::of(&mallocs[0])? == Code::of(&mallocs[1])? {
            return Ok(Err(Identical));
        }
        let mut rounds = Rounds::new(subject, sides);
        rounds.add(self.runs.unwrap_or(RUNS), progress)?;
        let mut gains = Gains::of(&rounds);
        if self.runs.is_none() && is_close(&gains.mean, &gains.median) {
            progress.add(2 * RUNS);
            rounds.add(RUNS, progress)?;
            gains = Gains::of(&rounds);
        }
        interrupt::check()?;
        let (instructions, instructions_note) = match self.count(subject, sides, progress) {
            Ok(counts) => (counts.map(Some), None),
            Err(why) => {
                interrupt::check()?;
                ([None; 2], Some(why.to_string()))
            }
        };
        let mut mallocs = mallocs.into_iter();
        let sides = [0, 1].map(|index| {
            let seconds = median(&rounds.seconds(index));
            Measured {
                side: sides[index].clone(),
                malloc: mallocs.next().expect("there are two"),
                seconds,
                peak_rss_kb: median(&rounds.peaks(index)),
                ns_per_operation: rounds.operations().map(|operations| seconds * 1e9 / operations as f64),
                instructions: instructions[index],
            }
        });
        let Gains { mean, median } = gains;
        let verdict = Verdict::of(mean.value, median.value);
        let settled = !is_close(&mean, &median);
        Ok(Ok(Comparison { runs: rounds.len(), sides, mean, median, verdict, settled, instructions_note }))
    }

    /// Instructions per operation of both; an error says why there are none, and is no failure.
    fn count(&self, subject: &Subject, sides: &[Side; 2], progress: &Progress) -> anyhow::Result<[f64; 2]> {
        let Subject::Workload(workload, scale) = subject else { bail!("a program tells no operations") };
        if !self.instructions {
            bail!("not asked for");
        }
        if !callgrind::is_installed() {
            bail!("valgrind is not installed");
        }
        let mut counts = [0.0; 2];
        for (count, side) in counts.iter_mut().zip(sides) {
            let known = self.counts.borrow().get(&side.library).copied();
            *count = match known {
                Some(known) => known,
                None => {
                    interrupt::check()?;
                    progress.at(format!("{}, {}, instructions", workload.name, side.name));
                    callgrind::per_operation(workload, *scale, side)?
                }
            };
            self.counts.borrow_mut().insert(side.library.clone(), *count);
        }
        Ok(counts)
    }
}

/// How much faster B is, in percent.
struct Gains {
    mean: Estimate,
    median: Estimate,
}

impl Gains {
    fn of(rounds: &Rounds<'_>) -> Self {
        let gains: Vec<_> = rounds.speeds(0, 1).into_iter().map(gain).collect();
        Self { mean: Estimate::of_mean(&gains), median: Estimate::of_median(&gains) }
    }
}

/// A ratio as a gain in percent.
pub fn gain(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

impl Comparison {
    /// By how many percent B has more of something than A; None where there is nothing.
    pub fn more(&self, of: impl Fn(&Measured) -> Option<f64>) -> Option<f64> {
        let (a, b) = (of(&self.sides[0])?, of(&self.sides[1])?);
        (a > 0.0).then(|| gain(b / a))
    }
}

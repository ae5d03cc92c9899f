//! Runs in turn: in each round every side has one, and each round another side comes first, so that what changes about
//! the machine in the meantime changes for all.

use anyhow::bail;

use crate::bench::interrupt;
use crate::bench::progress::Progress;
use crate::bench::side::Side;
use crate::bench::subject::{Run, Subject};

/// The runs of each side, by round.
pub struct Rounds<'a> {
    subject: &'a Subject,
    sides: &'a [Side],
    runs: Vec<Vec<Run>>,
}

impl<'a> Rounds<'a> {
    /// None so far.
    pub fn new(subject: &'a Subject, sides: &'a [Side]) -> Self {
        Self { subject, sides, runs: vec![Vec::new(); sides.len()] }
    }

    /// So many rounds more.
    pub fn add(&mut self, rounds: usize, progress: &Progress) -> anyhow::Result<()> {
        for _ in 0..rounds {
            let round = self.runs[0].len();
            for index in order(round, self.sides.len()) {
                interrupt::check()?;
                let side = &self.sides[index];
                progress.at(format!("{}, {}", self.subject.name(), side.name));
                let run = self.subject.run(side)?;
                self.check(&run, side)?;
                self.runs[index].push(run);
                progress.done();
            }
        }
        Ok(())
    }

    /// Refuses a run that did other work than the first one.
    fn check(&self, run: &Run, side: &Side) -> anyhow::Result<()> {
        match self.runs.iter().flatten().next() {
            Some(first) if !run.did_the_same_as(first) => bail!(
                "{} did other work under {} than before. Remedy: report this; the figures would mean nothing",
                self.subject.name(),
                side.name
            ),
            _ => Ok(()),
        }
    }

    /// How many there are of each side.
    pub fn len(&self) -> usize {
        self.runs[0].len()
    }

    /// The seconds of a side's runs, by round.
    pub fn seconds(&self, side: usize) -> Vec<f64> {
        self.runs[side].iter().map(|run| run.seconds).collect()
    }

    /// The peak RSS of a side's runs in KB, by round.
    pub fn peaks(&self, side: usize) -> Vec<f64> {
        self.runs[side].iter().map(|run| run.peak_rss_kb).collect()
    }

    /// The operations of every run, where they are counted.
    pub fn operations(&self) -> Option<u64> {
        self.runs[0].first()?.operations
    }

    /// How many times as fast as `base` a side was, by round.
    pub fn speeds(&self, base: usize, side: usize) -> Vec<f64> {
        let pairs = self.runs[base].iter().zip(&self.runs[side]);
        pairs.map(|(base, side)| base.seconds / side.seconds).collect()
    }
}

/// The order of the sides in a round: each comes first in turn.
fn order(round: usize, sides: usize) -> impl Iterator<Item = usize> {
    (0..sides).map(move |place| (place + round) % sides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_side_comes_first_in_turn() {
        let orders: Vec<Vec<usize>> = (0..4).map(|round| order(round, 3).collect()).collect();
        assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
    }
}

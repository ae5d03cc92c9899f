//! The last report of each process, put together from its lines.

use std::collections::BTreeMap;

use hakmem::Path;
use hakmem::config::Class;

use super::counter::{Blocks, Count, Counter};

/// What a process has counted, or several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pages: Blocks,
    /// By size.
    bins: BTreeMap<usize, Blocks>,
    calls: [u64; Path::ALL.len()],
    /// The place of the line that came first.
    first: Option<(u8, usize)>,
}

impl Report {
    /// Whether a line is the first one of a new report. Lines come in order, and what was counted once is in every later
    /// report: so each begins with the line that this one began with, or before. One that comes later in the order goes on
    /// where a signal handler put its own report in between.
    fn ends_before(&self, count: Count) -> bool {
        self.first.is_some_and(|first| count.rank() <= first)
    }

    /// Adds a line. A new report takes the place of this one.
    fn take(&mut self, count: Count) {
        if self.ends_before(count) {
            *self = Self::default();
        }
        self.first = self.first.or(Some(count.rank()));
        match count {
            Count::Pages(blocks) => self.pages = blocks,
            Count::Bin { size, blocks } => _ = self.bins.insert(size, blocks),
            Count::Calls { path, calls } => self.calls[path as usize] = calls,
        }
    }

    /// The reports together.
    pub fn sum<'a>(reports: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for report in reports {
            sum.pages = sum.pages.plus(report.pages);
            for (&size, &blocks) in &report.bins {
                let bin = sum.bins.entry(size).or_default();
                *bin = bin.plus(blocks);
            }
            for (sum, calls) in sum.calls.iter_mut().zip(report.calls) {
                *sum = sum.saturating_add(calls);
            }
        }
        sum
    }

    /// Blocks of whole pages.
    pub fn pages(&self) -> Blocks {
        self.pages
    }

    /// The bins that were used, by size.
    pub fn bins(&self) -> impl Iterator<Item = (usize, Blocks)> {
        self.bins.iter().map(|(&size, &blocks)| (size, blocks))
    }

    /// The classes that were used, with the sums of their bins.
    pub fn classes(&self) -> Vec<(Class, Blocks)> {
        let mut classes: Vec<(Class, Blocks)> = Vec::new();
        for (size, blocks) in self.bins() {
            match classes.last_mut() {
                Some((class, sum)) if *class == Class::of(size) => *sum = sum.plus(blocks),
                _ => classes.push((Class::of(size), blocks)),
            }
        }
        classes
    }

    /// All blocks.
    pub fn all(&self) -> Blocks {
        self.bins().map(|(_, blocks)| blocks).fold(self.pages, Blocks::plus)
    }

    /// Calls of `malloc` or of `free` that took each path.
    pub fn calls(&self, function: Function) -> impl Iterator<Item = (Path, u64)> {
        let all = Path::ALL.into_iter().zip(self.calls);
        all.filter(move |(path, _)| path.name().split(' ').next() == Some(function.name()))
    }

    /// All calls of a function.
    pub fn total(&self, function: Function) -> u64 {
        self.calls(function).map(|(_, calls)| calls).fold(0, u64::saturating_add)
    }

    /// The part of a function's calls that took the hot path; None if there were none.
    pub fn hit_rate(&self, function: Function) -> Option<f64> {
        share(self.calls[function.hit() as usize], self.total(function))
    }
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    Malloc,
    Free,
}

impl Function {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Malloc, Self::Free];

    /// How the names of its paths begin.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malloc => "malloc",
            Self::Free => "free",
        }
    }

    fn hit(self) -> Path {
        match self {
            Self::Malloc => Path::AllocateHit,
            Self::Free => Path::FreeHit,
        }
    }
}

/// The part that `calls` are of `all`.
pub fn share(calls: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| calls as f64 / all as f64)
}

/// A process that has reported.
#[derive(Debug, PartialEq)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// What it is called, if it could still be asked.
    pub name: Option<String>,
    /// What it has counted.
    pub report: Report,
}

/// Every process that has reported, in the order in which they began to.
#[derive(Debug, Default)]
pub struct Reports(Vec<Process>);

impl Reports {
    /// Whether the line begins another report of its process, so that the one that is there is complete.
    pub fn ended_by(&self, counter: Counter) -> bool {
        self.of(counter.process).is_some_and(|process| process.report.ends_before(counter.count))
    }

    /// Takes a line; `name` tells what a process is called that was not known.
    pub fn take(&mut self, counter: Counter, name: impl FnOnce(u32) -> Option<String>) {
        let id = counter.process;
        // From the end: a build has thousands of processes, and few at a time.
        let index = self.0.iter().rposition(|process| process.id == id).unwrap_or_else(|| {
            self.0.push(Process { id, name: name(id), report: Report::default() });
            self.0.len() - 1
        });
        self.0[index].report.take(counter.count);
    }

    /// The process of that number.
    pub fn of(&self, id: u32) -> Option<&Process> {
        self.0.iter().find(|process| process.id == id)
    }

    /// All but the process of that number.
    pub fn others(&self, id: u32) -> impl Iterator<Item = &Process> {
        self.0.iter().filter(move |process| process.id != id)
    }

    /// Whether none has reported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::stats::counter::parse;

    /// What the lines report.
    pub fn reports(lines: &[&str]) -> Reports {
        let mut reports = Reports::default();
        for line in lines {
            let counter = parse(line.as_bytes()).unwrap_or_else(|| panic!("{line}"));
            reports.take(counter, |id| (id != 9).then(|| format!("program {id}")));
        }
        reports
    }

    /// Two processes, the second of which has no name.
    pub const LINES: [&str; 9] = [
        "hakmem[7]: whole pages: 3 allocated, 1 freed",
        "hakmem[7]: C5 208 bytes: 100 allocated, 40 freed",
        "hakmem[9]: C5 208 bytes: 1 allocated, 2 freed",
        "hakmem[7]: C5 240 bytes: 1000 allocated, 500 freed",
        "hakmem[9]: free hit 2",
        "hakmem[7]: C6 512 bytes: 7 allocated, 7 freed",
        "hakmem[7]: malloc hit 999",
        "hakmem[7]: malloc refill 1",
        "hakmem[7]: free null 5",
    ];

    #[test]
    fn lines_are_sorted_by_process() {
        let reports = reports(&LINES);
        let blocks = |allocated, freed| Blocks { allocated, freed };
        let report = &reports.of(7).unwrap().report;
        assert_eq!(report.pages(), blocks(3, 1));
        assert!(report.bins().eq([(208, blocks(100, 40)), (240, blocks(1000, 500)), (512, blocks(7, 7))]));
        assert_eq!(report.classes(), [(Class::C5, blocks(1100, 540)), (Class::C6, blocks(7, 7))]);
        assert_eq!(report.all(), blocks(1110, 548));
        assert_eq!((report.total(Function::Malloc), report.total(Function::Free)), (1000, 5));
        assert_eq!(report.hit_rate(Function::Malloc), Some(0.999));
        let others: Vec<_> = reports.others(7).collect();
        assert!(matches!(others[..], [Process { id: 9, name: None, .. }]), "{others:?}");
        assert_eq!(others[0].report.hit_rate(Function::Malloc), None);
    }

    #[test]
    fn a_new_report_takes_the_place_of_the_old_one() {
        let mut reports = reports(&LINES);
        let line = |text: &str| parse(text.as_bytes()).unwrap();
        let (first, second) =
            (line("hakmem[7]: C5 208 bytes: 101 allocated, 40 freed"), line("hakmem[7]: malloc hit 1001"));
        let before = line("hakmem[7]: whole pages: 3 allocated, 2 freed");
        assert!(reports.ended_by(before) && !reports.ended_by(first) && !reports.ended_by(second));
        reports.take(before, |_| None);
        assert_eq!(reports.of(7).unwrap().report.all(), Blocks { allocated: 3, freed: 2 });
        reports.take(first, |_| None);
        reports.take(second, |_| None);
        let report = &reports.of(7).unwrap().report;
        assert_eq!((report.all().allocated, report.total(Function::Malloc)), (104, 1001));
        assert_eq!(reports.of(9).unwrap().report.all(), Blocks { allocated: 1, freed: 2 });
    }

    #[test]
    fn a_report_within_a_report_loses_nothing() {
        // A signal comes between the second line and the third one.
        let within = [&LINES[..2], &LINES[..], &LINES[3..]].concat();
        assert_eq!(reports(&within).0, reports(&LINES).0);
    }

    #[test]
    fn reports_add_up() {
        let reports = reports(&LINES);
        let sum = Report::sum([7, 9].map(|id| &reports.of(id).unwrap().report));
        assert_eq!(sum.all(), Blocks { allocated: 1111, freed: 550 });
        assert_eq!(sum.classes()[0], (Class::C5, Blocks { allocated: 1101, freed: 542 }));
        assert_eq!(sum.total(Function::Free), 7);
    }
}

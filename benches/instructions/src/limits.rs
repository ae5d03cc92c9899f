//! The table of limits: a file that a person reads, and what it is compared with.

use crate::operation::{Operation, measured_as};
use crate::profile::Count;
use anyhow::{Context, Result, ensure};
use hakmem::PRESETS;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// How the gate is started, from the repository's root.
pub const COMMAND: &str = "cargo run --release --locked --manifest-path benches/instructions/Cargo.toml";

/// The head of the file, up to the compiler's version.
const HEAD: &str = "# Instructions per call

Hard limits, counted by callgrind. CI fails if a call takes one instruction more than its number here, and also if it
takes fewer and nobody recorded that. From the repository's root:

    COMMAND
    COMMAND -- --update
    COMMAND -- --update --rises

The first checks, as CI does. The second records falls, and rows and columns that are new or gone. The third records
rises as well, for a reason that stands in the commit message. This file is written by them and not by hand.

A number is instructions per call, the `ret` included; no loop and no driver is in it (`src/lib.rs` says how). In
`41 + 560` the second number is libc's part: `memset`, `memcpy`, what surrounds a system call. It may differ by a tenth
and one instruction, because another libc does the same work differently; hakmem's own part may not.

A column is a size, the most of its class: C1 to C7 are 16 to 1024 bytes; large is 2048 bytes, span 100,000, and huge
4 MiB.

";

/// What stands before the compiler's version, and after it.
const COMPILER: (&str, &str) = ("Recorded with `", "`.");

/// What follows.
const AFTER_COMPILER: &str = " With another
compiler a number may be higher by a tenth and one instruction, and lower by any amount, until it is recorded anew.
";

/// Instructions per call, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// hakmem's own.
    pub own: u64,
    /// libc's.
    pub libc: u64,
}

impl Cell {
    /// What `calls` calls cost, spread evenly.
    #[must_use]
    pub fn per_call(Count { own, libc }: Count, calls: u64) -> Self {
        let each = |count: u64| (count * 1000 + calls / 2) / calls;
        Self { own: each(own), libc: each(libc) }
    }

    fn parse(text: &str) -> Result<Self> {
        let (own, libc) = text.split_once('+').unwrap_or((text, "0"));
        let number = |text: &str| {
            let number = text.trim().parse::<f64>().ok().filter(|number| (0.0..1e12).contains(number));
            number.map(|number| (number * 1000.0).round() as u64).with_context(|| format!("`{text}` is no number"))
        };
        Ok(Self { own: number(own)?, libc: number(libc)? })
    }
}

impl Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |thousandths: u64| thousandths as f64 / 1000.0;
        match self.libc {
            0 => write!(f, "{}", number(self.own)),
            libc => write!(f, "{} + {}", number(self.own), number(libc)),
        }
    }
}

/// Where a cell stands: section, column, preset.
pub type Key = (String, String, String);

/// The cells of a table.
pub type Cells = BTreeMap<Key, Cell>;

/// A table and the compiler that it was recorded with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `rustc --version`.
    pub compiler: String,
    /// The numbers.
    pub cells: Cells,
}

/// How a cell differs from what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// More instructions.
    Rise(Cell, Cell),
    /// Fewer.
    Fall(Cell, Cell),
    /// libc's part differs.
    Libc(Cell, Cell),
    /// Not recorded.
    New(Cell),
    /// Recorded, but not measured any more.
    Gone(Cell),
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rise(old, new) => write!(f, "{old} -> {new}, a rise"),
            Self::Fall(old, new) => write!(f, "{old} -> {new}, a fall"),
            Self::Libc(old, new) => write!(f, "{old} -> {new}, in libc"),
            Self::New(new) => write!(f, "{new}, not recorded"),
            Self::Gone(old) => write!(f, "{old}, not measured any more"),
        }
    }
}

/// The most that stands for `recorded` where it cannot be expected to be exact.
fn about(recorded: u64) -> u64 {
    recorded + recorded / 10 + 1000
}

impl Limits {
    /// Reads a file that [`text`](Self::text) wrote.
    pub fn parse(text: &str) -> Result<Self> {
        let compiler = text.split_once(COMPILER.0).and_then(|(_, rest)| rest.split_once(COMPILER.1));
        let compiler = compiler.context("it does not say what it was recorded with")?.0.to_owned();
        let mut cells = Cells::new();
        let (mut section, mut columns) = ("", Vec::new());
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                (section, columns) = (title, Vec::new());
            }
            let Some(row) = line.strip_prefix('|').and_then(|row| row.trim_end().strip_suffix('|')) else { continue };
            let row: Vec<_> = row.split('|').map(str::trim).collect();
            if columns.is_empty() {
                columns = row;
                continue;
            }
            if row[0].starts_with("---") {
                continue;
            }
            ensure!(row.len() == columns.len(), "the row of {} in `{section}` has too few or too many cells", row[0]);
            for (column, cell) in columns.iter().zip(&row).skip(1) {
                let key = (section.to_owned(), (*column).to_owned(), row[0].to_owned());
                let cell = Cell::parse(cell).with_context(|| format!("{} of {} in `{section}`", column, row[0]))?;
                ensure!(cells.insert(key, cell).is_none(), "{} has two rows in `{section}`", row[0]);
            }
        }
        Ok(Self { compiler, cells })
    }

    /// The file. Every operation has a section, and every preset a row in it.
    ///
    /// # Panics
    /// If a cell is missing.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = HEAD.replace("COMMAND", COMMAND);
        text += &[COMPILER.0, &self.compiler, COMPILER.1, AFTER_COMPILER].concat();
        text += &shared();
        for operation in Operation::ALL {
            let columns = operation.columns();
            text += &format!("\n## {}\n\n{}\n\n", operation.title(), wrapped(operation.text()));
            let head = [vec!["preset".to_owned()], columns.iter().map(|&column| column.to_owned()).collect()].concat();
            let mut rows = vec![head];
            rows.extend(PRESETS.iter().map(|preset| {
                let key = |column: &str| (operation.title().to_owned(), column.to_owned(), preset.name.to_owned());
                let cells = columns.iter().map(|column| self.cells[&key(column)].to_string());
                [preset.name.to_owned()].into_iter().chain(cells).collect()
            }));
            text += &aligned(&rows);
        }
        text
    }

    /// How `measured` differs from what is recorded here, as far as that may not be.
    #[must_use]
    pub fn compare(&self, measured: &Self) -> BTreeMap<Key, Difference> {
        let exact = self.compiler == measured.compiler;
        let mut differences = BTreeMap::new();
        for (key, &new) in &measured.cells {
            let difference = match self.cells.get(key).copied() {
                None => Some(Difference::New(new)),
                Some(old) if new.own > if exact { old.own } else { about(old.own) } => Some(Difference::Rise(old, new)),
                Some(old) if new.own < old.own && exact => Some(Difference::Fall(old, new)),
                Some(old) if new.libc > about(old.libc) || old.libc > about(new.libc) => {
                    Some(Difference::Libc(old, new))
                }
                Some(_) => None,
            };
            differences.extend(difference.map(|difference| (key.clone(), difference)));
        }
        let gone = self.cells.iter().filter(|(key, _)| !measured.cells.contains_key(*key));
        differences.extend(gone.map(|(key, &old)| (key.clone(), Difference::Gone(old))));
        differences
    }
}

/// A line for each difference, presets that have the same one together.
#[must_use]
pub fn report(differences: &BTreeMap<Key, Difference>) -> String {
    let mut groups: BTreeMap<(&str, &str, Difference), Vec<&str>> = BTreeMap::new();
    for ((section, column, preset), &difference) in differences {
        groups.entry((section, column, difference)).or_default().push(preset);
    }
    let line = |((section, column, difference), presets): (&(&str, &str, Difference), &Vec<&str>)| {
        let presets = if presets.len() == PRESETS.len() { "every preset".to_owned() } else { presets.join(", ") };
        format!("{section}, {column}: {difference} ({presets})\n")
    };
    groups.iter().map(line).collect()
}

/// Which presets share their measurements.
fn shared() -> String {
    let mut text = String::new();
    for preset in PRESETS {
        let same = PRESETS.iter().filter(|other| measured_as(other).name == preset.name && other.name != preset.name);
        let same: Vec<_> = same.map(|other| other.name).collect();
        if !same.is_empty() {
            let sentence =
                format!("With the same words as {}, and so measured once: {}.", preset.name, same.join(", "));
            text += &format!("\n{}\n", wrapped(&sentence));
        }
    }
    text
}

/// A text in lines of up to 120 letters.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 120;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line at first, and none is taken away");
        if last.is_empty() {
            *last = word.to_owned();
        } else if last.len() + 1 + word.len() <= WIDTH {
            *last += " ";
            *last += word;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

/// A table in Markdown that is one as plain text, too; numbers are to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0).max(4);
    let line = |row: &Vec<String>| {
        let pad = |(column, cell): (usize, &String)| match column {
            0 => format!("| {cell:<0$} ", width(column)),
            _ => format!("| {cell:>0$} ", width(column)),
        };
        row.iter().enumerate().map(pad).collect::<String>() + "|\n"
    };
    let rule = (0..rows[0].len()).map(|column| match column {
        0 => "-".repeat(width(column)),
        _ => "-".repeat(width(column) - 1) + ":",
    });
    let mut lines: Vec<_> = rows.iter().map(line).collect();
    lines.insert(1, line(&rule.collect()));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(own: u64, libc: u64) -> Limits {
        let keys = Operation::ALL.into_iter().flat_map(|operation| {
            operation.columns().into_iter().flat_map(move |column| {
                PRESETS
                    .iter()
                    .map(move |preset| (operation.title().to_owned(), column.to_owned(), preset.name.to_owned()))
            })
        });
        Limits { compiler: "rustc 1".into(), cells: keys.map(|key| (key, Cell { own, libc })).collect() }
    }

    /// How a table of 13 instructions, 40 of them libc's, judges one cell with `own` and `libc` thousandths.
    fn judge(compiler: &str, own: u64, libc: u64) -> Option<Difference> {
        let recorded = limits(13_000, 40_000);
        let mut measured = recorded.clone();
        measured.compiler = compiler.into();
        let key = measured.cells.keys().next().unwrap().clone();
        measured.cells.insert(key, Cell { own, libc });
        let differences = recorded.compare(&measured);
        assert!(differences.len() <= 1);
        differences.into_values().next()
    }

    #[test]
    fn what_is_written_is_read_again() {
        for recorded in [limits(13_000, 0), limits(16_292, 90)] {
            assert_eq!(Limits::parse(&recorded.text()).unwrap(), recorded);
        }
    }

    #[test]
    fn the_smallest_rise_and_the_smallest_fall_are_found() {
        assert_eq!(judge("rustc 1", 13_000, 40_000), None);
        assert!(matches!(judge("rustc 1", 13_001, 40_000), Some(Difference::Rise(..))));
        assert!(matches!(judge("rustc 1", 12_999, 40_000), Some(Difference::Fall(..))));
    }

    #[test]
    fn libc_has_leeway_and_so_has_another_compiler() {
        assert_eq!(judge("rustc 1", 13_000, 45_000), None);
        assert!(matches!(judge("rustc 1", 13_000, 45_001), Some(Difference::Libc(..))));
        assert!(matches!(judge("rustc 1", 13_000, 0), Some(Difference::Libc(..))));
        assert_eq!(judge("rustc 2", 15_300, 40_000), None);
        assert!(matches!(judge("rustc 2", 15_301, 40_000), Some(Difference::Rise(..))));
        assert_eq!(judge("rustc 2", 1000, 40_000), None);
    }

    #[test]
    fn cells_that_come_and_go_are_found() {
        let whole = limits(13_000, 0);
        let mut part = whole.clone();
        let key = part.cells.keys().next().unwrap().clone();
        part.cells.remove(&key);
        let found = |differences: BTreeMap<Key, Difference>| differences.into_iter().next().unwrap();
        assert_eq!(found(part.compare(&whole)), (key.clone(), Difference::New(whole.cells[&key])));
        assert_eq!(found(whole.compare(&part)), (key.clone(), Difference::Gone(whole.cells[&key])));
    }

    #[test]
    fn presets_with_one_difference_share_a_line() {
        let differences = limits(13_000, 0).compare(&limits(14_000, 0));
        let report = report(&differences);
        assert!(report.starts_with("aligned_alloc, hit, C1: 13 -> 14, a rise (every preset)\n"), "{report}");
        let cells: usize = Operation::ALL.into_iter().map(|operation| operation.columns().len()).sum();
        assert_eq!(report.lines().count(), cells);
    }
}

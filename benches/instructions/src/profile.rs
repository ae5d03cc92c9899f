//! What iai-callgrind leaves behind: a summary of each benchmark, and the files of callgrind that it names.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What was counted in one measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Instructions of the measured program's own file, which hakmem is linked into.
    pub own: u64,
    /// Instructions of everything else: libc.
    pub libc: u64,
}

/// A benchmark: the name of its operation, and its id within it.
pub type Name = (String, String);

/// The part of iai-callgrind's summary, version 6, that is read here.
#[derive(Deserialize)]
struct Summary {
    version: String,
    function_name: String,
    id: Option<String>,
    benchmark_exe: PathBuf,
    profiles: Vec<Profile>,
}

/// What one tool left.
#[derive(Deserialize)]
struct Profile {
    /// Callgrind writes a file a thread.
    out_paths: Vec<PathBuf>,
}

/// The counts of every benchmark below `directory`.
pub fn read(directory: &Path) -> Result<HashMap<Name, Count>> {
    let mut counts = HashMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.ends_with("summary.json") {
                let (name, count) = benchmark(&path).with_context(|| path.display().to_string())?;
                counts.insert(name, count);
            }
        }
    }
    Ok(counts)
}

/// The benchmark whose summary is at `path`.
fn benchmark(path: &Path) -> Result<(Name, Count)> {
    const VERSION: &str = "6";
    let summary: Summary = serde_json::from_str(&fs::read_to_string(path)?)?;
    ensure!(summary.version == VERSION, "a summary of version {}, not {VERSION}", summary.version);
    let [profile] = &*summary.profiles else { bail!("{} tools ran, not callgrind alone", summary.profiles.len()) };
    let own = summary.benchmark_exe.to_str().context("the program's path is no UTF-8")?;
    let mut sum = Count { own: 0, libc: 0 };
    for path in &profile.out_paths {
        let profile = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let count = count(&profile, own).with_context(|| path.display().to_string())?;
        sum = Count { own: sum.own + count.own, libc: sum.libc + count.libc };
    }
    ensure!(sum.own > 0, "callgrind saw no instruction of {own}");
    Ok(((summary.function_name, summary.id.context("a benchmark without an id")?), sum))
}

/// Sums the costs in callgrind's format by object, as iai-callgrind has it written: without abbreviations. `ob=` opens
/// an object, lines that start with a digit carry costs, and the one after `calls=` repeats what the callee's lines
/// say.
fn count(profile: &str, own: &str) -> Result<Count> {
    let mut count = Count { own: 0, libc: 0 };
    let mut total = None;
    let (mut inside, mut callee) = (false, false);
    for line in profile.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            inside = object == own;
        } else if let Some(sum) = line.strip_prefix("summary: ") {
            total = Some(sum.trim().parse::<u64>()?);
        } else if line.starts_with("calls=") {
            callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let cost = line.split(' ').nth(1).context("a line without a cost")?.parse::<u64>()?;
            match (callee, inside) {
                (true, _) => {}
                (false, true) => count.own += cost,
                (false, false) => count.libc += cost,
            }
            callee = false;
        }
    }
    let sum = count.own + count.libc;
    ensure!(total == Some(sum), "callgrind counted {total:?} instructions in all, and {sum} one by one");
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "events: Ir\nsummary: 29\n\nob=/x/subject\nfn=a\n10 5\ncob=/x/libc.so.6\ncfn=b\ncalls=2 0\n\
                           10 40\n\nob=/x/libc.so.6\nfn=b\n0 7\n3 8\n\nob=/x/subject\nfn=c\n11 9\n\ntotals: 29\n";

    #[test]
    fn costs_are_summed_as_callgrind_writes_them() {
        assert_eq!(count(PROFILE, "/x/subject").unwrap(), Count { own: 14, libc: 15 });
    }

    #[test]
    fn what_does_not_add_up_is_an_error() {
        assert!(count(&PROFILE.replace("11 9", "11 8"), "/x/subject").is_err());
        assert!(count("fn=a\n1 2\n", "/x/subject").is_err());
    }
}

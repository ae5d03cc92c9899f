//! `hakmem bench`: every workload under every allocator, and what came of it in all the forms that are asked for.

use std::path::{Path, PathBuf};

use anyhow::bail;
use hakmem_workloads::Workload;

use crate::bench::bench_args::BenchArgs;
use crate::bench::code::Code;
use crate::bench::measure::Rounds;
use crate::bench::progress::Progress;
use crate::bench::report::{self, Results, Row};
use crate::bench::side::{Side, Sides};
use crate::bench::subject::Subject;
use crate::bench::summary::{Estimate, median};
use crate::bench::{callgrind, file, interrupt, plot, table};
use crate::text;

/// Measures and reports.
pub fn bench(args: &BenchArgs) -> anyhow::Result<()> {
    for path in files(args) {
        file::check(path)?;
    }
    if args.instructions && !callgrind::is_installed() {
        bail!("valgrind is not installed. Remedy: install it, or leave out --instructions");
    }
    interrupt::watch()?;
    let mut makers = Sides::default();
    let sides = makers.make_all(&args.sides())?;
    let workloads = args.workloads();
    warn_unoptimised();
    let progress = Progress::new(workloads.len() * sides.len() * args.runs());
    let mallocs = prove(args, &sides, &progress)?;
    let mut rows = Vec::new();
    for workload in workloads {
        let subject = Subject::Workload(workload, args.scale);
        let mut rounds = Rounds::new(&subject, &sides);
        rounds.add(args.runs(), &progress)?;
        let counts = count(args, workload, &sides, &progress)?;
        rows.extend(counts.into_iter().enumerate().map(|(index, count)| row(workload, &sides, &rounds, index, count)));
    }
    drop(progress);
    let sides = sides.into_iter().zip(mallocs).collect();
    show(args, &Results { scale: args.scale, runs: args.runs(), sides, rows })
}

/// The files to be written.
fn files(args: &BenchArgs) -> impl Iterator<Item = &Path> {
    [&args.json, &args.csv].into_iter().flatten().flatten().chain(&args.plot).map(PathBuf::as_path)
}

/// The driver is this executable, and slow where that was not optimised.
pub fn warn_unoptimised() {
    if cfg!(debug_assertions) {
        eprintln!(
            "hakmem: warning: this command was built without optimisation, so that the workloads' own share is large \
             and all ratios are nearer to 1 than they should be. Remedy: cargo build --release"
        );
    }
}

/// Each workload once under each side, in small: no figure counts before all that is to be measured works. Returns where
/// the sides' `malloc` lies.
fn prove(args: &BenchArgs, sides: &[Side], progress: &Progress) -> anyhow::Result<Vec<PathBuf>> {
    let mut mallocs = Vec::new();
    for side in sides {
        let mut malloc = PathBuf::new();
        for workload in args.workloads() {
            interrupt::check()?;
            progress.at(format!("trying {}, {}", workload.name, side.name));
            malloc = Subject::Workload(workload, args.scale).prove(side)?;
        }
        mallocs.push(malloc);
    }
    let codes: Vec<_> = mallocs.iter().map(|malloc| Code::of(malloc)).collect::<Result<_, _>>()?;
    for (index, code) in codes.iter().enumerate() {
        if let Some(other) = codes[..index].iter().position(|other| other == code) {
            progress.warn(&format!("{} and {} are the same code", sides[other].name, sides[index].name));
        }
    }
    Ok(mallocs)
}

/// Instructions per operation of each side, if they are asked for.
fn count(
    args: &BenchArgs,
    workload: &Workload,
    sides: &[Side],
    progress: &Progress,
) -> anyhow::Result<Vec<Option<f64>>> {
    let counts = sides.iter().map(|side| {
        if !args.instructions {
            return Ok(None);
        }
        interrupt::check()?;
        progress.at(format!("{}, {}, instructions", workload.name, side.name));
        let count = callgrind::per_operation(workload, args.scale, side);
        interrupt::check()?;
        // Not every allocator runs under valgrind.
        Ok(count.map_err(|error| progress.warn(&format!("{}: no instructions: {error:#}", side.name))).ok())
    });
    counts.collect()
}

/// What came of one side; the first one is libc's.
fn row(
    workload: &'static Workload,
    sides: &[Side],
    rounds: &Rounds<'_>,
    side: usize,
    instructions: Option<f64>,
) -> Row {
    let seconds = rounds.seconds(side);
    let peak_rss_kb = median(&rounds.peaks(side));
    Row {
        workload: workload.name,
        allocator: sides[side].name.clone(),
        is_base: side == 0,
        speed: Estimate::of_median(&rounds.speeds(0, side)),
        ns_per_operation: median(&seconds) * 1e9 / rounds.operations().unwrap_or(1) as f64,
        peak_rss_kb,
        rss_ratio: peak_rss_kb / median(&rounds.peaks(0)),
        instructions,
        seconds,
    }
}

/// Prints and writes.
fn show(args: &BenchArgs, results: &Results) -> anyhow::Result<()> {
    let json = || format!("{:#}\n", report::bench_json(results));
    let out = match (&args.json, &args.csv) {
        (Some(None), _) => json(),
        (_, Some(None)) => report::bench_csv(results)?,
        _ => table::bench(&results.rows, args.instructions),
    };
    // All contents first: what cannot be made leaves no file.
    let mut files: Vec<(&Path, String)> = Vec::new();
    if let Some(Some(path)) = &args.json {
        files.push((path, json()));
    }
    if let Some(Some(path)) = &args.csv {
        files.push((path, report::bench_csv(results)?));
    }
    if let Some(path) = &args.plot {
        files.push((path, plot::draw(results)?));
    }
    text::print(&out)?;
    files.iter().try_for_each(|(path, contents)| file::write(path, contents.as_bytes()))
}

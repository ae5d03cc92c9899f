//! The program of this package under its four allocators, in turn within one run. From the repository's root:
//!
//! ```text
//! cargo bench --manifest-path benches/rust-program/Cargo.toml -- ROUNDS
//! ```
//!
//! After a round that does not count, every round (default 11) runs the four binaries, a different one first each
//! time. Times are taken within them, per workload. The table gives, per allocator, the system allocator's time divided
//! by its own in the same round: the median over the rounds and the range. Above 1, it is faster than the system
//! allocator. The last line gives the median peak RSS. The checksums of all runs have to agree.

use std::env;
use std::process::{Command, Stdio, exit};

/// Name and path of every binary. What the others are compared with comes first.
const BINARIES: [(&str, &str); 4] = [
    ("system", env!("CARGO_BIN_EXE_system")),
    ("hakmem", env!("CARGO_BIN_EXE_hakmem")),
    ("mimalloc", env!("CARGO_BIN_EXE_mimalloc")),
    ("jemalloc", env!("CARGO_BIN_EXE_jemalloc")),
];

const DEFAULT_ROUNDS: usize = 11;

/// What one run of one binary reports.
struct Report {
    /// Seconds per workload.
    seconds: Vec<f64>,
    /// Name and checksum per workload.
    results: Vec<(String, String)>,
    peak_rss_kb: f64,
}

impl Report {
    /// Seconds of workload number `workload`, or of all for a number past the last.
    fn seconds(&self, workload: usize) -> f64 {
        self.seconds.get(workload).copied().unwrap_or_else(|| self.seconds.iter().sum())
    }
}

fn main() {
    let rounds = rounds();
    let warm_up = BINARIES.map(|(name, path)| (name, run(path)));
    let expected = &warm_up[0].1.results;
    for (name, report) in &warm_up {
        compare(name, &report.results, expected);
    }
    let mut reports = BINARIES.map(|_| Vec::new());
    for round in 0..rounds {
        for turn in 0..BINARIES.len() {
            let index = (round + turn) % BINARIES.len();
            let (name, path) = BINARIES[index];
            let report = run(path);
            compare(name, &report.results, expected);
            reports[index].push(report);
        }
    }
    print_table(expected, &reports);
}

/// The number of rounds on the command line, where cargo adds `--bench`.
fn rounds() -> usize {
    let mut arguments = env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(argument) = arguments.next() else { return DEFAULT_ROUNDS };
    match argument.parse() {
        Ok(rounds) if rounds > 0 && arguments.next().is_none() => rounds,
        _ => fail("the argument is no number of rounds. Remedy: give one from 1 up behind `--`, such as 15, or none."),
    }
}

/// Runs one binary to its end.
fn run(path: &str) -> Report {
    let output = Command::new(path).stderr(Stdio::inherit()).output().unwrap_or_else(|error| {
        fail(&format!(
            "{path} cannot be run: {error}. Remedy: use `cargo bench`, which builds this program and all four binaries."
        ))
    });
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        fail(&format!("{path} failed: {}. It printed: {text}", output.status));
    }
    parse(&text).unwrap_or_else(|| fail(&format!("{path} printed something else than times and a peak RSS: {text}")))
}

/// Reads what the binaries print, see the head of `src/lib.rs`.
fn parse(text: &str) -> Option<Report> {
    let mut report = Report { seconds: Vec::new(), results: Vec::new(), peak_rss_kb: 0.0 };
    for line in text.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["workload", name, seconds, checksum] => {
                report.seconds.push(seconds.parse().ok()?);
                report.results.push((name.to_owned(), checksum.to_owned()));
            }
            ["peak_rss_kb", peak] => report.peak_rss_kb = peak.parse().ok()?,
            _ => return None,
        }
    }
    (report.peak_rss_kb > 0.0 && !report.seconds.is_empty()).then_some(report)
}

/// Ends the process if a binary did not compute what it should.
fn compare(name: &str, results: &[(String, String)], expected: &[(String, String)]) {
    if results != expected {
        fail(&format!("the checksums of {name} are not those of {}:\n{results:?}\n{expected:?}", BINARIES[0].0));
    }
}

/// One line per workload, one for all of them, and one for memory.
fn print_table(workloads: &[(String, String)], reports: &[Vec<Report>; BINARIES.len()]) {
    print!("{:<20}", "speed");
    BINARIES[1..].iter().for_each(|(name, _)| print!("{name:>21}"));
    println!();
    let names = workloads.iter().map(|(name, _)| name.as_str()).chain(["all"]);
    for (workload, name) in names.enumerate() {
        print!("{name:<20}");
        for reports_of_one in &reports[1..] {
            let pairs = reports[0].iter().zip(reports_of_one);
            let mut ratios: Vec<f64> =
                pairs.map(|(system, other)| system.seconds(workload) / other.seconds(workload)).collect();
            let median = median(&mut ratios);
            print!("{median:>7.2} {:>13}", format!("{:.2} to {:.2}", ratios[0], ratios[ratios.len() - 1]));
        }
        println!();
    }
    print!("peak RSS");
    for ((name, _), reports) in BINARIES.iter().zip(reports) {
        let mut peaks: Vec<f64> = reports.iter().map(|report| report.peak_rss_kb).collect();
        print!("   {name} {:.0} KB", median(&mut peaks));
    }
    println!();
}

/// Sorts the values and returns the middle one, or the mean of the middle two.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    if values.len() % 2 == 1 { values[upper] } else { (values[upper - 1] + values[upper]) / 2.0 }
}

/// One line for the user, then the end.
fn fail(message: &str) -> ! {
    eprintln!("compare: {message}");
    exit(1)
}

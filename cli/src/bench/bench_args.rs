//! The arguments of `bench`: what its help says, and what makes sense.

use std::path::PathBuf;

use clap::Args;
use hakmem_workloads::{WORKLOADS, Workload};

use crate::bench::comparison::RUNS;
use crate::bench::help;
use crate::bench::side::Wanted;
use crate::mistakes::nearest;
use crate::preset;

/// Measure allocators: speed and peak RSS against libc's malloc.
///
/// Runs each workload under every allocator in turn, round after round, each run in a process of its own that proves
/// whose malloc it uses. SPEED is libc's time divided by the allocator's: the median of the rounds' ratios, with its
/// 95 % confidence interval (bootstrap). Peak RSS is the median of the runs. Start-up is not timed.
///
/// Presets are built first, as by `hakmem build`.
#[derive(Args)]
#[command(after_help = help::bench())]
pub struct BenchArgs {
    /// The workloads; all of them if none is named
    #[arg(value_name = "WORKLOAD", value_parser = workload)]
    workloads: Vec<&'static Workload>,

    /// Measure this preset; may be repeated
    ///
    /// PRESET is as in `hakmem build`; +KNOB adds a knob, +no-KNOB takes one away.
    #[arg(long = "preset", value_name = "PRESET[+KNOB]", value_delimiter = ',', default_value = preset::DEFAULT,
          value_parser = Wanted::parse_preset)]
    presets: Vec<Wanted>,

    /// Measure other allocators besides
    ///
    /// By the path of a library, or by name: mimalloc, jemalloc, tcmalloc and snmalloc are found where they are installed.
    #[arg(long, value_name = "LIB.so|NAME", num_args = 1.., value_delimiter = ',', value_parser = Other::parse)]
    against: Vec<Other>,

    /// Rounds: runs of each allocator
    #[arg(long, value_name = "N", default_value_t = RUNS as u16, value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: u16,

    /// How much of the standard workloads to run
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = scale)]
    pub scale: f64,

    /// Count instructions per operation, too (with valgrind)
    #[arg(long)]
    pub instructions: bool,

    /// Print JSON instead of the table, or write it into FILE besides
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub json: Option<Option<PathBuf>>,

    /// Print CSV instead of the table, or write it into FILE besides
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub csv: Option<Option<PathBuf>>,

    /// Draw speed and RSS into FILE, as SVG
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
}

/// What `--against` may name. It takes all words up to the next option, so that a workload may be among them.
#[derive(Clone, Debug)]
enum Other {
    /// An allocator.
    Side(Wanted),
    /// A workload.
    Workload(&'static Workload),
}

impl Other {
    fn parse(word: &str) -> Result<Self, String> {
        match Workload::named(word) {
            Some(workload) => Ok(Self::Workload(workload)),
            None => Wanted::parse(word).map(Self::Side),
        }
    }
}

impl BenchArgs {
    /// The workloads, each once.
    pub fn workloads(&self) -> Vec<&'static Workload> {
        let others = self.against.iter().filter_map(|other| match other {
            Other::Workload(workload) => Some(*workload),
            Other::Side(_) => None,
        });
        let mut workloads: Vec<&Workload> = Vec::new();
        for workload in self.workloads.iter().copied().chain(others) {
            if workloads.iter().all(|known| known.name != workload.name) {
                workloads.push(workload);
            }
        }
        if workloads.is_empty() { WORKLOADS.iter().collect() } else { workloads }
    }

    /// The allocators, each once, libc's first.
    pub fn sides(&self) -> Vec<Wanted> {
        let others = self.against.iter().filter_map(|other| match other {
            Other::Side(side) => Some(side),
            Other::Workload(_) => None,
        });
        let mut sides = vec![Wanted::Libc];
        for side in self.presets.iter().chain(others) {
            if !sides.contains(side) {
                sides.push(side.clone());
            }
        }
        sides
    }

    /// The number of rounds.
    pub fn runs(&self) -> usize {
        self.runs.into()
    }

    /// What makes no sense, and the parser cannot see.
    pub fn problem(&self) -> Option<String> {
        let printed = [&self.json, &self.csv].into_iter().filter(|out| matches!(out, Some(None))).count();
        (printed > 1).then(|| "one of --json and --csv is printed, the other needs a file: --csv=FILE".into())
    }
}

/// Reads an argument that names a workload.
pub fn workload(name: &str) -> Result<&'static Workload, String> {
    let names = || WORKLOADS.iter().map(|workload| workload.name);
    Workload::named(name).ok_or_else(|| {
        let near = nearest(name, names(), "take one of the others");
        format!("there is no such workload. Remedy: {near}; there are {}", names().collect::<Vec<_>>().join(", "))
    })
}

/// Reads a factor.
pub fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| (1e-6..=1000.0).contains(scale));
    scale.ok_or_else(|| "it is no number from 0.000001 to 1000".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: BenchArgs,
    }

    fn parse(args: &[&str]) -> Result<BenchArgs, String> {
        let line = Line::try_parse_from([&["bench"], args].concat());
        line.map(|line| line.args).map_err(|error| error.to_string())
    }

    fn workloads(args: &[&str]) -> Vec<&'static str> {
        parse(args).unwrap().workloads().iter().map(|workload| workload.name).collect()
    }

    #[test]
    fn a_workload_may_follow_the_allocators() {
        assert_eq!(workloads(&["mixed", "larson", "mixed"]), ["mixed", "larson"]);
        let args = ["c6-heavy", "--against", "jemalloc", "./x.so", "mixed", "--runs", "3"];
        assert_eq!(workloads(&args), ["c6-heavy", "mixed"]);
        let args = parse(&args).unwrap();
        assert_eq!(args.runs(), 3);
        let mixed = Wanted::parse("mixed").unwrap();
        let others = ["jemalloc", "./x.so"].map(|side| Wanted::parse(side).unwrap());
        assert_eq!(args.sides(), [&[Wanted::Libc, mixed], &others[..]].concat());
        assert_eq!(workloads(&[]).len(), WORKLOADS.len());
    }

    #[test]
    fn each_allocator_is_measured_once() {
        let args = parse(&["--preset", "c6-heavy,c6-heavy+prefetch", "--preset", "c6-heavy", "--against", "libc"]);
        let sides = ["libc", "c6-heavy", "c6-heavy+prefetch"].map(|side| Wanted::parse(side).unwrap());
        assert_eq!(args.unwrap().sides(), sides);
    }

    #[test]
    fn json_and_csv_are_printed_or_written() {
        let args = parse(&["--json", "--csv=a.csv"]).unwrap();
        assert_eq!((&args.json, &args.csv), (&Some(None), &Some(Some("a.csv".into()))));
        assert!(args.problem().is_none());
        assert!(parse(&["--json", "--csv"]).unwrap().problem().is_some());
        // The name is no file: it is a workload.
        assert_eq!(workloads(&["--json", "mixed"]), ["mixed"]);
    }

    #[test]
    fn a_slip_is_answered_with_what_there_is() {
        let message = parse(&["mixd"]).err().unwrap();
        assert!(message.contains("write `mixed`"), "{message}");
        assert!(WORKLOADS.iter().all(|workload| message.contains(workload.name)), "{message}");
        assert!(parse(&["--against", "jemaloc"]).err().unwrap().contains("write `jemalloc`"));
        assert!(parse(&["--preset", "libc"]).is_err());
        for scale in ["0", "-1", "x", "inf", "NaN", "1e9"] {
            assert!(parse(&["--scale", scale]).is_err(), "{scale}");
        }
        assert!(parse(&["--runs", "0"]).is_err());
    }
}

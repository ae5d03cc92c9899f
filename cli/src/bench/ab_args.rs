//! The arguments of `ab`: what its help says, and what makes sense.

use std::cell::RefCell;
use std::ffi::OsString;

use clap::Args;
use hakmem_workloads::Workload;

use crate::bench::bench_args::{scale, workload};
use crate::bench::comparison::Method;
use crate::bench::help;
use crate::bench::side::Wanted;
use crate::preset::{self, Choice};

/// The workload of `ab` where no preset says otherwise.
const DEFAULT_WORKLOAD: &str = "mixed";

/// Compare two allocators, and say whether B is faster than A.
///
/// A and B are presets, changed by knobs or not (mixed, mixed+prefetch, mixed+no-free-dualhot, ./mine.toml), libraries
/// (./libhakmem-mixed.so), libc, or allocators that are found by name (mimalloc, jemalloc, tcmalloc, snmalloc).
///
/// Both run in turn, 10 times, and 10 times more if the result is close. The gain of a round is A's time divided by B's,
/// less one. The verdict is GO if the mean gain is at least +1.0 % and the median not below 0, NO-GO if the mean is
/// -1.0 % or less, and NEUTRAL otherwise.
///
/// Both are proven to be what they claim: where their malloc lies is looked up in the running process. Sides that are the
/// same code are refused.
#[derive(Args)]
#[command(
    override_usage = "hakmem ab [OPTIONS] A B [WORKLOAD]\n       \
                      hakmem ab [OPTIONS] A B -- PROGRAM [ARGS]...\n       \
                      hakmem ab [OPTIONS] --knobs [--preset NAME] [WORKLOAD]",
    after_help = help::ab()
)]
pub struct AbArgs {
    /// The sides, and the workload; by default that which preset A is made for, or else `mixed`
    #[arg(value_names = ["A", "B", "WORKLOAD"], num_args = 0..)]
    words: Vec<String>,

    /// Measure this program instead of a workload: its time from start to end, and its peak RSS
    ///
    /// It starts without input, under LD_PRELOAD and nothing else that is preloaded. Its output is thrown away. Once for
    /// each side it runs with a talkative loader, to prove which malloc it is bound to.
    #[arg(last = true, value_names = ["PROGRAM", "ARGS"], num_args = 1..)]
    pub program: Vec<OsString>,

    /// Compare each knob that can be flipped, one by one, with the preset as it is
    #[arg(long)]
    pub knobs: bool,

    /// The preset of --knobs
    #[arg(long, value_name = "NAME", default_value = preset::DEFAULT, value_parser = only_a_preset)]
    preset: Choice,

    /// This many runs of each, however close the result is
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    runs: Option<u16>,

    /// How much of the standard workload to run
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = scale, conflicts_with = "program")]
    pub scale: f64,

    /// Measure sides that are the same code, too: it shows how large the noise is
    #[arg(long, conflicts_with = "knobs")]
    allow_identical: bool,

    /// Do not count instructions, even if valgrind is installed
    #[arg(long)]
    no_instructions: bool,

    /// Exit with 3 if the verdict is NO-GO
    #[arg(long, conflicts_with = "knobs")]
    pub check: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Print the table of --knobs as Markdown
    #[arg(long, requires = "knobs", conflicts_with = "json")]
    pub markdown: bool,

    /// Show what PROGRAM prints
    #[arg(long, requires = "program")]
    pub show: bool,

    /// Let PROGRAM fail
    #[arg(long, requires = "program")]
    pub ignore_exit: bool,
}

/// What the words of `ab` mean.
pub enum Plan {
    /// A and B.
    Sides([Wanted; 2], &'static Workload),
    /// The knobs of a preset.
    Knobs(Choice, &'static Workload),
}

impl AbArgs {
    /// What to do; an error if the words make no sense.
    pub fn plan(&self) -> Result<Plan, String> {
        let sides = if self.knobs { 0 } else { 2 };
        let wanted =
            self.words.iter().take(sides).map(|word| Wanted::parse(word).map_err(|what| format!("`{word}`: {what}")));
        let wanted: Vec<_> = wanted.collect::<Result<_, _>>()?;
        let named = match self.words.get(sides..).unwrap_or_default() {
            [] => None,
            [name] if self.program.is_empty() => Some(workload(name).map_err(|what| format!("`{name}`: {what}"))?),
            [name] => return Err(format!("`{name}` is a word too many: there is a program to measure")),
            [.., last] => return Err(format!("`{last}` is a word too many: there is one workload")),
        };
        match &wanted[..] {
            [] if self.knobs => Ok(Plan::Knobs(self.preset.clone(), named.unwrap_or_else(|| made_for(&self.preset)))),
            [a, b] => {
                let workload = named.unwrap_or_else(|| match a {
                    Wanted::Preset(choice, _) => made_for(choice),
                    _ => default_workload(),
                });
                Ok(Plan::Sides([a.clone(), b.clone()], workload))
            }
            _ => Err("there are two sides to name: A and B".into()),
        }
    }

    /// How to compare.
    pub fn method(&self) -> Method {
        Method {
            runs: self.runs.map(usize::from),
            allow_identical: self.allow_identical,
            instructions: !self.no_instructions,
            counts: RefCell::default(),
        }
    }
}

/// The workload that a preset is made for.
fn made_for(choice: &Choice) -> &'static Workload {
    let made_for = match choice {
        Choice::Own(preset) => Workload::of_preset(preset.name),
        Choice::File(_) => None,
    };
    made_for.unwrap_or_else(default_workload)
}

fn default_workload() -> &'static Workload {
    Workload::named(DEFAULT_WORKLOAD).expect("there is that workload")
}

/// Reads an argument that names a preset as it is.
fn only_a_preset(name: &str) -> Result<Choice, String> {
    match Wanted::parse_preset(name)? {
        Wanted::Preset(choice, flips) if flips.is_empty() => Ok(choice),
        _ => Err("the preset is compared as it is. Remedy: leave out the knobs".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: AbArgs,
    }

    /// What is compared on which workload, or what is wrong.
    fn plan(args: &[&str]) -> Result<(Vec<Wanted>, &'static str), String> {
        let line = Line::try_parse_from([&["ab"], args].concat()).map_err(|error| error.to_string())?;
        Ok(match line.args.plan()? {
            Plan::Sides(sides, workload) => (sides.to_vec(), workload.name),
            Plan::Knobs(choice, workload) => (vec![Wanted::Preset(choice, Vec::new())], workload.name),
        })
    }

    fn sides(names: &[&str]) -> Vec<Wanted> {
        names.iter().map(|name| Wanted::parse(name).unwrap()).collect()
    }

    #[test]
    fn the_workload_is_named_or_that_of_the_preset() {
        assert_eq!(plan(&["libc", "jemalloc", "larson"]), Ok((sides(&["libc", "jemalloc"]), "larson")));
        assert_eq!(plan(&["libc", "jemalloc"]), Ok((sides(&["libc", "jemalloc"]), "mixed")));
        assert_eq!(plan(&["c6-heavy+prefetch", "libc"]).unwrap().1, "c6-heavy");
        assert_eq!(plan(&["--knobs"]), Ok((sides(&["mixed"]), "mixed")));
        assert_eq!(plan(&["--knobs", "--preset", "c5c6-v7"]), Ok((sides(&["c5c6-v7"]), "c5c6")));
        assert_eq!(plan(&["--knobs", "larson"]).unwrap().1, "larson");
        assert_eq!(plan(&["libc", "mixed", "--", "ls", "-l"]).unwrap().0, sides(&["libc", "mixed"]));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let wrong = |args: &[&str]| plan(args).unwrap_err();
        assert!(wrong(&["mixed"]).contains("A and B"));
        assert!(wrong(&[]).contains("A and B"));
        assert!(wrong(&["mixed", "libc", "mixd"]).contains("write `mixed`"));
        assert!(wrong(&["mixed", "libc", "mixed", "larson"]).contains("`larson` is a word too many"));
        assert!(wrong(&["mixed", "libc", "mixed", "--", "ls"]).contains("`mixed` is a word too many"));
        assert!(wrong(&["--knobs", "--preset", "mixed+prefetch"]).contains("as it is"));
        assert!(wrong(&["mixed", "libc", "--show"]).contains("PROGRAM"));
        assert!(wrong(&["mixed", "libc", "--markdown"]).contains("--knobs"));
        assert!(wrong(&["mixed", "libc", "--scale", "2", "--", "ls"]).contains("--scale"));
    }
}

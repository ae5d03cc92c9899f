//! The arguments: what the help says, and what makes sense.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::bench::{AbArgs, BenchArgs};
use crate::completions::CompletionsArgs;
use crate::doctor::DoctorArgs;
use crate::flips::{self, Flips};
use crate::preset::{self, Choice, ChoiceParser};
use crate::stats::StatsArgs;

/// Run programs under hakmem, a malloc replacement; build its presets, show and measure them.
#[derive(Parser)]
#[command(
    name = "hakmem",
    version,
    after_help = "\
Examples:
  hakmem run -- python3 -c 'print(1)'
  hakmem build --preset mixed --out /usr/local/lib
  hakmem presets mixed
  hakmem bench mixed larson --against jemalloc
  hakmem ab mixed mixed+no-free-dualhot
  hakmem stats -- python3 -c 'print(1)'
  hakmem doctor

Exit codes:
  0    Success.
  1    It failed, and stderr says why.
  2    The arguments make no sense.
  Those of run and stats are their own: see `hakmem run --help`."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Run(RunArgs),
    Build(BuildArgs),
    Presets(PresetsArgs),
    Bench(BenchArgs),
    Ab(AbArgs),
    Stats(StatsArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
}

/// Run a program with hakmem as its malloc.
///
/// The program replaces this command (exec), so it keeps its process id, its input and output, its signals and its
/// exit code, and pays nothing for having been started this way. Programs that it starts use hakmem too.
///
/// The library is the one that --lib names; or that of the preset, beside this executable; or it is built there now,
/// if the sources of hakmem are at hand. It is built again when a source file is newer, that of a preset file every
/// time.
///
/// A program that LD_PRELOAD cannot reach is still run, after a warning.
#[derive(Args)]
#[command(after_help = "\
Examples:
  hakmem run -- python3 -c 'print(1)'
  hakmem run --lib ./libhakmem-mixed.so -- ls -l

Exit codes:
  125  hakmem failed: bad arguments, or no library.
  126  PROGRAM was found and cannot be executed.
  127  PROGRAM was not found.
  Any other code is that of PROGRAM.")]
pub struct RunArgs {
    /// The preset to run under: its name, or a profile of the original or a file as in `hakmem build`
    #[arg(long, value_name = "NAME", default_value = preset::DEFAULT, value_parser = ChoiceParser)]
    pub preset: Choice,

    /// Use this library instead of a preset's
    #[arg(long, value_name = "PATH.so", conflicts_with = "preset")]
    pub lib: Option<PathBuf>,

    /// The program, looked up in PATH, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    pub program: Vec<OsString>,
}

/// Build the shared libraries of presets.
///
/// Writes libhakmem-NAME.so for each preset NAME and prints its path and size. Load one with
/// `hakmem run --lib PATH`, or with LD_PRELOAD. A library appears when it is complete: an interrupted or failed build
/// leaves the one that was there.
///
/// --with and --without change a preset; what they change becomes a part of the library's name, as in
/// libhakmem-mixed-no-free-dualhot.so.
///
/// Needs cargo and the sources that this command was built from.
#[derive(Args)]
#[command(after_help = "\
Examples:
  hakmem build --preset mixed C6_HEAVY_LEGACY_POOLV1
  hakmem build --preset ./mine.toml
  hakmem build --preset mixed --with prefetch --without free-dualhot
  hakmem build --all --out /usr/local/lib

Exit codes:
  0    Every library was written.
  1    A library could not be built or written.
  2    The arguments make no sense, such as an unknown preset.")]
pub struct BuildArgs {
    /// The presets to build
    ///
    /// By name; or by the profile of the original that a preset follows, such as MIXED_TINYV3_C7_SAFE; or by the path
    /// of a preset file, which ends with .toml or has a slash in it, and whose library is called after the file. The
    /// files in src/presets are models.
    #[arg(long = "preset", value_name = "NAME", num_args = 1.., required_unless_present = "all",
          value_parser = ChoiceParser)]
    presets: Vec<Choice>,

    /// Build every preset
    #[arg(long, conflicts_with = "presets")]
    all: bool,

    /// Add a knob to the preset, or put a class on a route (ultra-c6); may be repeated
    #[arg(long, value_name = "KNOB", value_parser = flips::parse, conflicts_with = "all")]
    with: Vec<String>,

    /// Take a knob away, or put a class back on the route legacy; may be repeated
    ///
    /// `hakmem presets --knobs` lists the knobs and the routes.
    #[arg(long, value_name = "KNOB", value_parser = flips::parse, conflicts_with = "all")]
    without: Vec<String>,

    /// The directory to write to; created if missing
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub out: PathBuf,
}

impl BuildArgs {
    /// The presets to build, each once.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = if self.all { Choice::all() } else { Vec::new() };
        for choice in &self.presets {
            if !choices.contains(choice) {
                choices.push(choice.clone());
            }
        }
        choices
    }

    /// What to change about the preset.
    pub fn flips(&self) -> Flips {
        Flips::new(&self.with, &self.without)
    }
}

/// List the presets, or show one of them in full.
///
/// Without NAME: name, the profile of hakmem that it follows, and what it is for. With NAME: everything that was
/// decided about it, down to its table of bins. NAME is as in `hakmem build`; a preset file is shown as it would be
/// built.
#[derive(Args)]
#[command(after_help = "\
Keys of --json, for each preset:
  name, summary
  hakmem    the profile of the original; null if it follows none
  type      the type of the crate hakmem; null for a preset file
  feature   what makes it the C ABI of libhakmem.so
  profile   the profile of cargo that it is built with
  library   the file that `hakmem build` writes
  file      the path of a preset file; null for a preset of the library
With NAME besides:
  words     hexadecimal strings: routes, knobs, bins, numbers
  classes   for each: class, route, preallocated (true or false), magazine
            (most blocks), least and most (bytes of a block)
  knobs     for each that is on: name, summary, standing (see --knobs)
  awaits    what it would have besides, if that were built
  geometry  page, segment, magazine_bytes, first_bytes
  look_up   small (steps, log2 or table) and large (quarters or table):
            how the bin of a request is found
  bins      for each: bin (its number), size, class, and the blocks of a page
            (blocks), a magazine (magazine) and a thread's first one (first)
With --knobs:
  knobs     for each: name, summary, standing (ready: on or off; built-in: on
            in every preset; missing: not built, off in every preset), refusal
            (why it cannot be turned, or null), variables (of the original)
  routes    for each: name, classes, ready (whether it is built), variables

Examples:
  hakmem presets
  hakmem presets mixed
  hakmem presets --json ./mine.toml
  hakmem presets --knobs

Exit codes:
  0    Success.
  1    The preset file cannot be used, or stdout not be written to.
  2    The arguments make no sense, such as an unknown preset.")]
pub struct PresetsArgs {
    /// The preset to show
    #[arg(value_name = "NAME", value_parser = ChoiceParser, hide_possible_values = true)]
    pub preset: Option<Choice>,

    /// List the knobs and routes instead, with the variables of the original that they answer to
    #[arg(long, conflicts_with = "preset")]
    pub knobs: bool,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl Cli {
    /// Reads the arguments of the process.
    pub fn read() -> Result<Self, clap::Error> {
        Self::try_parse()?.checked()
    }

    /// Refuses what the parser cannot see.
    fn checked(self) -> Result<Self, clap::Error> {
        if let Command::Build(build) = &self.command
            && build.flips() != Flips::default()
            && build.choices().len() > 1
        {
            let mut command = Self::command();
            command.build();
            let build = command.find_subcommand_mut("build").expect("there is that subcommand");
            return Err(build.error(ErrorKind::ArgumentConflict, "--with and --without change one preset, not several"));
        }
        let problem = match &self.command {
            Command::Bench(args) => args.problem().map(|problem| ("bench", problem)),
            Command::Ab(args) => args.plan().err().map(|problem| ("ab", problem)),
            _ => None,
        };
        if let Some((name, problem)) = problem {
            let mut command = Self::command();
            command.build();
            let command = command.find_subcommand_mut(name).expect("there is that subcommand");
            return Err(command.error(ErrorKind::ValueValidation, problem));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Command, clap::Error> {
        Ok(Cli::try_parse_from([&["hakmem"], args].concat())?.checked()?.command)
    }

    fn program(args: &[&str]) -> Option<Vec<OsString>> {
        match parse(args).ok()? {
            Command::Run(args) => Some(args.program),
            _ => None,
        }
    }

    fn build(args: &[&str]) -> Option<BuildArgs> {
        match parse(&[&["build"], args].concat()).ok()? {
            Command::Build(args) => Some(args),
            _ => None,
        }
    }

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_programs_arguments_are_its_own() {
        let expected: Option<Vec<OsString>> = Some(["ls", "-l", "--help"].map(OsString::from).to_vec());
        assert_eq!(program(&["run", "ls", "-l", "--help"]), expected);
        assert_eq!(program(&["run", "--", "ls", "-l", "--help"]), expected);
        assert_eq!(program(&["run", "--preset", "mixed", "ls", "-l", "--help"]), expected);
        // Only the first `--` is ours.
        let expected: Option<Vec<OsString>> = Some(["git", "log", "--", "--lib"].map(OsString::from).to_vec());
        assert_eq!(program(&["run", "--", "git", "log", "--", "--lib"]), expected);
        assert_eq!(program(&["run", "git", "log", "--", "--lib"]), expected);
        assert_eq!(program(&["run", "--unknown", "ls"]), None);
        assert_eq!(program(&["run"]), None);
    }

    #[test]
    fn each_preset_is_built_once() {
        let names = |args: &[&str]| {
            let choices = build(args).expect("the arguments make sense").choices();
            choices.iter().map(|choice| choice.preset().unwrap().name).collect::<Vec<_>>()
        };
        assert_eq!(names(&["--preset", "mixed", "c6-v3", "MIXED_TINYV3_C7_SAFE"]), ["mixed", "c6-v3"]);
        assert_eq!(names(&["--preset", "mixed", "--preset", "c6-v3"]), ["mixed", "c6-v3"]);
        assert_eq!(names(&["--all"]).len(), hakmem::PRESETS.len());
        assert!(build(&["--all", "--preset", "mixed"]).is_none());
        assert!(build(&[]).is_none());
    }

    #[test]
    fn one_preset_is_changed_at_a_time() {
        let changes = ["--with", "prefetch", "--with", "free-keep", "--without", "free-dualhot"];
        let flips = build(&[&["--preset", "mixed", "mixed"], &changes[..]].concat()).expect("it makes sense").flips();
        assert!(flips.features().eq(["free-keep", "no-free-dualhot", "prefetch"]));
        assert!(build(&[&["--preset", "mixed", "c6-v3"], &changes[..]].concat()).is_none());
        assert!(build(&[&["--all"], &changes[..]].concat()).is_none());
        let error = parse(&["build", "--preset", "mixed", "c6-v3", "--with", "prefetch"]).err().expect("it is refused");
        let message = error.to_string();
        assert!(message.contains("one preset") && message.contains("Usage: hakmem build"), "{message}");
    }
}

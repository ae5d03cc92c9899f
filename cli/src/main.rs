//! The `hakmem` command: its arguments, and what its exit code says.
//!
//! Each subcommand has a module. Every message goes to stderr and begins with `hakmem: `; stdout belongs to the
//! program that `run` starts, and to the listing that `build` prints.

mod build_cmd;
mod compile;
mod elf;
mod library;
mod preset;
mod program;
mod remedy;
mod run;
mod warnings;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};

/// Exit code of `build` when it fails.
const FAILURE: u8 = 1;
/// Exit code for arguments that make no sense.
const USAGE: u8 = 2;
/// Exit code of `run` when hakmem itself fails; the same as that of env(1) and timeout(1).
const RUN_FAILURE: u8 = 125;

/// Run programs under hakmem, a malloc replacement, and build its libraries.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  hakmem run -- python3 -c 'print(1)'
  hakmem build --preset mixed --out /usr/local/lib

Exit codes:
  0    Success.
  1    build: a library could not be built or written.
  2    The arguments make no sense.
  Those of run are its own: see `hakmem run --help`."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(RunArgs),
    Build(BuildArgs),
}

/// Run a program with hakmem as its malloc.
///
/// The program replaces this command (exec), so it keeps its process id, its input and output, its signals and its
/// exit code, and pays nothing for having been started this way. Programs that it starts use hakmem too.
///
/// The library is the one that --lib names; or that of the preset, beside this executable; or it is built there now,
/// if the sources of hakmem are at hand. It is built again when a source file is newer.
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
struct RunArgs {
    /// The preset to run under
    #[arg(long, value_name = "NAME", default_value = preset::DEFAULT, value_parser = presets())]
    preset: String,

    /// Use this library instead of a preset's
    #[arg(long, value_name = "PATH.so", conflicts_with = "preset")]
    lib: Option<PathBuf>,

    /// The program, looked up in PATH, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    program: Vec<OsString>,
}

/// Build the shared libraries of presets.
///
/// Writes libhakmem-NAME.so for each preset NAME and prints its path and size. Load one with
/// `hakmem run --lib PATH`, or with LD_PRELOAD. A library appears when it is complete: an interrupted or failed build
/// leaves the one that was there.
///
/// Needs cargo and the sources that this command was built from.
#[derive(Args)]
#[command(after_help = "\
Examples:
  hakmem build --preset mixed
  hakmem build --all --out /usr/local/lib

Exit codes:
  0    Every library was written.
  1    A library could not be built or written.
  2    The arguments make no sense, such as an unknown preset.")]
struct BuildArgs {
    /// The presets to build
    #[arg(long = "preset", value_name = "NAME", num_args = 1.., required_unless_present = "all",
          value_parser = presets())]
    presets: Vec<String>,

    /// Build every preset
    #[arg(long, conflicts_with = "presets")]
    all: bool,

    /// The directory to write to; created if missing
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// Accepts the names of the presets, and lists them in the help and for a name that is none.
fn presets() -> PossibleValuesParser {
    PossibleValuesParser::new(
        preset::PRESETS.iter().map(|preset| clap::builder::PossibleValue::new(preset.name).help(preset.summary)),
    )
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let (result, code) = match cli.command {
        Command::Run(args) => {
            let Err(error) = run::run(&args);
            let code = error.downcast_ref::<program::CannotRun>().map_or(RUN_FAILURE, program::CannotRun::code);
            (Err(error), code)
        }
        Command::Build(args) => (build_cmd::build(&args), FAILURE),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hakmem: {error:#}");
            ExitCode::from(code)
        }
    }
}

/// Prints what clap has to say: the help that was asked for, or what is wrong with the arguments.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // Nothing is left to do when stdout is closed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    match text.strip_prefix("error: ") {
        Some(message) => eprint!("hakmem: {message}"),
        None => eprint!("{text}"),
    }
    // A 2 from `run` would look like one from the program.
    let run = std::env::args_os().nth(1).is_some_and(|command| command == "run");
    ExitCode::from(if run { RUN_FAILURE } else { USAGE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn program(args: &[&str]) -> Option<Vec<OsString>> {
        match Cli::try_parse_from(args).ok()?.command {
            Command::Run(args) => Some(args.program),
            Command::Build(_) => None,
        }
    }

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_programs_arguments_are_its_own() {
        let expected: Option<Vec<OsString>> = Some(["ls", "-l", "--help"].map(OsString::from).to_vec());
        assert_eq!(program(&["hakmem", "run", "ls", "-l", "--help"]), expected);
        assert_eq!(program(&["hakmem", "run", "--", "ls", "-l", "--help"]), expected);
        assert_eq!(program(&["hakmem", "run", "--preset", "mixed", "ls", "-l", "--help"]), expected);
        // Only the first `--` is ours.
        let expected: Option<Vec<OsString>> = Some(["git", "log", "--", "--lib"].map(OsString::from).to_vec());
        assert_eq!(program(&["hakmem", "run", "--", "git", "log", "--", "--lib"]), expected);
        assert_eq!(program(&["hakmem", "run", "git", "log", "--", "--lib"]), expected);
        assert_eq!(program(&["hakmem", "run", "--unknown", "ls"]), None);
        assert_eq!(program(&["hakmem", "run"]), None);
    }
}

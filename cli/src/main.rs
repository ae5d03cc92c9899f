//! The `hakmem` command: which module does what, and what the exit code says.
//!
//! Each subcommand has a module, the arguments are in `args`. Every message goes to stderr and begins with `hakmem: `;
//! stdout belongs to the program that `run` or `stats` starts, and to what the other commands print.

mod args;
mod bench;
mod build_cmd;
mod compile;
mod completions;
mod doctor;
mod elf;
mod flips;
mod json;
mod knobs;
mod library;
mod preset;
mod presets_cmd;
mod program;
mod remedy;
mod run;
mod show;
mod sources;
mod stats;
mod text;
mod warnings;

// The build script's reader of preset files, so that a file means here what it means there. It finds the vocabulary and
// its own parts in the root.
#[path = "../../build/geometry.rs"]
mod geometry;
#[path = "../../build/mistakes.rs"]
mod mistakes;
#[path = "../../build/preset_file.rs"]
mod preset_file;
#[path = "../../build/section.rs"]
mod section;

use std::process::ExitCode;

use hakmem::config;

use args::{Cli, Command};

/// Exit code of every command but `run` when it fails.
const FAILURE: u8 = 1;
/// Exit code for arguments that make no sense.
const USAGE: u8 = 2;
/// Exit code of `ab --check` for a change that loses.
const NO_GO: u8 = 3;
/// Exit code of `run` and `stats` when hakmem itself fails; the same as that of env(1) and timeout(1).
const RUN_FAILURE: u8 = 125;

fn main() -> ExitCode {
    if let Some(code) = bench::child() {
        return code;
    }
    if let Some(code) = doctor::probe() {
        return code;
    }
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let (result, code) = match cli.command {
        Command::Run(args) => {
            let Err(error) = run::run(&args);
            let code = code_of_run(&error);
            (Err(error), code)
        }
        Command::Stats(args) => match stats::stats(&args) {
            Ok(code) => return ExitCode::from(code),
            Err(error) => {
                let code = code_of_run(&error);
                (Err(error), code)
            }
        },
        Command::Doctor(args) => (doctor::doctor(&args), FAILURE),
        Command::Completions(args) => (completions::completions(&args), FAILURE),
        Command::Build(args) => (build_cmd::build(&args), FAILURE),
        Command::Bench(args) => (bench::bench(&args), FAILURE),
        Command::Ab(args) => match bench::ab(&args) {
            Ok(true) => return ExitCode::from(NO_GO),
            Ok(false) => (Ok(()), FAILURE),
            Err(error) => (Err(error), FAILURE),
        },
        Command::Presets(args) => (presets_cmd::presets(&args), FAILURE),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hakmem: {error:#}");
            ExitCode::from(code)
        }
    }
}

/// The exit code of `run` and `stats` for an error.
fn code_of_run(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<program::CannotRun>().map_or(RUN_FAILURE, program::CannotRun::code)
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
    // A 2 from these would look like one from the program.
    let run = std::env::args_os().nth(1).is_some_and(|command| command == "run" || command == "stats");
    ExitCode::from(if run { RUN_FAILURE } else { USAGE })
}

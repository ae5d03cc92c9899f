//! The `hakmem` command: which module does what, and what the exit code says.
//!
//! Each subcommand has a module, the arguments are in `args`. Every message goes to stderr and begins with `hakmem: `;
//! stdout belongs to the program that `run` starts, and to what `build` and `presets` print.

mod args;
mod build_cmd;
mod compile;
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
/// Exit code of `run` when hakmem itself fails; the same as that of env(1) and timeout(1).
const RUN_FAILURE: u8 = 125;

fn main() -> ExitCode {
    let cli = match Cli::read() {
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

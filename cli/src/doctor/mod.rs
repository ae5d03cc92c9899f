//! `hakmem doctor`: what is installed, what of it works, and what the system makes of hakmem.

mod check;
mod limits;
mod peers;
mod preload;
mod system;
mod tools;

use anyhow::bail;
use clap::Args;

use check::{Check, State};
use peers::Peers;
use preload::Preload;
pub use preload::probe;
use system::System;
use tools::Tools;

use crate::sources::Sources;
use crate::text;

/// Check whether hakmem works here, what limits it, and what is installed.
///
/// Each line is a check: `ok`, a `note` that is worth knowing, or a `problem`, with a remedy. The library of the preset
/// mixed is tried out; it is built first if it is missing or out of date.
#[derive(Args)]
#[command(after_help = "\
Keys of --json:
  checks    for each: check (its name), state (ok, note or problem), found,
            remedy (or null). The names are those of the second column
  problems  how many checks are problems
  notes     how many are notes

Examples:
  hakmem doctor
  hakmem doctor --json

Exit codes:
  0    There is no problem. There may be notes.
  1    There is a problem.
  2    The arguments make no sense.")]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints all checks. An error: there is a problem.
pub fn doctor(args: &DoctorArgs) -> anyhow::Result<()> {
    let sources = Sources::find();
    let checks: Vec<Check> = [
        System::read().judge(),
        Preload::try_out().judge(),
        Tools::find(sources.as_ref().map(Sources::root)).judge(),
        Peers::find().judge(),
    ]
    .concat();
    let (problems, notes) = (check::count(&checks, State::Problem), check::count(&checks, State::Note));
    if args.json {
        text::print(&format!("{:#}\n", check::json(&checks)))?;
    } else {
        text::print(&format!("{}\n{}, {}\n", check::text(&checks), many(problems, "problem"), many(notes, "note")))?;
    }
    if problems > 0 {
        bail!("there is a problem here. Remedy: see the lines above that say so");
    }
    Ok(())
}

fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

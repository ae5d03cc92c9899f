//! The arguments of `hakmem stats`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use crate::preset::{self, Choice, ChoiceParser};

/// Run a program and count its blocks, and the paths its calls take.
///
/// The program runs with a library that counts: that of the preset with the knobs heap-stats, free-path-stats and
/// heap-stats-dump, found beside this executable or built there. At the end the counters are printed on stderr, or
/// written to FILE: blocks by class and bin, and the paths that calls of malloc and free took, with their shares (the hit rates). What
/// the program itself writes to stderr passes through, over a pipe.
///
/// While the program runs, --every asks it for its counters (by SIGUSR2), and so does a SIGUSR2 that is sent to this
/// command. Not for a program that has a use of its own for that signal.
///
/// Processes that the program starts are counted apart, each when it ends; one that was forked starts with the counts of
/// its parent. A process that ends by a signal or by _exit, or that closes its stderr before it ends, as GNU's
/// coreutils do, prints no counters at its end.
///
/// Signals that are sent to this command are passed on to the program.
#[derive(Args)]
#[command(after_help = "\
Keys of --json (on stderr, each report is one line):
  program, process, preset
  exit        code and signal, one of which is null; null while it runs
  at_end      whether the program's counters are those that it printed at its
              end, and not earlier ones
  processes   for each, the program first:
    process, name (null if it was gone), is_program
    bins      for each: class, size, allocated, freed, still_allocated
    classes   for each: class, allocated, freed, still_allocated
    pages     blocks of whole pages: allocated, freed, still_allocated
    all       allocated, freed, still_allocated
    malloc    calls, hit_rate (0 to 1, or null), paths (for each: path, calls,
              share)
    free      likewise

Examples:
  hakmem stats -- python3 -c 'print(1)'
  hakmem stats --every 5 -- ./server --port 80
  hakmem stats --json --output counters.json -- ./program

Exit codes:
  125    hakmem failed: bad arguments, no library, FILE cannot be written; or
         PROGRAM ended with 0 and no process printed counters.
  126    PROGRAM was found and cannot be executed.
  127    PROGRAM was not found.
  128+N  PROGRAM was ended by signal N.
  Any other code is that of PROGRAM.")]
pub struct StatsArgs {
    /// The preset to run under: its name, or a profile of the original or a file as in `hakmem build`
    #[arg(long, value_name = "NAME", default_value = preset::DEFAULT, value_parser = ChoiceParser)]
    pub preset: Choice,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Print the counters every so many seconds while the program runs, too
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub every: Option<Duration>,

    /// Write the counters to FILE, which is replaced whole each time
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// The program, looked up in PATH, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"],
          value_hint = ValueHint::CommandWithArguments)]
    pub program: Vec<OsString>,
}

/// A time that is neither nothing nor without end.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=1e9).contains(seconds));
    let seconds =
        seconds.ok_or("it is no number of seconds from 0.1 to 1000000000. Remedy: write a number like 5 or 0.5")?;
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_a_number_of_seconds() {
        assert_eq!(seconds("5"), Ok(Duration::from_secs(5)));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["", "0", "-1", "0.01", "1e10", "inf", "NaN", "5s"] {
            assert!(seconds(text).is_err_and(|message| message.contains("Remedy: ")), "{text}");
        }
    }
}

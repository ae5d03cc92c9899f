//! `hakmem stats`: runs a program under a library that counts, and prints what it has counted.

mod args;
mod counter;
mod json;
mod library;
mod output;
mod reports;
mod scan;
mod signals;
mod table;
mod watch;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, bail};

pub use args::StatsArgs;
use json::{Exit, Origin};
use output::Output;
use reports::Reports;
use signals::Signals;
use watch::Watch;

use crate::RUN_FAILURE;
use crate::program;
use crate::remedy::OrRemedy;

/// This executable, even if another one has its path by now.
const OWN: &str = "/proc/self/exe";
/// The highest exit code of `hakmem run` when it fails.
const NOT_FOUND: u8 = 127;
/// What a shell adds to the number of the signal that ended a program.
const BY_SIGNAL: i32 = 128;

/// Runs the program and returns the exit code that says how it ended. An error is a
/// [`CannotRun`](program::CannotRun) where the program is to blame.
pub fn stats(args: &StatsArgs) -> anyhow::Result<u8> {
    let name = args.program.first().context("no program was named")?;
    // Before the library: a mistyped name should not have to wait for a build.
    program::resolve(name)?;
    let output = Output::new(args.output.as_deref())?;
    let preset = args.preset.preset()?;
    let library = library::counting(&args.preset, &preset)?;
    let name = name.display().to_string();
    let signals = Signals::new().or_remedy(|| "cannot listen for signals", "try again")?;
    // `hakmem run` becomes the program, and gives its warnings before.
    let mut command = Command::new(OWN);
    command.args(["run", "--lib"]).arg(library).arg("--").args(&args.program).stderr(Stdio::piped());
    let child =
        command.spawn().or_remedy(|| "cannot start a process", "see whether /proc is there, and room for one")?;

    let process = child.id();
    let printer = Printer { json: args.json, output, program: &name, process, preset: &preset.name };
    let live = &mut |reports: &Reports, open_line: &mut bool| {
        // The program goes on, and the disk may have room again.
        if let Err(error) = printer.print(reports, None, false, open_line) {
            watch::say(&format!("hakmem: warning: {error:#}\n"));
        }
    };
    let watch = Watch { name: name.clone(), child, signals, every: args.every, live };
    let mut ended = watch.watch()?;
    if !ended.reports.is_empty() {
        printer.print(&ended.reports, Some(ended.status), ended.at_end, &mut ended.open_line)?;
    }
    let code = code(ended.status);
    // For `hakmem run` has said why.
    let not_run = ended.reports.is_empty() && (RUN_FAILURE..=NOT_FOUND).contains(&code);
    if ended.reports.of(process).is_none() && !not_run {
        if ended.open_line {
            watch::say("\n");
        }
        let reason = silence(&name, ended.status);
        if code == 0 && ended.reports.is_empty() {
            bail!(reason);
        }
        watch::say(&format!("hakmem: {reason}\n"));
    }
    Ok(code)
}

/// Prints reports where they shall go.
struct Printer<'a> {
    json: bool,
    output: Output,
    program: &'a str,
    process: u32,
    preset: &'a str,
}

impl Printer<'_> {
    /// `status` is how the program has ended, if it has; `at_end` whether it reported then; `open_line` whether a line on
    /// stderr has no end, which it gets if something is printed there.
    fn print(
        &self,
        reports: &Reports,
        status: Option<ExitStatus>,
        at_end: bool,
        open_line: &mut bool,
    ) -> anyhow::Result<()> {
        let exit = status.map(|status| Exit { code: status.code(), signal: status.signal() });
        let text = if self.json {
            let origin = Origin { program: self.program, process: self.process, preset: self.preset, exit, at_end };
            let value = json::json(reports, &origin);
            // On stderr a line is easier to tell from what the program writes.
            if self.output.is_stderr() { format!("{value}\n") } else { format!("{value:#}\n") }
        } else {
            table::tables(reports, self.process, &moment(status, at_end))
        };
        let start = if self.output.is_stderr() && std::mem::take(open_line) { "\n" } else { "" };
        self.output.write(&format!("{start}{text}"))
    }
}

/// When the program's counters were read, in words.
fn moment(status: Option<ExitStatus>, at_end: bool) -> String {
    match status.map(|status| status.signal()) {
        _ if at_end => "at its end".into(),
        None => "while it runs".into(),
        Some(None) => "before its end".into(),
        Some(Some(signal)) => format!("before {} ended it", signal_name(signal)),
    }
}

fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), Into::into)
}

/// The exit code for a program that ended so.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(BY_SIGNAL + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Why a program printed no counters, as far as can be told.
fn silence(name: &str, status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!(
            "`{name}` was ended by {}, without a last report of its counters. Remedy: have them printed while it runs, \
             with --every SECONDS",
            signal_name(signal)
        ),
        None => format!(
            "`{name}` printed no counters at its end: it ended with _exit, closed its stderr before the end (GNU's coreutils do), or \
             runs without hakmem. Remedy: have them printed while it runs, with --every SECONDS"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_that_of_a_shell() {
        let exited = |code: i32| ExitStatus::from_raw(code << 8);
        assert_eq!([0, 1, 255].map(|code| self::code(exited(code))), [0, 1, 255]);
        assert_eq!(code(ExitStatus::from_raw(11)), 139);
        // With a core file.
        assert_eq!(code(ExitStatus::from_raw(6 | 0x80)), 134);
    }

    #[test]
    fn the_end_is_told_in_words() {
        let moment = |status: Option<i32>, at_end| moment(status.map(ExitStatus::from_raw), at_end);
        assert_eq!(moment(None, false), "while it runs");
        assert_eq!((moment(Some(0), true), moment(Some(0), false)), ("at its end".into(), "before its end".into()));
        assert_eq!(moment(Some(15), false), "before SIGTERM ended it");
        assert!(silence("x", ExitStatus::from_raw(11)).contains("SIGSEGV"));
        assert!(silence("x", ExitStatus::from_raw(0)).contains("_exit"));
    }
}

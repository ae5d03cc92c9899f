//! Runs along with the program: passes on what it writes to stderr less the counters, asks it for reports, and hands
//! signals on until it has ended and nobody holds its stderr any more.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;

use super::counter::Counter;
use super::reports::Reports;
use super::scan::{Piece, Scanner};
use super::signals::{self, Signals, Wish};
use crate::remedy::OrRemedy;

/// How long the beginning of a line is held that may become a counter: it comes in one piece, unless a read cut it.
const HOLD: Duration = Duration::from_millis(100);
/// A report is complete when no line of it came for so long: they follow each other without a break.
const SETTLE: Duration = Duration::from_millis(100);
/// How long the end of the other processes is awaited without a word.
const PATIENCE: Duration = Duration::from_secs(1);
const PIECE: usize = 64 << 10;

/// A program that runs.
pub struct Watch<'a> {
    /// What it is called in messages.
    pub name: String,
    /// It, with a pipe as its stderr.
    pub child: Child,
    /// Listening since before it was started.
    pub signals: Signals,
    /// How often it is asked for a report.
    pub every: Option<Duration>,
    /// Takes the reports while it runs. The flag is whether its last line on stderr has no end; to be reset by who gives it
    /// one.
    pub live: &'a mut dyn FnMut(&Reports, &mut bool),
}

/// How it went.
pub struct Ended {
    pub status: ExitStatus,
    pub reports: Reports,
    /// Whether the program's own report is one that it printed at its end.
    pub at_end: bool,
    /// Whether the last line on stderr has no end.
    pub open_line: bool,
}

/// What is known so far.
#[derive(Default)]
struct Seen {
    scanner: Scanner,
    reports: Reports,
    open_line: bool,
    status: Option<ExitStatus>,
    /// Nobody awaits the other processes.
    enough: bool,
    /// A report was asked for and is not yet complete.
    asked: bool,
    /// What the program has reported was printed.
    printed: bool,
    /// It was told that the program does not answer.
    silent: bool,
    held: Option<Instant>,
    settled: Option<Instant>,
    patience: Option<Instant>,
}

impl Seen {
    /// Prints a message, on a line of its own.
    fn say(&mut self, message: &str) {
        let start = if std::mem::take(&mut self.open_line) { "\n" } else { "" };
        say(&format!("{start}hakmem: {message}\n"));
    }
}

impl Watch<'_> {
    /// Until the end.
    pub fn watch(mut self) -> anyhow::Result<Ended> {
        let mut seen = Seen::default();
        let mut stderr = self.child.stderr.take();
        let mut tick = self.every.and_then(|every| Instant::now().checked_add(every));
        while seen.status.is_none() || (stderr.is_some() && !seen.enough) {
            let next = [tick, seen.held, seen.settled, seen.patience].into_iter().flatten().min();
            let ready = wait(stderr.as_ref(), &self.signals, next)?;
            if ready.signals {
                self.hear(&mut tick, &mut seen)?;
            }
            if ready.stderr {
                self.read(&mut stderr, &mut seen)?;
            }
            self.on_time(&mut tick, &mut seen);
        }
        // What is there already belongs to the program that has ended.
        while stderr.is_some() && wait(stderr.as_ref(), &self.signals, Some(Instant::now()))?.stderr {
            self.read(&mut stderr, &mut seen)?;
        }
        let held = seen.scanner.release();
        pass(&held, &mut seen.open_line);
        let status = seen.status.expect("the loop ends when it is there");
        let reported = seen.reports.of(self.child.id()).is_some() && !seen.printed;
        let at_end = reported && status.signal().is_none();
        Ok(Ended { status, reports: seen.reports, at_end, open_line: seen.open_line })
    }

    fn program(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Does what the signals ask for.
    fn hear(&mut self, tick: &mut Option<Instant>, seen: &mut Seen) -> anyhow::Result<()> {
        for wish in self.signals.wishes() {
            match wish {
                Wish::Report => self.ask(seen, true),
                Wish::Look if seen.status.is_none() => {
                    seen.status = self.child.try_wait().or_remedy(|| "cannot wait for the program", "try again")?;
                    if seen.status.is_some() {
                        // It is asked no more, and lines that came may be its last ones.
                        (*tick, seen.settled) = (None, None);
                        seen.patience = Instant::now().checked_add(PATIENCE);
                    }
                }
                Wish::Look => {}
                Wish::End(_) if seen.status.is_some() => seen.enough = true,
                Wish::End(signal) => signal.into_iter().for_each(|signal| signals::send(self.program(), signal)),
            }
        }
        Ok(())
    }

    /// Asks for a report, unless one is being printed. `aloud`: that there is none is said every time.
    fn ask(&self, seen: &mut Seen, aloud: bool) {
        if seen.status.is_some() || seen.settled.is_some() {
            return;
        }
        if signals::ask(self.program()) {
            seen.asked = true;
        } else if aloud || !std::mem::replace(&mut seen.silent, true) {
            seen.say(&format!(
                "`{}` cannot be asked for its counters: it has not allocated yet, or hakmem is not in it. Remedy: try \
                 again later",
                self.name
            ));
        }
    }

    /// Takes what can be read.
    fn read(&mut self, stderr: &mut Option<ChildStderr>, seen: &mut Seen) -> anyhow::Result<()> {
        let mut bytes = [0; PIECE];
        let count = match stderr.as_mut().map(|stderr| stderr.read(&mut bytes)) {
            Some(Ok(count)) => count,
            Some(Err(error)) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Some(Err(error)) => return Err(error).or_remedy(|| "cannot read the program's stderr", "try again"),
            None => 0,
        };
        if count == 0 {
            *stderr = None;
            return Ok(());
        }
        for piece in seen.scanner.feed(&bytes[..count]) {
            match piece {
                // Nobody reads ours: the program shall learn so from its own.
                Piece::Text(text) if !pass(&text, &mut seen.open_line) => *stderr = None,
                Piece::Text(_) => {}
                Piece::Counter(counter) => self.count(counter, seen),
            }
        }
        seen.held = if seen.scanner.holds() { Instant::now().checked_add(HOLD) } else { None };
        Ok(())
    }

    fn count(&mut self, counter: Counter, seen: &mut Seen) {
        let own = counter.process == self.child.id();
        if own && seen.settled.is_some() && seen.reports.ended_by(counter) {
            self.report(seen);
        }
        seen.printed &= !own;
        if own && seen.asked && seen.status.is_none() {
            seen.settled = Instant::now().checked_add(SETTLE);
        }
        // The program's process may be gone by now, and its name is known.
        seen.reports.take(counter, |id| if own { Some(file_name(&self.name)) } else { name_of(id) });
    }

    /// A report that was asked for is complete.
    fn report(&mut self, seen: &mut Seen) {
        (seen.asked, seen.settled, seen.printed) = (false, None, true);
        (self.live)(&seen.reports, &mut seen.open_line);
    }

    /// Does what is due.
    fn on_time(&mut self, tick: &mut Option<Instant>, seen: &mut Seen) {
        let now = Instant::now();
        let due = |time: Option<Instant>| time.is_some_and(|time| time <= now);
        if due(seen.held) {
            seen.held = None;
            let held = seen.scanner.release();
            pass(&held, &mut seen.open_line);
        }
        if due(seen.settled) {
            self.report(seen);
        }
        if due(seen.patience) {
            seen.patience = None;
            seen.say(&format!(
                "`{}` has ended; waiting for other processes that hold its stderr (Ctrl-C or SIGTERM: no longer)",
                self.name
            ));
        }
        if due(*tick) {
            *tick = self.every.and_then(|every| now.checked_add(every));
            self.ask(seen, false);
        }
    }
}

/// What can be read.
struct Ready {
    stderr: bool,
    signals: bool,
}

/// Waits until something can be read, or until `next`.
fn wait(stderr: Option<&ChildStderr>, signals: &Signals, next: Option<Instant>) -> anyhow::Result<Ready> {
    let timeout = next.map(|next| next.saturating_duration_since(Instant::now()));
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    let signals = signals.as_fd();
    let mut all: Vec<_> =
        [Some(PollFd::new(&signals, PollFlags::IN)), stderr.map(|stderr| PollFd::new(stderr, PollFlags::IN))]
            .into_iter()
            .flatten()
            .collect();
    match poll(&mut all, timeout.as_ref()) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Ready { stderr: false, signals: true }),
        Err(error) => return Err(error).or_remedy(|| "cannot wait for the program's stderr", "try again"),
    }
    let ready = |index: usize| all.get(index).is_some_and(|fd| !fd.revents().is_empty());
    Ok(Ready { signals: ready(0), stderr: ready(1) })
}

/// Writes the program's bytes to our stderr; false if nobody reads it any more.
fn pass(text: &[u8], open_line: &mut bool) -> bool {
    if let Some(last) = text.last() {
        *open_line = *last != b'\n';
    }
    !matches!(io::stderr().write_all(text), Err(error) if error.kind() == ErrorKind::BrokenPipe)
}

/// Prints a message. That nobody reads it is no matter, where `eprintln` would panic.
pub fn say(message: &str) {
    let _ = io::stderr().write_all(message.as_bytes());
}

/// What the program's process is called.
fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).into()
}

/// What a process is called, if it is still there.
fn name_of(id: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{id}/comm")).ok()?.trim_end().into())
}

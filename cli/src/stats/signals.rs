//! The signals that `hakmem stats` hears, and what becomes of them.
//!
//! What the terminal sends, it sends to the program as well: they are of one process group. What another process sends
//! reaches this one alone, and is passed on.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Cause;

/// Signals that are meant for the program.
const MEANT_FOR_PROGRAM: [i32; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1];

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wish {
    /// To report.
    Report,
    /// To look after the program, which may have ended.
    Look,
    /// To end, or whatever the program makes of it; to be passed on if the number is there.
    End(Option<i32>),
}

/// The signals that came.
pub struct Signals(SignalDelivery<UnixStream, WithOrigin>);

impl Signals {
    /// From now on they are heard. Those that this process was started to ignore (nohup) stay ignored, by the program too.
    pub fn new() -> io::Result<Self> {
        let ignored = Mask::of("self", "SigIgn").unwrap_or_default();
        let heard = MEANT_FOR_PROGRAM.into_iter().filter(|&signal| !ignored.has(signal)).chain([SIGUSR2, SIGCHLD]);
        let (read, write) = UnixStream::pair()?;
        Ok(Self(SignalDelivery::with_pipe(read, write, WithOrigin::default(), heard)?))
    }

    /// What becomes readable when a signal has come.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }

    /// What the signals ask for that came since the last call.
    pub fn wishes(&mut self) -> Vec<Wish> {
        self.0.pending().map(|origin| wish(origin.signal, origin.cause)).collect()
    }
}

fn wish(signal: i32, cause: Cause) -> Wish {
    match signal {
        SIGUSR2 => Wish::Report,
        SIGCHLD => Wish::Look,
        _ => Wish::End(Some(signal).filter(|_| cause != Cause::Kernel)),
    }
}

/// Sends `signal` to the program. That it has ended meanwhile is no matter.
pub fn send(program: Pid, signal: i32) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = kill_process(program, signal);
    }
}

/// Asks the program for a report. False if it would not answer, and die of the signal: it is not under hakmem, or has not
/// allocated yet.
pub fn ask(program: Pid) -> bool {
    let answers = Mask::of(&program.as_raw_nonzero().to_string(), "SigCgt").is_some_and(|caught| caught.has(SIGUSR2));
    if answers {
        send(program, SIGUSR2);
    }
    answers
}

/// A set of signals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mask(u64);

impl Mask {
    /// The set of a process that the kernel calls `name`; None if the process is gone.
    fn of(process: &str, name: &str) -> Option<Self> {
        Self::within(&fs::read_to_string(format!("/proc/{process}/status")).ok()?, name)
    }

    fn within(status: &str, name: &str) -> Option<Self> {
        let mut fields = status.lines().filter_map(|line| line.split_once(':'));
        let (_, mask) = fields.find(|(field, _)| *field == name)?;
        Some(Self(u64::from_str_radix(mask.trim(), 16).ok()?))
    }

    fn has(self, signal: i32) -> bool {
        self.0 >> (signal - 1) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::siginfo::Sent;

    #[test]
    fn the_kernel_tells_what_a_process_does_with_its_signals() {
        let status = "Name:\tcat\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000000802\n";
        let mask = |name| Mask::within(status, name);
        assert!(mask("SigIgn").unwrap().has(SIGHUP) && !mask("SigIgn").unwrap().has(SIGUSR2));
        assert!(mask("SigCgt").unwrap().has(SIGUSR2) && mask("SigCgt").unwrap().has(SIGINT));
        assert_eq!(mask("SigBlk"), None);
        assert!(Mask::of("self", "SigCgt").is_some());
    }

    #[test]
    fn only_what_processes_send_is_passed_on() {
        let sent = Cause::Sent(Sent::User);
        assert_eq!(wish(SIGINT, Cause::Kernel), Wish::End(None));
        assert_eq!(wish(SIGINT, sent), Wish::End(Some(SIGINT)));
        assert_eq!(wish(SIGTERM, sent), Wish::End(Some(SIGTERM)));
        assert_eq!(wish(SIGUSR2, sent), Wish::Report);
        assert_eq!(wish(SIGCHLD, Cause::Unknown), Wish::Look);
    }
}

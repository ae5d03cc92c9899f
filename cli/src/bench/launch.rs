//! The process that starts a program under a library, and says how long it took and how much memory it had.
//!
//! It stands between `hakmem ab` and the program because the kernel counts to a program's peak what its parent had
//! when it started it; this process is small.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::json;
use wait4::Wait4;

use crate::bench::proof;

/// What this process is started with: `hakmem launch RESULT show|hide LIBRARY BINDINGS PROGRAM NAME ARGS...`. LIBRARY is
/// preloaded, and the loader writes into the directory BINDINGS; both may be empty.
pub const COMMAND: &str = "launch";
/// Shows what the program prints.
pub const SHOW: &str = "show";
/// Throws it away, but for the errors: the parent has them collected.
pub const HIDE: &str = "hide";

/// Runs the program and writes what was found into the file RESULT, as JSON.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    match run(&args.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hakmem: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[OsString]) -> anyhow::Result<()> {
    let [result, output, library, bindings, program, name, args @ ..] = args else {
        bail!("this is started by `hakmem ab`. Remedy: start that");
    };
    let mut command = Command::new(program);
    command.arg0(name).args(args).env_remove("LD_PRELOAD").stdin(Stdio::null());
    if !library.is_empty() {
        command.env("LD_PRELOAD", library);
    }
    if !bindings.is_empty() {
        proof::ask_loader(&mut command, bindings);
    }
    if output == OsStr::new(HIDE) {
        command.stdout(Stdio::null());
    }
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", program.display()))?;
    let used = child.wait4()?;
    let seconds = start.elapsed().as_secs_f64();
    let result_line = json!({
        "seconds": seconds,
        "peak_rss_kb": used.rusage.maxrss / 1024,
        "code": used.status.code(),
        "signal": used.status.signal(),
    });
    fs::write(result, result_line.to_string())?;
    Ok(())
}

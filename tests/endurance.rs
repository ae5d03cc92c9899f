//! A long run of everything at once: threads, forks, signals, drifting sizes; see `tests/c/endurance.c`.
//!
//! Fifteen seconds here, two minutes under CI, and as long as you like on demand:
//! `HAKMEM_ENDURANCE_SECONDS=3600 cargo test --test endurance -- --nocapture`.

mod support;

use std::process::Command;

#[test]
fn threads_forks_and_signals_for_a_long_time() {
    let Some(program) = support::compile("endurance", &[]) else { return };
    let usual = if std::env::var_os("CI").is_some() { "120" } else { "15" };
    let seconds = std::env::var("HAKMEM_ENDURANCE_SECONDS").unwrap_or_else(|_| usual.to_owned());
    // `timeout` ends a run that hangs; it is part of coreutils, as `cc` is of a development machine.
    let limit = seconds.parse::<u64>().expect("HAKMEM_ENDURANCE_SECONDS is a number of seconds") * 4 + 120;
    let output = Command::new("timeout")
        .args(["--signal=KILL", &limit.to_string()])
        .arg(&program.path)
        .arg(&seconds)
        .env("LD_PRELOAD", support::library())
        .output()
        .expect("timeout starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{stdout}");
    assert!(output.status.success() && stderr.is_empty(), "{}\n{stdout}{stderr}", output.status);
}

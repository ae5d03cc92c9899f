//! What a call of `libhakmem.so` costs in instructions, slow paths included, counted by callgrind: the same on every run
//! and machine with the same compiler.
//!
//! `benches/instructions` has the exact limits of every kind of call and preset, which it measures linked into a program.
//! This test looks at the file that users preload, with a small and a large working set.
//!
//! `cargo test --release --test instructions -- --nocapture` prints the figures. The driver's own instructions are not
//! counted: callgrind's output names the object that each instruction belongs to.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Arguments of `benches/workloads/random_mixed.c` behind the number of iterations, and the most instructions that a
/// call may take on average. Every iteration is one call, `malloc` or `free` in equal parts.
const LIMITS: &[(&str, &str, f64)] =
    &[("Mixed 16-1024, ws 400", "400 1 16 1024", 13.2), ("Mixed, ws 100,000", "100000 1 16 1024", 15.0)];

/// Instructions spent in libhakmem.so in a run of `iterations`.
fn count(program: &Path, directory: &Path, iterations: u32, arguments: &str) -> u64 {
    let out = directory.join("callgrind.out");
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .arg(iterations.to_string())
        .args(arguments.split(' '))
        .env("LD_PRELOAD", support::library())
        .stdout(Stdio::null())
        .status()
        .expect("valgrind starts");
    assert!(status.success(), "valgrind: {status}");
    own_cost(&fs::read_to_string(&out).expect("callgrind wrote its file"), "libhakmem.so")
}

/// Sums the costs of an object's own code in callgrind's format: `ob=(ID)` opens an object, `cob=(ID)` names a callee's,
/// whichever comes first with the path behind it; lines that start with a position carry costs, and the one after
/// `calls=` belongs to the callee.
fn own_cost(profile: &str, object: &str) -> u64 {
    let mut id = None;
    let mut inside = false;
    let mut callee = false;
    let mut sum = 0;
    for line in profile.lines() {
        if let Some(rest) = line.strip_prefix("ob=").or_else(|| line.strip_prefix("cob=")) {
            let (number, name) = rest.split_once(' ').unwrap_or((rest, ""));
            if name.ends_with(object) {
                id = Some(number.to_owned());
            }
            if line.starts_with("ob=") {
                inside = id.as_deref() == Some(number);
            }
        } else if line.starts_with("calls=") {
            callee = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            if inside && !callee {
                sum += line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok()).unwrap_or(0);
            }
            callee = false;
        }
    }
    assert!(sum > 0, "callgrind saw no instruction of {object}");
    sum
}

#[test]
fn calls_stay_within_their_instruction_limits() {
    if !support::installed("valgrind") || !support::installed("cc") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let program = directory.path().join("random_mixed");
    let source = support::root().join("benches/workloads/random_mixed.c");
    let built = Command::new("cc").arg("-O2").arg("-o").args([&program, &source]).status().expect("cc starts");
    assert!(built.success());
    println!("{:<28} {:>12} {:>6}", "workload", "per call", "limit");
    for (name, arguments, limit) in LIMITS {
        // What start-up and first uses cost is the same in both runs.
        let (few, many) = (1_000_000, 3_000_000);
        let more =
            count(&program, directory.path(), many, arguments) - count(&program, directory.path(), few, arguments);
        let calls = more as f64 / f64::from(many - few);
        println!("{name:<28} {calls:>12.3} {limit:>6}");
        assert!(calls <= *limit, "{name}: {calls:.3} instructions per call, limit {limit}");
    }
}

#[test]
fn costs_are_summed_as_callgrind_writes_them() {
    let profile = "events: Ir\nob=(1) /x/a.out\nfn=(1) main\n10 5\ncob=(2) /x/libhakmem.so\ncalls=2 0\n10 40\n\
                   ob=(2)\nfn=(2)\n0 7\n+1 8\n* 1\ncalls=1 3\n* 100\nob=(1)\n11 9\n";
    assert_eq!(own_cost(profile, "libhakmem.so"), 16);
    assert_eq!(own_cost(profile, "a.out"), 14);
}

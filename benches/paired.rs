//! Whole programs under hakmem and under libc, in turn within one run: `cargo bench --bench paired`.
//!
//! Builds the drivers in `benches/workloads` with `cc` and `libhakmem.so` with cargo, runs each workload alternately
//! under both and prints the median of the ratios per round (above 1: hakmem is faster), their range, and the median
//! peak RSS of each. `cargo bench --bench paired -- ROUNDS` sets the number of rounds (default 11).

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};

/// Name, driver, arguments. Every driver prints `time SECONDS s` and `peak_rss_kb KB`.
const WORKLOADS: &[(&str, &str, &str)] = &[
    ("Mixed 16-1024, ws 400", "random_mixed", "20000000 400 1 16 1024"),
    ("C6-heavy 257-768, ws 400", "random_mixed", "20000000 400 1 257 768"),
    ("C5/C6 200-500, ws 400", "random_mixed", "20000000 400 1 200 500"),
    ("Mixed, ws 100,000", "random_mixed", "20000000 100000 1 16 1024"),
    ("2 threads, no remote frees", "cross_thread", "2 5000000 400 16 1024 0"),
    ("2 threads, half remote", "cross_thread", "2 5000000 400 16 1024 50"),
    ("2 threads, all remote", "cross_thread", "2 5000000 400 16 1024 100"),
    ("8 threads, half remote", "cross_thread", "8 1000000 400 16 1024 50"),
];

fn main() {
    let rounds = env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(11);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = root.join("target/paired");
    std::fs::create_dir_all(&directory).expect("target/ is writable");
    let library = build_library(root, &directory);
    println!("{:<28} {:>7} {:>15} {:>12} {:>12}", "workload", "speed", "range", "RSS hakmem", "RSS libc");
    for (name, driver, arguments) in WORKLOADS {
        let program = compile(root, &directory, driver);
        let mut ratios = Vec::new();
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let hakmem = run(&program, arguments, Some(&library));
            let libc = run(&program, arguments, None);
            ratios.push(libc.0 / hakmem.0);
            ours.push(hakmem.1);
            theirs.push(libc.1);
        }
        let ratio = median(&mut ratios);
        println!(
            "{name:<28} {ratio:>7.2} {:>15} {:>9.0} KB {:>9.0} KB",
            format!("{:.2} to {:.2}", ratios[0], ratios[ratios.len() - 1]),
            median(&mut ours),
            median(&mut theirs),
        );
    }
}

/// Sorts the values and returns the middle one.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn build_library(root: &Path, directory: &Path) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--features", "preset-mixed", "-p", "hakmem-preload"]);
    cargo.args(["-p", "hakmem-alloc"]).current_dir(root).env("CARGO_TARGET_DIR", directory);
    done(cargo, "cargo build");
    directory.join("release/libhakmem.so")
}

fn compile(root: &Path, directory: &Path, driver: &str) -> PathBuf {
    let program = directory.join(driver);
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-pthread", "-o"]).arg(&program).arg(root.join(format!("benches/workloads/{driver}.c")));
    done(cc, "cc");
    program
}

fn done(mut command: Command, what: &str) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{what} failed: {status}")),
        Err(error) => fail(&format!("{what} cannot be run: {error}")),
    }
}

/// Seconds and peak RSS in KB of one run.
fn run(program: &Path, arguments: &str, preload: Option<&Path>) -> (f64, f64) {
    let mut command = Command::new(program);
    command.args(arguments.split(' ')).stderr(Stdio::inherit());
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    let output = command.output().unwrap_or_else(|error| fail(&format!("{}: {error}", program.display())));
    let text = String::from_utf8_lossy(&output.stdout);
    match (number_after(&text, "time "), number_after(&text, "peak_rss_kb ")) {
        (Some(seconds), Some(rss)) if output.status.success() => (seconds, rss),
        _ => fail(&format!("{} ended with {} and printed: {text}", program.display(), output.status)),
    }
}

fn number_after(text: &str, word: &str) -> Option<f64> {
    text.split(word).nth(1)?.split_whitespace().next()?.parse().ok()
}

fn fail(message: &str) -> ! {
    eprintln!("paired: {message}");
    exit(1)
}

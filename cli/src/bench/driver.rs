//! The process that runs a workload on the `malloc` that the loader gave it, and says whose that is.

use std::ffi::OsString;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, bail};
use hakmem_workloads::Workload;
use serde_json::json;

use crate::bench::proof::Mapping;

/// What this process is started with: `hakmem driver WORKLOAD --scale SCALE`.
pub const COMMAND: &str = "driver";

/// Runs the workload and prints what was found, a line of JSON.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    match run(args) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hakmem: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: impl Iterator<Item = OsString>) -> anyhow::Result<String> {
    let args: Vec<_> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    let [name, option, scale] = &args[..] else {
        bail!("the driver is started by `hakmem bench` and `hakmem ab`. Remedy: start these");
    };
    let workload = Workload::named(name).filter(|_| option == "--scale").context("no such workload")?;
    let scale = scale.parse()?;
    // Before the first block: who mixes allocators up does not get to the end.
    let maps = fs::read_to_string("/proc/self/maps")?;
    let malloc = malloc(&maps)?;
    let report = workload.run(&std::alloc::System, scale);
    let peak = peak_rss_kb(&fs::read_to_string("/proc/self/status")?).context("the kernel tells no VmHWM")?;
    let own = Mapping::of(&maps, peak_rss_kb as *const () as usize);
    let line = json!({
        "operations": report.operations,
        "checksum": report.checksum,
        "damaged": report.damaged,
        "seconds": report.time.as_secs_f64(),
        "peak_rss_kb": peak,
        "malloc": malloc.to_json(),
        "driver": own.map(|own| own.to_json()),
    });
    Ok(line.to_string())
}

/// The file that `malloc` and its companions are mapped from. These are the very addresses that
/// [`System`](std::alloc::System) calls.
fn malloc(maps: &str) -> anyhow::Result<Mapping> {
    let functions = [
        ("malloc", libc::malloc as *const () as usize),
        ("free", libc::free as *const () as usize),
        ("realloc", libc::realloc as *const () as usize),
    ];
    let mut found: Option<Mapping> = None;
    for (name, address) in functions {
        let mapping = Mapping::of(maps, address).with_context(|| format!("`{name}` is in no file"))?;
        match &found {
            None => found = Some(mapping),
            Some(first) if *first == mapping => {}
            Some(first) => bail!(
                "`malloc` is that of {} and `{name}` that of {}. Remedy: use a library that has all of them",
                first.path.display(),
                mapping.path.display()
            ),
        }
    }
    found.context("there is a malloc")
}

/// What /proc/PID/status has for the most memory that was ever resident.
fn peak_rss_kb(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_malloc_is_libcs() {
        let malloc = malloc(&fs::read_to_string("/proc/self/maps").unwrap()).unwrap();
        assert!(malloc.is_libc(), "{malloc:?}");
    }

    #[test]
    fn the_kernels_words_are_understood() {
        assert_eq!(peak_rss_kb("VmPeak:\t    9 kB\nVmHWM:\t    2060 kB\nVmRSS:\t    7 kB\n"), Some(2060));
        assert_eq!(peak_rss_kb("VmRSS:\t    7 kB\n"), None);
    }

    #[test]
    fn a_line_says_what_was_done() {
        let line = run(["mixed", "--scale", "0.0001"].map(OsString::from).into_iter()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["damaged"], 0);
        assert!(value["operations"].as_u64().unwrap() >= 2000, "{line}");
        assert!(value["seconds"].as_f64().unwrap() > 0.0 && value["peak_rss_kb"].as_u64().unwrap() > 0, "{line}");
        assert!(run(["mixd", "--scale", "1"].map(OsString::from).into_iter()).is_err());
        assert!(run(std::iter::empty()).is_err());
    }
}

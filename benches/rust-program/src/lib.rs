//! The program that the four binaries share; they differ in their `#[global_allocator]` alone.
//!
//! [`run`] works through the [`WORKLOADS`] and prints, for `benches/compare.rs` to read, one line each and one for all:
//!
//! ```text
//! workload <TAB> NAME <TAB> SECONDS <TAB> CHECKSUM
//! peak_rss_kb <TAB> KB
//! ```

mod random;
mod workloads;

pub use workloads::WORKLOADS;

use std::time::Instant;

/// One part of the program.
pub struct Workload {
    /// Its name: what the table calls it, and what chooses it on the command line.
    pub name: &'static str,
    /// Does the work and frees all it allocated. The checksum depends on nothing but the source.
    pub work: fn() -> u64,
}

/// The `main` of the binaries: runs every workload, or those that the arguments name, for a profiler say.
pub fn run() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    for name in &chosen {
        if WORKLOADS.iter().all(|workload| workload.name != name) {
            let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
            eprintln!("there is no workload \"{name}\". Remedy: name one of \"{}\".", names.join("\", \""));
            std::process::exit(2);
        }
    }
    for workload in WORKLOADS {
        if chosen.is_empty() || chosen.iter().any(|name| name == workload.name) {
            let start = Instant::now();
            let checksum = (workload.work)();
            let seconds = start.elapsed().as_secs_f64();
            println!("workload\t{}\t{seconds}\t{checksum:016x}", workload.name);
        }
    }
    println!("peak_rss_kb\t{}", peak_rss_kb());
}

/// The most memory that was resident in this process so far, in KB.
fn peak_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc mounted");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    peak.expect("the kernel reports VmHWM in KB")
}

#[cfg(test)]
mod tests {
    use super::WORKLOADS;

    #[test]
    fn checksums_depend_on_nothing_but_the_source() {
        for workload in WORKLOADS {
            assert_eq!((workload.work)(), (workload.work)(), "{}", workload.name);
        }
    }
}

//! `hakmem bench` and `hakmem ab`: how fast allocators are, and which of two is faster.
//!
//! What is measured is a *subject* (a workload or a program) under *sides* (libraries that are preloaded, or libc's own
//! malloc). Every run is a process of its own, started by `subject`, interleaved with those of the other sides by
//! `measure`, and proven by `proof` to have used the allocator that its side claims. `summary` and `verdict` make
//! something of the runs; `table`, `report` and `plot` show it. `driver` and `launch` are what runs in the processes.

mod ab_args;
mod ab_cmd;
mod bench_args;
mod bench_cmd;
mod callgrind;
mod code;
mod comparison;
mod driver;
mod file;
mod help;
mod interrupt;
mod knobs_cmd;
mod launch;
mod measure;
mod peers;
mod plot;
mod plot_layout;
mod progress;
mod proof;
mod report;
mod side;
mod subject;
mod summary;
mod table;
mod verdict;

use std::process::ExitCode;

pub use ab_args::AbArgs;
pub use ab_cmd::ab;
pub use bench_args::BenchArgs;
pub use bench_cmd::bench;

/// Runs what the other half of this module starts, if this process is one of those. They are no commands for people,
/// and are looked for before the arguments are parsed: the parser would leave its mark on the heap under test.
pub fn child() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    match args.next()?.to_str()? {
        driver::COMMAND => Some(driver::main(args)),
        launch::COMMAND => Some(launch::main(args)),
        _ => None,
    }
}

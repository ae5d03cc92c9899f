//! Every measurement as a benchmark of iai-callgrind: the subject, started once a measurement. The gate starts this and
//! reads the summaries that it leaves; started by itself it shows the counts, and iai-callgrind compares them with
//! those of the run before.

#![allow(missing_docs, reason = "the macros make public items")]

use iai_callgrind::{
    Bench, BinaryBenchmark, BinaryBenchmarkConfig, BinaryBenchmarkGroup, Callgrind, Command, binary_benchmark_group,
    main,
};
use instructions::operation::{Measurement, Operation, SHARE, id, measured_as};
use std::env;

/// Counts instructions, and only within the functions `measured_*` of the subject.
fn callgrind() -> Callgrind {
    Callgrind::with_args(["--toggle-collect=*measured_*", "--cache-sim=no"])
}

/// Adds every measurement that is this process's share, for all presets but those that are measured with another one.
fn add(group: &mut BinaryBenchmarkGroup) {
    let share = env::var(SHARE).unwrap_or_else(|_| "0/1".into());
    let numbers = share.split_once('/').and_then(|(own, all)| Some((own.parse().ok()?, all.parse().ok()?)));
    let (own, all): (usize, usize) = numbers.unwrap_or_else(|| panic!("{SHARE} is `{share}` and not like `0/2`"));
    let presets = || hakmem::PRESETS.iter().filter(|preset| measured_as(preset).name == preset.name);
    let measurements = Measurement::all().flat_map(|measurement| presets().map(move |preset| (measurement, preset)));
    let mut benchmarks: Vec<_> = Operation::ALL.into_iter().map(|o| (o, BinaryBenchmark::new(o.id()))).collect();
    for (Measurement { operation, column }, preset) in measurements.skip(own).step_by(all) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_subject"));
        command.args([preset.name, operation.id(), &column.to_string()]);
        let benchmark = benchmarks.iter_mut().find(|(of, _)| *of == operation);
        let (_, benchmark) = benchmark.expect("there is one for each operation");
        benchmark.bench(Bench::new(id(preset.name, column)).command(command));
    }
    for (_, benchmark) in benchmarks.into_iter().filter(|(_, benchmark)| !benchmark.benches.is_empty()) {
        group.binary_benchmark(benchmark);
    }
}

binary_benchmark_group!(name = calls; benchmarks = |group: &mut BinaryBenchmarkGroup| add(group));

main!(config = BinaryBenchmarkConfig::default().tool(callgrind()); binary_benchmark_groups = calls);

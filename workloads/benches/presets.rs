//! Every workload on Mixed, on the preset that is made for it, and on the system's allocator, in one process.
//!
//! `cargo bench -p hakmem-workloads` takes a few minutes; `-- NAME` behind it keeps to the workloads with NAME in their
//! names, and `-- '^NAME/'` to that one. An element is a block allocated, freed or resized. Every side is compiled in,
//! and Rust tells it the size of a block that it frees. A `preset-*` feature would make hakmem the system's allocator
//! too: measure without one.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use hakmem::{C5c6V7, C6Heavy, C6Ultra, Mixed};
use hakmem_workloads::{Report, WORKLOADS, Workload};
use std::alloc::{GlobalAlloc, System};
use std::time::Duration;

/// The part of the standard iterations that makes up one run: tens of milliseconds.
const SCALE: f64 = 0.05;

/// A group for each workload.
fn workloads(criterion: &mut Criterion) {
    for workload in WORKLOADS {
        let report = workload.run(&System, SCALE);
        let mut group = criterion.benchmark_group(workload.name);
        group
            .sampling_mode(SamplingMode::Flat)
            .throughput(Throughput::Elements(report.operations))
            .sample_size(10)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(2));
        side(&mut group, workload, &report, "Mixed", &Mixed::new());
        match workload.presets.first().copied() {
            None | Some("mixed") => {}
            Some("c6-heavy") => side(&mut group, workload, &report, "C6Heavy", &C6Heavy::new()),
            Some("c6-ultra") => side(&mut group, workload, &report, "C6Ultra", &C6Ultra::new()),
            Some("c5c6-v7") => side(&mut group, workload, &report, "C5c6V7", &C5c6V7::new()),
            Some(name) => panic!("benches/presets.rs names no type for the preset {name}"),
        }
        side(&mut group, workload, &report, "System", &System);
        group.finish();
    }
}

/// One side of a group. The time is the workload's own, without its preparations.
fn side<A: GlobalAlloc + Sync>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    workload: &Workload,
    expected: &Report,
    name: &str,
    allocator: &A,
) {
    let run = || {
        let report = workload.run(allocator, SCALE);
        assert_eq!((report.checksum, report.damaged), (expected.checksum, 0), "{} on {name}", workload.name);
        report.time
    };
    group.bench_function(name, |bencher| bencher.iter_custom(|runs| (0..runs).map(|_| run()).sum()));
}

criterion_group!(benches, workloads);
criterion_main!(benches);

//! Each workload at a small scale: the same work on every allocator, everything freed, and damage noticed.

mod support;

use hakmem::Mixed;
use hakmem_workloads::{Report, WORKLOADS, Workload};
use std::alloc::{GlobalAlloc, System};
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use support::{Counting, Scribbling};

/// Four rounds of larson; more than two generations of small-objects would take too long.
const STEPS: u64 = 20_000;

/// Runs it with so many steps in each thread.
fn run<A: GlobalAlloc + Sync>(workload: &Workload, allocator: &A, steps: u64) -> Report {
    workload.run(allocator, steps as f64 / workload.iterations as f64)
}

/// Runs it and counts.
fn counted(workload: &Workload, steps: u64) -> (Report, Counting<System>) {
    let counting = Counting::new(System);
    let report = run(workload, &counting, steps);
    (report, counting)
}

#[test]
fn the_same_work_on_every_allocator() {
    let mut checksums = HashSet::new();
    for workload in WORKLOADS {
        let work = |report: Report| {
            assert_eq!(report.damaged, 0, "{}", workload.name);
            assert!(!report.time.is_zero(), "{}", workload.name);
            (report.operations, report.checksum)
        };
        let on_system = work(run(workload, &System, STEPS));
        assert_eq!(work(run(workload, &Mixed::new(), STEPS)), on_system, "{}", workload.name);
        assert_eq!(work(counted(workload, STEPS).0), on_system, "{}", workload.name);
        checksums.insert(on_system.1);
    }
    // The three cross-thread workloads of 2 threads differ in who frees, and in nothing else.
    assert_eq!(checksums.len(), WORKLOADS.len() - 2, "each workload does work of its own");
}

#[test]
fn everything_is_freed_and_counted() {
    for workload in WORKLOADS {
        // The second one ends in the middle of a batch, of a string and of a round.
        for steps in [STEPS, STEPS / 2 + 7, 1] {
            let (report, counting) = counted(workload, steps);
            let [allocations, frees, reallocations, bytes, bytes_freed] = [
                &counting.allocations,
                &counting.frees,
                &counting.reallocations,
                &counting.bytes,
                &counting.bytes_freed,
            ]
            .map(|counter| counter.load(Relaxed));
            assert!(allocations > 0, "{}", workload.name);
            assert_eq!((allocations, bytes), (frees, bytes_freed), "{} of {steps}", workload.name);
            assert_eq!(report.operations, allocations + frees + reallocations, "{} of {steps}", workload.name);
            assert_eq!(reallocations > 0, workload.name == "realloc-growth" && steps > 1, "{}", workload.name);
        }
    }
}

#[test]
fn sizes_are_those_of_the_summaries() {
    for (name, smallest, largest) in [
        ("mixed", 16, 1024),
        ("mixed-100k", 16, 1024),
        ("c6-heavy", 257, 768),
        ("c6-ultra", 257, 512),
        ("c5c6", 200, 500),
        ("mid-large-mt", 1 << 10, 512 << 10),
        ("string-builder", 8, 64),
        ("token-stream", 16, 128),
        ("small-objects", 32, 256),
        ("larson", 10, 500),
        ("producer-consumer", 16, 256),
        ("cross-thread-0", 16, 1024),
        ("cross-thread-50", 16, 1024),
        ("cross-thread-100", 16, 1024),
        ("cross-thread-8", 16, 1024),
        ("realloc-growth", 16, 1 << 20),
    ] {
        let (_, counting) = counted(Workload::named(name).expect(name), STEPS);
        let seen = counting.smallest.load(Relaxed)..=counting.largest.load(Relaxed);
        let span = largest - smallest;
        assert!((smallest..=smallest + span / 50).contains(seen.start()), "{name}: {seen:?}");
        assert!((largest - span / 50..=largest).contains(seen.end()), "{name}: {seen:?}");
    }
}

#[test]
fn working_sets_are_as_large_as_they_should_be() {
    // Of slots at random, half are full. Eight batches of producer-consumer are under way.
    for (name, steps, least, most) in [
        ("mixed", STEPS, 190, 270),
        ("mixed-100k", 400_000, 45_000, 55_000),
        ("mid-large-mt", STEPS, 120, 2 * 180),
        ("string-builder", STEPS, 16, 16),
        ("token-stream", STEPS, 256, 256),
        ("small-objects", 2 * STEPS, 20_000, 20_000),
        ("larson", STEPS, 10_000, 10_000),
        ("producer-consumer", 5 * STEPS, 1000, 8000),
        ("realloc-growth", STEPS, 8, 8),
    ] {
        let (_, counting) = counted(Workload::named(name).expect(name), steps);
        let live = counting.most_live.load(Relaxed);
        assert!((least..=most).contains(&live), "{name}: {live}");
    }
}

#[test]
fn threads_free_the_share_of_each_others_blocks_that_they_should() {
    // So few steps never fill a ring; hence the shares depend on no chance.
    let steps = 8000;
    for (name, steps, least, most) in [
        ("mixed", steps, 0, 0),
        ("mid-large-mt", steps, 0, 0),
        ("cross-thread-0", steps, 0, 0),
        ("cross-thread-50", steps, 40, 55),
        ("cross-thread-100", steps, 85, 100),
        ("cross-thread-8", steps, 40, 55),
        ("producer-consumer", steps, 100, 100),
        // Two thirds of a set that is inherited are the other's; the sets are made and freed besides.
        ("larson", STEPS, 40, 70),
    ] {
        let (_, counting) = counted(Workload::named(name).expect(name), steps);
        let (remote, frees) = (counting.remote_frees.load(Relaxed), counting.frees.load(Relaxed));
        let percent = remote * 100 / frees;
        assert!((least..=most).contains(&percent), "{name}: {remote} of {frees}");
    }
}

#[test]
fn damage_is_noticed() {
    for workload in WORKLOADS {
        let report = run(workload, &Scribbling::new(System), 2000);
        let least = match workload.name {
            // More than are left at the end: each is looked at when it goes.
            "token-stream" => 257,
            // More than there are: each is looked at twice.
            "small-objects" => 2001,
            _ => 1,
        };
        assert!(report.damaged >= least, "{}: {}", workload.name, report.damaged);
    }
}

#[test]
fn the_table_is_complete() {
    let names: HashSet<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
    assert_eq!(names.len(), WORKLOADS.len());
    assert!(Workload::named("no such workload").is_none());
    // Each preset has a workload of its own, and what the table names is a preset.
    let mut listed: Vec<_> = WORKLOADS.iter().flat_map(|workload| workload.presets).copied().collect();
    let mut presets: Vec<_> = hakmem::PRESETS.iter().map(|preset| preset.name).collect();
    listed.sort_unstable();
    presets.sort_unstable();
    assert_eq!(listed, presets);
    assert_eq!(Workload::of_preset("c6-v4").map(|workload| workload.name), Some("c6-ultra"));
    for workload in WORKLOADS {
        assert!(workload.steps(1.0) == workload.iterations && workload.steps(0.0) == 1);
        assert!(!workload.summary.is_empty() && !workload.summary.contains('\n') && workload.threads > 0);
    }
}

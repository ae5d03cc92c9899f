//! The ends of the help of `bench` and `ab`: the workloads, the keys of the JSON, examples, and exit codes.

use hakmem_workloads::WORKLOADS;

use crate::text;

/// The workloads, as the help lists them.
fn workloads() -> String {
    let entries = WORKLOADS.iter().map(|workload| text::entry(&format!("  {}", workload.name), 21, workload.summary));
    format!("Workloads:\n{}", entries.collect::<String>())
}

/// What follows the options of `bench`.
pub fn bench() -> String {
    workloads()
        + "
Keys of --json:
  scale, runs
  allocators   for each: name, malloc (the file that it was found in), soname
  results      for each workload and allocator: workload, allocator, speed
               (value, low, high), ns_per_operation, peak_rss_kb, rss_ratio
               (to libc), instructions_per_operation (or null), seconds (of
               each run)
CSV has a line for each result, with speed_low, speed_high and runs.

Examples:
  hakmem bench
  hakmem bench mixed c6-heavy --preset mixed,c6-heavy --against jemalloc
  hakmem bench --scale 0.1 --json=out.json --csv=out.csv --plot out.svg

Exit codes:
  0    Everything was measured and written.
  1    A library is missing, a run failed, or a file could not be written. No
       file was written by halves.
  2    The arguments make no sense, such as an unknown workload."
}

/// What follows the options of `ab`.
pub fn ab() -> String {
    workloads()
        + "
Keys of --json:
  subject      the workload or program
  scale        of the workload; null for a program
  runs         of each side
  a, b         name, malloc (the file that it was found in), soname, seconds
               (median), ns_per_operation, peak_rss_kb (median),
               instructions_per_operation
  gain_percent mean and median, each with value, low, high (95 % interval)
  verdict      GO, NEUTRAL or NO-GO
  settled      whether more runs would hardly change it
  instructions_note  why there are no instructions, or null
With --knobs: preset, subject, and flips: for each these keys and flip, or
flip and skipped (why).

Examples:
  hakmem ab mixed mixed+no-free-dualhot
  hakmem ab libc mixed larson --runs 20
  hakmem ab jemalloc ./libhakmem-mixed.so -- python3 script.py
  hakmem ab mixed mixed --allow-identical
  hakmem ab --knobs --preset c6-heavy --markdown

Exit codes:
  0    It was measured, whatever the verdict.
  1    A library is missing, the sides are the same code, or a run failed.
  2    The arguments make no sense, such as an unknown preset.
  3    With --check: the verdict is NO-GO."
}

//! The results of `bench` for machines: JSON and CSV. The help documents their keys: they stay.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::bench::comparison::{Comparison, Measured};
use crate::bench::knobs_cmd::{Flip, Outcome};
use crate::bench::side::Side;
use crate::bench::subject::Subject;
use crate::bench::summary::Estimate;

/// What came of an allocator on a workload.
pub struct Row {
    /// The workload's name.
    pub workload: &'static str,
    /// The allocator's.
    pub allocator: String,
    /// It is libc's, which the others are compared with.
    pub is_base: bool,
    /// The seconds of its runs.
    pub seconds: Vec<f64>,
    /// How many times as fast as libc's it is.
    pub speed: Estimate,
    /// The median.
    pub ns_per_operation: f64,
    /// The median of the runs' peaks.
    pub peak_rss_kb: f64,
    /// The same, as a multiple of libc's.
    pub rss_ratio: f64,
    /// Where they were counted.
    pub instructions: Option<f64>,
}

/// Everything that was measured.
pub struct Results {
    /// How much of each workload was run.
    pub scale: f64,
    /// Rounds of each workload.
    pub runs: usize,
    /// The allocators, and the files in which their `malloc` was found.
    pub sides: Vec<(Side, PathBuf)>,
    /// By workload, and within it in the order of the sides.
    pub rows: Vec<Row>,
}

/// All of it.
pub fn bench_json(results: &Results) -> Value {
    let sides = results
        .sides
        .iter()
        .map(|(side, malloc)| json!({ "name": side.name, "malloc": malloc.to_string_lossy(), "soname": side.soname }));
    let rows = results.rows.iter().map(|row| {
        json!({
            "workload": row.workload,
            "allocator": row.allocator,
            "speed": estimate(&row.speed),
            "ns_per_operation": row.ns_per_operation,
            "peak_rss_kb": row.peak_rss_kb,
            "rss_ratio": row.rss_ratio,
            "instructions_per_operation": row.instructions,
            "seconds": row.seconds,
        })
    });
    json!({
        "scale": results.scale,
        "runs": results.runs,
        "allocators": sides.collect::<Vec<_>>(),
        "results": rows.collect::<Vec<_>>(),
    })
}

/// A line for each row, under a line of names.
pub fn bench_csv(results: &Results) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "workload",
        "allocator",
        "speed",
        "speed_low",
        "speed_high",
        "ns_per_operation",
        "peak_rss_kb",
        "rss_ratio",
        "instructions_per_operation",
        "runs",
    ])?;
    for row in &results.rows {
        let figures = [row.speed.value, row.speed.low, row.speed.high, row.ns_per_operation, row.peak_rss_kb];
        let names = [row.workload.to_owned(), row.allocator.clone()];
        let last = [
            row.rss_ratio.to_string(),
            row.instructions.map_or(String::new(), |count| count.to_string()),
            results.runs.to_string(),
        ];
        writer.write_record(names.into_iter().chain(figures.map(|figure| figure.to_string())).chain(last))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// What `ab` found.
pub fn ab_json(subject: &Subject, comparison: &Comparison) -> Value {
    let [a, b] = comparison.sides.each_ref().map(measured);
    json!({
        "subject": subject.name(),
        "scale": subject.scale(),
        "runs": comparison.runs,
        "a": a,
        "b": b,
        "gain_percent": { "mean": estimate(&comparison.mean), "median": estimate(&comparison.median) },
        "verdict": comparison.verdict.name(),
        "settled": comparison.settled,
        "instructions_note": comparison.instructions_note,
    })
}

/// What `ab --knobs` found.
pub fn knobs_json(preset: &str, subject: &Subject, flips: &[Flip]) -> Value {
    let flips = flips.iter().map(|flip| match &flip.outcome {
        Outcome::Skipped(why) => json!({ "flip": flip.name, "skipped": why }),
        Outcome::Compared(comparison) => {
            let mut all = ab_json(subject, comparison);
            all["flip"] = json!(flip.name);
            all
        }
    });
    json!({ "preset": preset, "subject": subject.name(), "flips": flips.collect::<Vec<_>>() })
}

fn measured(measured: &Measured) -> Value {
    json!({
        "name": measured.side.name,
        "malloc": measured.malloc.to_string_lossy(),
        "soname": measured.side.soname,
        "seconds": measured.seconds,
        "ns_per_operation": measured.ns_per_operation,
        "peak_rss_kb": measured.peak_rss_kb,
        "instructions_per_operation": measured.instructions,
    })
}

fn estimate(estimate: &Estimate) -> Value {
    json!({ "value": estimate.value, "low": estimate.low, "high": estimate.high })
}

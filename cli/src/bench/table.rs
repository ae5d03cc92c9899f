//! The tables that people read, on a terminal or in Markdown.

use comfy_table::presets::{ASCII_MARKDOWN, NOTHING};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};

use crate::bench::comparison::{Comparison, Measured};
use crate::bench::knobs_cmd::{Flip, Outcome};
use crate::bench::report::Row;
use crate::bench::subject::Subject;
use crate::bench::summary::{Estimate, geometric_mean};

/// What stands where there is no figure.
const NONE: &str = "-";

/// A table whose first `left` columns are text and the others figures.
fn table(form: TableStyle, head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    // However narrow the terminal is: a line of figures that is broken is no line.
    table.load_style(form).set_content_arrangement(ContentArrangement::Disabled).set_header(head);
    for (index, column) in table.column_iter_mut().enumerate() {
        let alignment = if index < left { CellAlignment::Left } else { CellAlignment::Right };
        column.set_cell_alignment(alignment);
        if form == NOTHING {
            column.set_padding((0, 2));
        }
    }
    table
}

/// The table's text, without spaces at the ends of lines.
fn text(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The table of `bench`. `instructions`: with a column for them.
pub fn bench(rows: &[Row], instructions: bool) -> String {
    let mut head = vec!["WORKLOAD", "ALLOCATOR", "SPEED", "95 % INTERVAL", "NS/OP", "PEAK RSS", "RSS/LIBC"];
    head.extend(instructions.then_some("INSTR/OP"));
    let mut table = table(NOTHING, &head, 2);
    let mut workload = "";
    for row in rows {
        let name = if row.workload == workload { "" } else { row.workload };
        workload = row.workload;
        let interval = if row.is_base { NONE.into() } else { range(&row.speed, 2) };
        let mut cells = vec![
            name.into(),
            row.allocator.clone(),
            format!("{:.2}", row.speed.value),
            interval,
            format!("{:.2}", row.ns_per_operation),
            format!("{:.0} KB", row.peak_rss_kb),
            format!("{:.2}", row.rss_ratio),
        ];
        cells.extend(instructions.then(|| row.instructions.map_or(NONE.into(), |count| format!("{count:.2}"))));
        table.add_row(cells);
    }
    for (allocator, speed, rss) in means(rows) {
        let none = || NONE.to_owned();
        let mut cells = vec!["geometric mean".to_owned(), allocator, format!("{speed:.2}"), none(), none(), none()];
        cells.push(format!("{rss:.2}"));
        cells.extend(instructions.then(none));
        table.add_row(cells);
    }
    text(&table)
}

/// The geometric means of speed and RSS of each allocator but libc, where there are several workloads.
fn means(rows: &[Row]) -> Vec<(String, f64, f64)> {
    let mut allocators: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| !row.is_base) {
        if !allocators.contains(&row.allocator.as_str()) {
            allocators.push(&row.allocator);
        }
    }
    let means = allocators.into_iter().filter_map(|allocator| {
        let of = |figure: fn(&Row) -> f64| {
            rows.iter().filter(|row| row.allocator == allocator).map(figure).collect::<Vec<_>>()
        };
        let (speeds, peaks) = (of(|row| row.speed.value), of(|row| row.rss_ratio));
        (speeds.len() > 1).then(|| (allocator.to_owned(), geometric_mean(&speeds), geometric_mean(&peaks)))
    });
    means.collect()
}

/// What `ab` prints.
pub fn ab(subject: &Subject, comparison: &Comparison) -> String {
    let [a, b] = &comparison.sides;
    let width = a.side.name.len().max(b.side.name.len());
    let mut out = String::new();
    for (letter, measured) in [("A", a), ("B", b)] {
        let name = &measured.side.name;
        out += &format!("{letter}  {name:width$}  {}\n", file_name(measured));
    }
    out += &format!("{}, runs of each in turn: {}\n\n", subject.description(), comparison.runs);
    let mut table = table(NOTHING, &["", "A", "B", "B AGAINST A"], 1);
    let time = match a.ns_per_operation.zip(b.ns_per_operation) {
        Some((a, b)) => ["time per operation".into(), format!("{a:.2} ns"), format!("{b:.2} ns")],
        None => ["time".into(), format!("{:.4} s", a.seconds), format!("{:.4} s", b.seconds)],
    };
    table.add_row([&time[..], &[String::new()]].concat());
    let figure = |name: &str, estimate: &Estimate| {
        [name.to_owned(), String::new(), String::new(), format!("{} ({})", percent(estimate.value), range(estimate, 2))]
    };
    table.add_row(figure("speed, mean", &comparison.mean));
    table.add_row(figure("speed, median", &comparison.median));
    let count = |count: Option<f64>| count.map_or(NONE.into(), |count| format!("{count:.2}"));
    let more = comparison.more(|measured| measured.instructions).map(percent);
    let note = comparison.instructions_note.as_ref().map(|why| format!("not counted: {why}"));
    table.add_row([
        "instructions per operation".into(),
        count(a.instructions),
        count(b.instructions),
        more.or(note).unwrap_or(NONE.into()),
    ]);
    let peak = |kb: f64| format!("{kb:.0} KB");
    let more = comparison.more(|measured| Some(measured.peak_rss_kb)).map_or(NONE.into(), percent);
    table.add_row(["peak RSS".into(), peak(a.peak_rss_kb), peak(b.peak_rss_kb), more]);
    out += &text(&table);
    out += &format!("\nverdict: {} ({})\n", comparison.verdict.name(), comparison.verdict.reason());
    if !comparison.settled {
        out +=
            "It is close: other runs may say otherwise. More of them (--runs) or a quieter machine would settle it.\n";
    }
    out
}

/// What `ab --knobs` prints: a flip a line.
pub fn knobs(preset: &str, subject: &Subject, flips: &[Flip], markdown: bool) -> String {
    let head = ["FLIP", "VERDICT", "MEAN", "95 % INTERVAL", "MEDIAN", "INSTR/OP", "PEAK RSS", "RUNS"];
    let markdown_head = ["Flip", "Verdict", "Mean", "95 % interval", "Median", "Instr/op", "Peak RSS", "Runs"];
    let (form, head) = if markdown { (ASCII_MARKDOWN, markdown_head) } else { (NOTHING, head) };
    let mut table = table(form, &head, 2);
    let mut notes = String::new();
    for flip in flips {
        let name = if markdown { format!("`{}`", flip.name) } else { flip.name.clone() };
        let cells = match &flip.outcome {
            Outcome::Skipped(why) => {
                notes += &format!("\n{name}: {why}\n");
                [&[name, "not measured".to_owned()][..], &[(); 6].map(|()| NONE.to_owned())].concat()
            }
            Outcome::Compared(comparison) => vec![
                name,
                verdict(comparison),
                percent(comparison.mean.value),
                range(&comparison.mean, 2),
                percent(comparison.median.value),
                comparison.more(|measured| measured.instructions).map_or(NONE.into(), percent),
                comparison.more(|measured| Some(measured.peak_rss_kb)).map_or(NONE.into(), percent),
                comparison.runs.to_string(),
            ],
        };
        table.add_row(cells);
    }
    let subject = subject.description();
    format!(
        "Flips of {preset} against {preset} as it is, {subject}; positive: the flip is faster; ?: it is close\n\n{}{notes}",
        text(&table)
    )
}

/// The verdict, with a mark where it is close.
fn verdict(comparison: &Comparison) -> String {
    format!("{}{}", comparison.verdict.name(), if comparison.settled { "" } else { " ?" })
}

/// The library of a side, by its name.
fn file_name(measured: &Measured) -> String {
    match &measured.side.soname {
        Some(soname) => soname.clone(),
        None => measured.malloc.display().to_string(),
    }
}

/// `+1.06 %`
fn percent(value: f64) -> String {
    format!("{value:+.2} %")
}

/// `1.48 to 1.60`
fn range(estimate: &Estimate, digits: usize) -> String {
    format!("{:.digits$} to {:.digits$}", estimate.low, estimate.high)
}

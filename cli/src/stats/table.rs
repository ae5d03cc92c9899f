//! The counters as tables, for a reader.

use hakmem::config::Class;

use super::counter::Blocks;
use super::reports::{Function, Process, Report, Reports, share};

/// The tables of a program's processes: of the program itself; of its only child process, or of the sum of several, below
/// a list of them. `program` is the number of the program's process, `moment` says when the counters were read.
pub fn tables(reports: &Reports, program: u32, moment: &str) -> String {
    let mut out = String::new();
    if let Some(own) = reports.of(program) {
        out += &format!("hakmem: counters of {}, {moment}\n\n{}", called(own), report(&own.report));
    }
    let others: Vec<_> = reports.others(program).collect();
    let sum = match &others[..] {
        [] => return out,
        [other] => format!("hakmem: counters of {}, another process\n\n{}", called(other), report(&other.report)),
        _ => {
            let sum = Report::sum(others.iter().map(|other| &other.report));
            let count = others.len();
            format!("hakmem: counters of {count} other processes\n\n{}\n{}", list(&others), report(&sum))
        }
    };
    if !out.is_empty() {
        out.push('\n');
    }
    out + &sum
}

fn called(process: &Process) -> String {
    match &process.name {
        Some(name) => format!("process {} ({name})", process.id),
        None => format!("process {}", process.id),
    }
}

/// All of a report.
fn report(report: &Report) -> String {
    let mut tables = vec![blocks(report)];
    tables.extend(Function::ALL.map(|function| paths(report, function)));
    tables.retain(|table| !table.is_empty());
    tables.join("\n")
}

/// Blocks by bin, with a sum for each class of several bins.
fn blocks(report: &Report) -> String {
    let row = |class: &str, size: &str, blocks: Blocks, bytes: Option<i64>| {
        let counts = [grouped(blocks.allocated), grouped(blocks.freed), signed(blocks.left())];
        let bytes = bytes.map(signed).unwrap_or_default();
        [&[class.to_owned(), size.to_owned()], &counts[..], &[bytes]].concat()
    };
    let mut rows =
        vec![["class", "block size", "allocated", "freed", "still allocated", "in bytes"].map(String::from).into()];
    let mut lines = 0;
    for (class, sum) in report.classes() {
        let bins: Vec<_> = report.bins().filter(|&(size, _)| Class::of(size) == class).collect();
        let bytes = |size: usize, blocks: Blocks| blocks.left().saturating_mul(size.try_into().unwrap_or(i64::MAX));
        for &(size, blocks) in &bins {
            rows.push(row(class.name(), &grouped(size as u64), blocks, Some(bytes(size, blocks))));
        }
        let bytes_of_class = bins.iter().map(|&(size, blocks)| bytes(size, blocks)).fold(0, i64::saturating_add);
        if bins.len() > 1 {
            rows.push(row(class.name(), "all", sum, Some(bytes_of_class)));
        }
        lines += 1;
    }
    if report.pages() != Blocks::default() {
        // Nobody has counted their sizes.
        rows.push(row("pages", "", report.pages(), None));
        lines += 1;
    }
    match lines {
        0 => return String::new(),
        1 => {}
        _ => rows.push(row("all", "", report.all(), None)),
    }
    columns(&rows, 1)
}

/// The calls of a function by path, with their shares.
fn paths(report: &Report, function: Function) -> String {
    let total = report.total(function);
    if total == 0 {
        return String::new();
    }
    let mut rows = vec![["path", "calls", "share"].map(String::from).into()];
    for (path, calls) in report.calls(function).filter(|&(_, calls)| calls > 0) {
        rows.push(vec![path.name().into(), grouped(calls), percent(share(calls, total))]);
    }
    rows.push(vec![format!("{} in all", function.name()), grouped(total), String::new()]);
    columns(&rows, 1)
}

/// A line for each process.
fn list(processes: &[&Process]) -> String {
    let head = ["process", "name", "allocated", "freed", "still allocated", "malloc hits", "free hits"];
    let mut rows = vec![head.map(String::from).into()];
    for process in processes {
        let (report, blocks) = (&process.report, process.report.all());
        rows.push(vec![
            process.id.to_string(),
            process.name.clone().unwrap_or_default(),
            grouped(blocks.allocated),
            grouped(blocks.freed),
            signed(blocks.left()),
            percent(report.hit_rate(Function::Malloc)),
            percent(report.hit_rate(Function::Free)),
        ]);
    }
    columns(&rows, 2)
}

/// Rows with aligned columns: the first `left` of them to the left, the others, which are numbers, to the right.
fn columns(rows: &[Vec<String>], left: usize) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| match column < left {
            true => format!("{cell:<0$}", width(column)),
            false => format!("{cell:>0$}", width(column)),
        });
        out += cells.collect::<Vec<_>>().join("  ").trim_end();
        out.push('\n');
    }
    out
}

/// A part of all; what is not quite nothing or all does not look as if it were.
fn percent(share: Option<f64>) -> String {
    match share {
        None => String::new(),
        Some(share) if share > 0.0 && share < 0.000_05 => "<0.01 %".into(),
        Some(share) if (0.999_95..1.0).contains(&share) => ">99.99 %".into(),
        Some(share) => format!("{:.2} %", share * 100.0),
    }
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    parts.join(",")
}

fn signed(number: i64) -> String {
    format!("{}{}", if number < 0 { "-" } else { "" }, grouped(number.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reports::tests::{LINES, reports};

    #[test]
    fn a_program_and_its_child_have_tables_of_their_own() {
        let expected = "\
hakmem: counters of process 7 (program 7), at its end

class  block size  allocated  freed  still allocated  in bytes
C5            208        100     40               60    12,480
C5            240      1,000    500              500   120,000
C5            all      1,100    540              560   132,480
C6            512          7      7                0         0
pages                      3      1                2
all                    1,110    548              562

path           calls    share
malloc hit       999  99.90 %
malloc refill      1   0.10 %
malloc in all  1,000

path         calls     share
free null        5  100.00 %
free in all      5

hakmem: counters of process 9, another process

class  block size  allocated  freed  still allocated  in bytes
C5            208          1      2               -1      -208

path         calls     share
free hit         2  100.00 %
free in all      2
";
        assert_eq!(tables(&reports(&LINES), 7, "at its end"), expected);
    }

    #[test]
    fn several_other_processes_are_listed_and_summed_up() {
        let text = tables(&reports(&LINES), 1, "at its end");
        let expected = "\
hakmem: counters of 2 other processes

process  name       allocated  freed  still allocated  malloc hits  free hits
7        program 7      1,110    548              562      99.90 %     0.00 %
9                           1      2               -1                100.00 %

class  block size  allocated  freed  still allocated  in bytes
C5            208        101     42               59    12,272
";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let shares = [0.0, 0.000_04, 0.000_05, 0.5, 0.999_94, 0.999_96, 1.0].map(|share| percent(Some(share)));
        assert_eq!(shares, ["0.00 %", "<0.01 %", "0.01 %", "50.00 %", "99.99 %", ">99.99 %", "100.00 %"]);
        assert_eq!([-1, -1000, 1000].map(signed), ["-1", "-1,000", "1,000"]);
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }
}

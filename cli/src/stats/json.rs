//! The counters as JSON. The help of `hakmem stats` documents the keys: they stay.

use serde_json::{Value, json};

use super::counter::Blocks;
use super::reports::{Function, Process, Report, Reports, share};

/// Whose counters they are, and when they were read.
pub struct Origin<'a> {
    /// The name of the program.
    pub program: &'a str,
    /// The number of its process.
    pub process: u32,
    /// The name of the preset.
    pub preset: &'a str,
    /// How the program has ended; None while it runs.
    pub exit: Option<Exit>,
    /// Whether its counters were printed at its end.
    pub at_end: bool,
}

/// How a program has ended: one of the two is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

/// All of it.
pub fn json(reports: &Reports, origin: &Origin) -> Value {
    let own = reports.of(origin.process).into_iter();
    let processes = own.chain(reports.others(origin.process)).map(|process| self::process(process, origin.process));
    json!({
        "program": origin.program,
        "process": origin.process,
        "preset": origin.preset,
        "exit": origin.exit.map(|exit| json!({ "code": exit.code, "signal": exit.signal })),
        "at_end": origin.at_end,
        "processes": processes.collect::<Vec<_>>(),
    })
}

fn process(process: &Process, program: u32) -> Value {
    let report = &process.report;
    let bins = report.bins().map(|(size, blocks)| {
        let mut bin = counted(blocks);
        bin["size"] = size.into();
        bin["class"] = hakmem::config::Class::of(size).name().into();
        bin
    });
    let classes = report.classes().into_iter().map(|(class, blocks)| {
        let mut sum = counted(blocks);
        sum["class"] = class.name().into();
        sum
    });
    json!({
        "process": process.id,
        "name": process.name,
        "is_program": process.id == program,
        "bins": bins.collect::<Vec<_>>(),
        "classes": classes.collect::<Vec<_>>(),
        "pages": counted(report.pages()),
        "all": counted(report.all()),
        "malloc": calls(report, Function::Malloc),
        "free": calls(report, Function::Free),
    })
}

fn counted(blocks: Blocks) -> Value {
    json!({ "allocated": blocks.allocated, "freed": blocks.freed, "still_allocated": blocks.left() })
}

fn calls(report: &Report, function: Function) -> Value {
    let total = report.total(function);
    let paths = report.calls(function).map(|(path, calls)| {
        let name = path.name().strip_prefix(function.name()).unwrap_or(path.name());
        json!({ "path": name.trim_start(), "calls": calls, "share": share(calls, total) })
    });
    json!({ "calls": total, "hit_rate": report.hit_rate(function), "paths": paths.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reports::tests::{LINES, reports};

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().expect("an object").keys().map(String::as_str).collect()
    }

    #[test]
    fn the_keys_stay() {
        let exit = Exit { code: None, signal: Some(11) };
        let origin = Origin { program: "x", process: 9, preset: "mixed", exit: Some(exit), at_end: false };
        let value = json(&reports(&LINES), &origin);
        assert_eq!(keys(&value), ["at_end", "exit", "preset", "process", "processes", "program"]);
        assert_eq!(value["exit"], json!({ "code": null, "signal": 11 }));
        // The program comes first.
        let [program, other] = &value["processes"].as_array().unwrap()[..] else { panic!("{value}") };
        assert_eq!(
            (&program["process"], &program["is_program"], &program["name"]),
            (&json!(9), &json!(true), &json!(null))
        );
        assert_eq!(
            (&other["process"], &other["is_program"], &other["name"]),
            (&json!(7), &json!(false), &json!("program 7"))
        );
        assert_eq!(keys(other), ["all", "bins", "classes", "free", "is_program", "malloc", "name", "pages", "process"]);
        let counted =
            |allocated, freed, left| json!({ "allocated": allocated, "freed": freed, "still_allocated": left });
        assert_eq!((&other["pages"], &other["all"]), (&counted(3, 1, 2), &counted(1110, 548, 562)));
        let bin = json!({ "class": "C5", "size": 208, "allocated": 100, "freed": 40, "still_allocated": 60 });
        assert_eq!(other["bins"][0], bin);
        let class = json!({ "class": "C5", "allocated": 1100, "freed": 540, "still_allocated": 560 });
        assert_eq!(other["classes"][0], class);
        assert_eq!(keys(&other["malloc"]), ["calls", "hit_rate", "paths"]);
        assert_eq!(other["malloc"]["hit_rate"], 0.999);
        assert_eq!(other["malloc"]["paths"][0], json!({ "path": "hit", "calls": 999, "share": 0.999 }));
        assert_eq!(program["malloc"]["hit_rate"], Value::Null);
        assert_eq!(json(&reports(&LINES), &Origin { exit: None, ..origin })["exit"], Value::Null);
    }

    #[test]
    fn every_path_has_a_name_of_its_own() {
        let value =
            json(&reports(&LINES), &Origin { program: "x", process: 7, preset: "mixed", exit: None, at_end: true });
        let names = |function: &str| {
            let paths = value["processes"][0][function]["paths"].as_array().unwrap();
            paths.iter().map(|path| path["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("malloc"), ["hit", "refill", "span", "huge", "without heap"]);
        assert_eq!(names("free"), ["hit", "flush", "span", "huge", "foreign", "null", "without heap"]);
    }
}

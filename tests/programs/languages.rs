//! Interpreters and virtual machines: python, perl, lua, node, java, php.

use crate::case::{Case, missing};
use std::process::{Command, Stdio};

/// Modules of CPython's own test suite.
const PYTHON_MODULES: [&str; 4] = ["test_list", "test_dict", "test_json", "test_threading"];
/// Cases of theirs that are left out.
const PYTHON_LEFT_OUT: [&str; 1] = [
    // Fails wherever a `.pth` file of the installation imports threading when the interpreter starts.
    "test_import_from_another_thread",
];

fn succeeds(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The interpreter behind `program`, which may be a script that looks for it.
fn interpreter(program: &str) -> Option<String> {
    let output = Command::new(program).args(["-c", "import sys; print(sys.executable, end='')"]).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).expect("a path in UTF-8"))
}

#[test]
fn python() {
    let case = Case {
        name: "python3",
        did: "threads, a queue between them, children by fork and by exec",
        needs: &["python3"],
        probes: &[("python3", &["python3", "-c", ""])],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("threads.py");
        run.compared("python3", &["threads.py"]);
        run.assert_seen_inside("inside");
    });
}

#[test]
fn python_tests_itself() {
    let mut case = Case {
        name: "python3 -m test",
        did: "its own test_list, test_dict, test_json and test_threading",
        needs: &["python3"],
        probes: &[],
        own_malloc: false,
    };
    if !case.possible() {
        return;
    }
    let imports = format!("import test.libregrtest, test.{}", PYTHON_MODULES.join(", test."));
    let candidates = ["python3", "/usr/bin/python3"];
    let mut interpreters = candidates.iter().filter_map(|program| interpreter(program));
    let Some(python) = interpreters.find(|python| succeeds(python, &["-c", &imports])) else {
        return missing("python3's test suite");
    };
    let probe = [python.as_str(), "-c", ""];
    let probes = [(probe[0], &probe[..])];
    case.probes = &probes;
    case.check(|run| {
        let mut command = run.command(&python);
        command.args(["-m", "test", "-v"]).args(PYTHON_LEFT_OUT.iter().flat_map(|name| ["-i", name]));
        command.args(PYTHON_MODULES);
        let output = run.finish(command);
        // Each test's own line; the others hold times and numbers of processes.
        let mut results: Vec<&str> = output.stdout.lines().filter(|line| is_result(line)).collect();
        results.sort_unstable();
        assert!(results.len() > 400, "only {} results are recognised:\n{}", results.len(), output.stdout);
        run.record("results of the tests", results.join("\n"));
    });
}

fn is_result(line: &str) -> bool {
    let ends = [" ... ok", " ... FAIL", " ... ERROR", " ... expected failure"];
    line.starts_with("test") && (line.contains(" ... skipped ") || ends.iter().any(|end| line.ends_with(end)))
}

#[test]
fn perl() {
    let case = Case {
        name: "perl",
        did: "hashes, regular expressions, sorts, pipes from forked children",
        needs: &["perl"],
        probes: &[("perl", &["perl", "-e", "1"])],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("words.pl");
        run.compared("perl", &["words.pl"]);
        run.assert_seen_inside("inside");
    });
}

#[test]
fn lua() {
    let case = Case {
        name: "lua5.4",
        did: "trees of tables, strings, sorts, coroutines",
        needs: &["lua5.4"],
        probes: &[("lua5.4", &["lua5.4", "-v"])],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("tree.lua");
        run.compared("lua5.4", &["tree.lua"]);
        run.assert_seen_inside("inside");
    });
}

#[test]
fn node() {
    let case = Case {
        name: "node",
        did: "four workers, buffers copied, transferred and shared, zlib, a child",
        needs: &["node"],
        probes: &[("node", &["node", "-e", ""])],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("workers.js");
        run.compared("node", &["workers.js"]);
        run.assert_seen_inside("inside");
    });
}

#[test]
fn java() {
    let case = Case {
        name: "java",
        did: "javac, then threads, zlib and direct buffers under the parallel collector",
        needs: &["javac", "java"],
        probes: &[("javac", &["javac", "-version"]), ("java", &["java", "-version"])],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("Work.java");
        run.compared("javac", &["Work.java"]);
        run.file("Work.class");
        run.compared("java", &["-XX:+UseParallelGC", "-XX:ParallelGCThreads=2", "-Xmx256m", "Work"]);
        run.assert_seen_inside("inside");
    });
}

#[test]
fn php() {
    let case = Case {
        name: "php",
        did: "the extensions mbstring, dom and xml",
        needs: &["php"],
        probes: &[("php", &["php", "-r", ""])],
        own_malloc: false,
    };
    if !case.possible() {
        return;
    }
    for extension in ["mbstring", "dom", "xml"] {
        if !succeeds("php", &["-r", &format!("exit(extension_loaded('{extension}') ? 0 : 1);")]) {
            return missing(&format!("php's extension {extension}"));
        }
    }
    case.check(|run| {
        run.script("text.php");
        run.compared("php", &["text.php"]);
        run.assert_seen_inside("inside");
    });
}

#[test]
fn shell() {
    let case = Case {
        name: "bash",
        did: "pipelines of sort, awk, sed, uniq, join, xargs, tar, gzip; arrays and subshells",
        needs: &["bash", "awk", "gzip", "tar"],
        probes: &[
            ("bash", &["bash", "-c", ":"]),
            ("sort", &["sort", "/dev/null"]),
            ("sed", &["sed", "", "/dev/null"]),
            ("awk", &["awk", "BEGIN { }"]),
            ("xargs", &["xargs"]),
        ],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("pipelines.sh");
        run.compared("bash", &["pipelines.sh"]);
        run.assert_seen_inside("inside");
    });
}

#[test]
fn sqlite() {
    let case = Case {
        name: "sqlite3",
        did: "a million rows: indexes, joins, windows, JSON, deletions, vacuum",
        needs: &["sqlite3"],
        probes: &[("sqlite3", &["sqlite3", ":memory:", "select 1"])],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("rows.sql");
        run.compared("sqlite3", &["rows.db", ".read rows.sql"]);
        run.file("rows.db");
    });
}

//! Tools that build: compilers, cargo, git, and a debugger on what was built.

use crate::case::{Case, Run};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

#[test]
fn gcc() {
    let case = Case {
        name: "g++",
        did: "two files of nested templates, linked; the objects, the program and its run",
        needs: &["g++"],
        probes: &[
            ("g++", &["g++", "--version"]),
            ("cc1plus", &["g++", "-x", "c++", "-S", "-o", "/dev/null", "/dev/null"]),
            ("as", &["as", "--version"]),
            ("ld", &["ld", "--version"]),
        ],
        own_malloc: false,
    };
    case.check(|run| {
        for name in ["table.h", "main.cc", "words.cc"] {
            run.script(name);
        }
        for name in ["main", "words"] {
            run.compared("g++", &["-std=c++17", "-O2", "-g", "-c", &format!("{name}.cc")]);
            run.file(&format!("{name}.o"));
        }
        run.compared("g++", &["-pthread", "-o", "program", "main.o", "words.o"]);
        run.file("program");
        run.compared("./program", &[""; 0]);
        run.assert_seen_inside("inside");
    });
}

/// A crate without dependencies: a library, a build script and a program that reads its own maps.
const CRATE: [(&str, &str); 4] = [
    (
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n\n[profile.dev]\nopt-level = 1\n",
    ),
    (
        "build.rs",
        r#"fn main() {
    let table: Vec<String> = (0..500).map(|n| format!("({n}, \"{}\"),", "x".repeat(n % 7))).collect();
    let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{out}/table.rs"), format!("pub const TABLE: &[(u32, &str)] = &[{}];", table.concat())).unwrap();
    println!("cargo:rerun-if-changed=build.rs");
}
"#,
    ),
    (
        "src/lib.rs",
        r#"use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
include!(concat!(env!("OUT_DIR"), "/table.rs"));

pub trait Shape: Debug {
    fn area(&self) -> f64;
}
macro_rules! shapes {
    ($($name:ident($($side:ident),*) => $area:expr;)*) => {$(
        #[derive(Debug, Clone, PartialEq, PartialOrd)]
        pub struct $name { $(pub $side: f64),* }
        impl Shape for $name {
            fn area(&self) -> f64 {
                let Self { $($side),* } = self;
                $area
            }
        }
    )*};
}
shapes! {
    Square(a) => a * a;
    Rectangle(a, b) => a * b;
    Circle(r) => r * r * std::f64::consts::PI;
    Ring(a, b) => (a * a - b * b).abs() * std::f64::consts::PI;
}

pub fn shapes(count: u32) -> Vec<Box<dyn Shape + Send>> {
    (0..count)
        .map(|n| -> Box<dyn Shape + Send> {
            let side = f64::from(n);
            match n % 4 {
                0 => Box::new(Square { a: side }),
                1 => Box::new(Rectangle { a: side, b: side + 1.0 }),
                2 => Box::new(Circle { r: side }),
                _ => Box::new(Ring { a: side, b: side / 2.0 }),
            }
        })
        .collect()
}

pub fn by_length(words: impl Iterator<Item = String>) -> BTreeMap<usize, Vec<String>> {
    let mut map: HashMap<usize, Vec<String>> = HashMap::new();
    for word in words {
        map.entry(word.len()).or_default().push(word);
    }
    map.into_iter().collect()
}
"#,
    ),
    (
        "src/main.rs",
        r#"fn main() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    std::fs::write("inside", format!("{}\n", maps.contains("libhakmem"))).unwrap();
    let threads: Vec<_> = (1..5)
        .map(|n| std::thread::spawn(move || small::shapes(n * 5000).iter().map(|shape| shape.area()).sum::<f64>()))
        .collect();
    for thread in threads {
        println!("{:.3}", thread.join().unwrap());
    }
    let map = small::by_length((0..50000).map(|n| format!("{n}{}", small::TABLE[n % 500].1)));
    println!("{:?}", map.iter().map(|(length, words)| (length, words.len(), words.last())).collect::<Vec<_>>());
    println!("{}", format!("{:?}", small::shapes(1000)).len());
}
"#,
    ),
];

#[test]
fn cargo() {
    const CARGO: &str = env!("CARGO");
    let case = Case {
        name: "cargo",
        did: "a crate with a build script, -j 2; the program and its run",
        needs: &[CARGO, "cc"],
        // The compiler's executable has a malloc of its own, so cargo and the linker's driver are what hakmem serves.
        probes: &[("cargo", &[CARGO, "--version"]), ("cc", &["cc", "--version"])],
        own_malloc: false,
    };
    case.check(|run| {
        for (name, text) in CRATE {
            run.write(name, text);
        }
        let mut command = run.command(CARGO);
        // The compiler beside this cargo, whatever the home directory says.
        let tools = Path::new(CARGO).parent().expect("a program lies in a directory");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::iter::once(tools.to_path_buf()).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(places).expect("they were joined before"));
        command.env("CARGO_INCREMENTAL", "0").args(["build", "--offline", "--quiet", "-j", "2"]);
        run.compared_command(command);
        run.file("target/debug/small");
        run.compared("target/debug/small", &[""; 0]);
        run.assert_seen_inside("inside");
    });
}

/// What `git fast-import` reads: `count` commits, each of which changes two of sixty files.
fn history(count: usize) -> String {
    let mut text = String::new();
    let mut data = |header: &str, body: &str| writeln!(text, "{header}data {}\n{body}", body.len()).expect("a string");
    for n in 1..=count {
        let when = 1_600_000_000 + n * 60;
        let who = format!("A U Thor <author@example.org> {when} +0000");
        data(&format!("commit refs/heads/main\nauthor {who}\ncommitter {who}\n"), &format!("Change {n}\n"));
        for file in [n * 7 % 60, n * 11 % 60] {
            let lines: Vec<String> = (0..40 + n % 90).map(|line| format!("line {line} {}", n * line % 1013)).collect();
            data(&format!("M 100644 inline dir{}/file{file}\n", file % 5), &lines.join("\n"));
        }
    }
    text
}

fn git(run: &Run, args: &[&str]) -> std::process::Command {
    let mut command = run.command("git");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "A U Thor").env(format!("GIT_{role}_EMAIL"), "author@example.org");
        command.env(format!("GIT_{role}_DATE"), "1700000000 +0000");
    }
    command.env("GIT_CONFIG_NOSYSTEM", "1").args(args);
    command
}

#[test]
fn version_control() {
    let case = Case {
        name: "git",
        did: "a thousand commits imported, some made, a merge, gc with two threads, clone, fsck",
        needs: &["git"],
        probes: &[("git", &["git", "version"])],
        own_malloc: false,
    };
    case.check(|run| {
        let inside = |args: &[&str]| {
            let mut command = git(run, args);
            command.current_dir(run.path("repository"));
            command
        };
        run.compared_command(git(run, &["init", "-q", "-b", "main", "repository"]));
        run.write("history", &history(1000));
        let mut import = inside(&["fast-import", "--quiet"]);
        import.stdin(File::open(run.path("history")).expect("it was just written"));
        run.compared_command(import);
        run.compared_command(inside(&["reset", "-q", "--hard", "main"]));
        run.compared_command(inside(&["checkout", "-q", "-b", "side", "main~100"]));
        for (branch, file) in [("side", "new1"), ("side", "new2"), ("main", "dir1/file1"), ("main", "dir2/file2")] {
            run.compared_command(inside(&["checkout", "-q", branch]));
            run.write(&format!("repository/{file}"), &format!("{branch} has its own text\n").repeat(300));
            run.compared_command(inside(&["add", "."]));
            run.compared_command(inside(&["commit", "-q", "-m", &format!("{file} on {branch}")]));
        }
        run.compared_command(inside(&["merge", "-q", "-m", "Merge", "side"]));
        run.compared_command(inside(&["-c", "pack.threads=2", "-c", "gc.auto=0", "gc", "-q", "--prune=now"]));
        run.compared_command(git(run, &["clone", "-q", "--no-local", "repository", "clone"]));
        run.compared_command(git(run, &["-C", "clone", "fsck", "--full", "--strict", "--no-progress"]));
        run.compared_command(git(run, &["-C", "clone", "log", "--stat", "--format=%H %T %s"]));
        run.compared_command(git(run, &["-C", "clone", "blame", "-l", "dir1/file16"]));
        run.compared_command(git(run, &["-C", "clone", "log", "--oneline", "-S", "line 99 1000"]));
        let objects = ["-C", "clone", "cat-file", "--batch-check", "--batch-all-objects"];
        run.compared_command(git(run, &objects));
        run.compared_command(git(run, &["-C", "clone", "status", "--porcelain"]));
    });
}

#[test]
fn debugger() {
    let case = Case {
        name: "gdb",
        did: "a program under hakmem: breakpoint, backtrace, strings from malloc, calls into it",
        needs: &["gdb", "cc"],
        probes: &[("gdb", &["gdb", "--version"])],
        own_malloc: false,
    };
    case.check(|run| {
        run.script("debugged.c");
        run.script("debugged.gdb");
        run.compared("cc", &["-g", "-O0", "-o", "debugged", "debugged.c"]);
        let mut command = run.command("gdb");
        command.args(["-nx", "-q", "-batch", "-x", "debugged.gdb", "-ex", "quit 0", "./debugged"]);
        let output = run.finish(command);
        for expected in [
            "#4",
            "hello, number 999",
            "hello, number 997",
            "hello, debugger",
            "a copy of the debugger's",
            "exited with code 03",
        ] {
            assert!(output.stdout.contains(expected), "no {expected} in\n{}\n{}", output.stdout, output.stderr);
        }
        // Numbers of processes and addresses differ between any two runs.
        let lines = output.stdout.lines().filter(|line| !line.contains("process ") && !line.contains("libthread_db"));
        run.record("what gdb printed", lines.map(without_addresses).collect::<Vec<_>>().join("\n"));
    });
}

fn without_addresses(line: &str) -> String {
    let word = |word: &str| if word.starts_with("0x") { "0x".to_owned() } else { word.to_owned() };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

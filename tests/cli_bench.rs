//! `hakmem bench` and `hakmem ab`: what they print and write, that nothing is taken for what it is not, and what they say
//! about libraries and programs that do not work.
//!
//! The workloads are run in small. Nothing is concluded from their times.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use support::skip;

/// A hundred thousandth of a workload: some hundred operations.
const TINY: [&str; 2] = ["--scale", "0.00001"];

/// The command's executable.
fn executable() -> &'static Path {
    static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();
    EXECUTABLE.get_or_init(|| {
        // The directory of the other tests of the command.
        let target = support::root().join("target/cli-test");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--package=hakmem-cli"])
            .current_dir(support::root())
            .env("CARGO_TARGET_DIR", &target)
            .env_remove("CARGO_BUILD_TARGET")
            .status()
            .expect("cargo starts");
        assert!(status.success(), "the command does not build");
        target.join("release/hakmem")
    })
}

fn run_in<S: AsRef<OsStr>>(directory: &Path, args: &[S]) -> Output {
    let mut command = Command::new(executable());
    command.args(args).current_dir(directory).env_remove("LD_PRELOAD").output().expect("the command starts")
}

fn run(args: &[&str]) -> Output {
    run_in(Path::new("/"), args)
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// hakmem failed with this code and said so, with a remedy, on stderr alone.
#[track_caller]
fn assert_failed(output: &Output, code: i32, said: &str) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert_eq!(stdout(output), "");
    assert!(message.contains(said) && message.contains("Remedy: "), "{message}");
    assert!(message.starts_with("hakmem: "), "{message}");
}

/// What was printed, if it went well.
#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}: {}", output.status, stderr(output));
    stdout(output)
}

fn json(text: &str) -> Value {
    Value(text.to_owned())
}

/// JSON as `hakmem` lays it out: a key a line. The tests have no reader of JSON, and need little of it.
struct Value(String);

impl Value {
    /// Every value of the key, as it is written.
    fn all(&self, key: &str) -> Vec<&str> {
        let mark = format!("\"{key}\": ");
        let values = self.0.lines().filter_map(|line| line.trim().strip_prefix(&mark));
        values.map(|value| value.trim_end_matches(',').trim_matches('"')).collect()
    }

    /// Those that are numbers.
    fn numbers(&self, key: &str) -> Vec<f64> {
        self.all(key).into_iter().map(|value| value.parse().unwrap_or(f64::NAN)).collect()
    }
}

/// A library made of a few lines of C; `None` after saying why the test is skipped.
fn library(directory: &Path, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    if !support::installed("cc") {
        return None;
    }
    let (text, library) = (directory.join(format!("{name}.c")), directory.join(format!("{name}.so")));
    fs::write(&text, source).unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-fno-builtin", "-o"])
        .args([&library, &text])
        .args(flags)
        .current_dir(directory)
        .status()
        .expect("cc starts");
    assert!(status.success(), "cc fails");
    fs::remove_file(text).unwrap();
    Some(library)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn bench_prints_a_table_and_writes_all_forms() {
    let directory = tempfile::tempdir().unwrap();
    let forms = ["--json=out.json", "--csv=out.csv", "--plot", "out.svg", "--runs", "3"];
    let output = run_in(directory.path(), &[&["bench", "mixed"][..], &TINY, &forms].concat());
    let table = printed(&output);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert!(lines[0].starts_with("WORKLOAD  ALLOCATOR  SPEED  95 % INTERVAL"), "{table}");
    assert!(lines[1].starts_with("mixed     libc        1.00") && lines[2].contains("mixed  "), "{table}");
    assert_eq!(names(directory.path()), ["out.csv", "out.json", "out.svg"]);

    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    let value = json(&read("out.json"));
    assert_eq!(value.all("soname"), ["null", "libhakmem-mixed.so"]);
    let mallocs = value.all("malloc");
    assert!(mallocs[0].contains("/libc") && mallocs[1].ends_with("/libhakmem-mixed.so"), "{mallocs:?}");
    assert_eq!((value.all("allocator"), value.all("runs")), (vec!["libc", "mixed"], vec!["3"]));
    assert_eq!(value.numbers("value")[0], 1.0);
    let (values, lows, highs) = (value.numbers("value"), value.numbers("low"), value.numbers("high"));
    for (index, speed) in values.iter().enumerate() {
        assert!(lows[index] > 0.0 && lows[index] <= *speed && *speed <= highs[index], "{}", value.0);
    }
    assert!(value.numbers("ns_per_operation").iter().all(|&ns| ns > 0.0));
    // A process of less than a hundred kilobytes there is not, and these hold a megabyte at most.
    assert!(value.numbers("peak_rss_kb").iter().all(|&peak| (100.0..100_000.0).contains(&peak)));

    let csv = read("out.csv");
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(lines.iter().all(|line| line.len() == 10), "{csv}");
    assert_eq!(lines[0][..5], ["workload", "allocator", "speed", "speed_low", "speed_high"]);
    assert_eq!((&lines[1][..3], &lines[2][..2]), (&["mixed", "libc", "1"][..], &["mixed", "mixed"][..]));
    assert_eq!(lines[2][2].parse::<f64>().unwrap(), values[1]);

    let svg = read("out.svg");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("Speed") && svg.contains("Peak RSS") && svg.contains("runs: 3, scale: 0.00001"), "{svg}");
}

#[test]
fn bench_prints_json_or_csv_instead() {
    let print = |form: &str| printed(&run(&[&["bench", "mixed", "larson", "--runs", "1", form][..], &TINY].concat()));
    let value = print("--json");
    assert!(value.starts_with('{') && value.ends_with("}\n"), "{value}");
    assert_eq!(json(&value).all("workload"), ["mixed", "mixed", "larson", "larson"]);
    assert_eq!(print("--csv").lines().count(), 5);
}

#[test]
fn ab_says_what_a_flip_does() {
    let words = ["ab", "mixed", "mixed+no-free-dualhot", "--runs", "2"];
    let output = run(&[&words[..], &TINY, &["--json"]].concat());
    let value = json(&printed(&output));
    assert_eq!(value.all("name"), ["mixed", "mixed+no-free-dualhot"]);
    assert_eq!(value.all("soname"), ["libhakmem-mixed.so", "libhakmem-mixed-no-free-dualhot.so"]);
    assert_eq!((value.all("subject"), value.all("runs")), (vec!["mixed"], vec!["2"]));
    assert!(["GO", "NEUTRAL", "NO-GO"].contains(&value.all("verdict")[0]), "{}", value.0);
    assert_eq!(value.numbers("value").len(), 2);
    if support::installed("valgrind") {
        // Some hundred instructions a call would be a slow path and nothing else.
        let counts = value.numbers("instructions_per_operation");
        assert!(counts.len() == 2 && counts.iter().all(|count| (5.0..1000.0).contains(count)), "{}", value.0);
    } else {
        assert_eq!(value.all("instructions_note"), ["valgrind is not installed"]);
    }
    let table = printed(&run(&[&words[..], &TINY, &["--no-instructions"]].concat()));
    for part in ["A  mixed ", "B  mixed+no-free-dualhot  libhakmem-mixed-no-free-dualhot.so", "\nverdict: "] {
        assert!(table.contains(part), "{table}");
    }
    assert!(table.contains("not counted: not asked for"), "{table}");
}

#[test]
fn instructions_are_the_same_each_time() {
    if !support::installed("valgrind") {
        return;
    }
    // Enough for callgrind's two runs to differ by some thousand operations.
    let count = || {
        let words = ["bench", "mixed", "--runs", "1", "--instructions", "--json", "--scale", "0.001"];
        json(&printed(&run(&words))).numbers("instructions_per_operation")
    };
    let counts = count();
    assert!(counts.iter().all(|count| (5.0..500.0).contains(count)), "{counts:?}");
    let again = count();
    assert!(counts.iter().zip(&again).all(|(one, other)| (one - other).abs() < 0.5), "{counts:?} {again:?}");
}

#[test]
fn nothing_is_measured_against_itself() {
    let directory = tempfile::tempdir().unwrap();
    // The same preset under another name: another soname, other symbols, the same code.
    let preset = support::root().join("src/presets/mixed.toml");
    fs::copy(preset, directory.path().join("mine.toml")).unwrap();
    for sides in [["libc", "libc"], ["mixed", "mixed"], ["mixed", "./mine.toml"]] {
        let output = run_in(directory.path(), &[&["ab"], &sides[..], &TINY].concat());
        assert_failed(&output, 1, &format!("{} and ", sides[0]));
        assert!(stderr(&output).contains("the same code"), "{}", stderr(&output));
    }
    let control = ["ab", "libc", "libc", "--allow-identical", "--runs", "1", "--no-instructions"];
    assert!(printed(&run(&[&control[..], &TINY].concat())).contains("verdict: "));
}

#[test]
fn a_library_that_is_not_there_or_not_loaded_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| run_in(directory.path(), &[args, &TINY, &["mixed"]].concat());
    assert_failed(&run(&["ab", "libc", "./missing.so"]), 1, "`./missing.so`: No such file");
    let output = run(&["bench", "--json=out.json", "--against", "./missing.so"]);
    assert_failed(&output, 1, "`./missing.so`");
    // For another system, by its header: the loader goes on without it.
    let Some(foreign) = library(directory.path(), "foreign", &faulty(""), &[]) else { return };
    let mut bytes = fs::read(&foreign).unwrap();
    // EI_OSABI: FreeBSD.
    bytes[7] = 9;
    fs::write(&foreign, bytes).unwrap();
    let output = run(&["ab", "libc", "./foreign.so"]);
    assert_failed(&output, 1, "workload mixed under foreign.so should use `");
    let message = stderr(&output);
    assert!(
        message.contains("the malloc that it uses is that of /") && message.contains("cannot be preloaded"),
        "{message}"
    );
    // Half an allocator.
    let source = "#include <stddef.h>\nstatic char heap[1 << 24];\nstatic size_t used;
        void *malloc(size_t size) { size_t at = used; used += (size + 15) & ~(size_t)15; return heap + at; }";
    library(directory.path(), "half", source, &[]);
    assert_failed(&run(&["ab", "libc", "./half.so"]), 1, "workload mixed under half.so ");
    assert_eq!(names(directory.path()), ["foreign.so", "half.so"]);
}

/// An allocator that does not get far, as C: blocks of a static array that are not used again. `fault` is done about
/// each request.
fn faulty(fault: &str) -> String {
    format!(
        "#include <stddef.h>\n#include <string.h>
        static char heap[1 << 28] __attribute__((aligned(16)));
        static size_t used, calls;
        static char same[1 << 16];
        void *malloc(size_t size) {{
            {fault};
            size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
            *(size_t *)(heap + at) = size;
            return heap + at + 16;
        }}
        void free(void *block) {{ (void)block; }}
        void *calloc(size_t count, size_t size) {{ return malloc(count * size); }}
        void *realloc(void *block, size_t size) {{
            void *other = malloc(size);
            if (block) {{
                size_t old = *(size_t *)((char *)block - 16);
                memcpy(other, block, old < size ? old : size);
            }}
            return other;
        }}"
    )
}

#[test]
fn an_allocator_that_crashes_or_damages_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let run_on = |workload: &str, scale: &str, name: &str| {
        let words = ["bench", workload, "--scale", scale, "--runs", "1", "--json=out.json", "--plot", "out.svg"];
        run_in(directory.path(), &[&words[..], &["--against", &format!("./{name}.so")]].concat())
    };
    let run = |name: &str| run_on("mixed", "0.001", name);
    let Some(_) = library(directory.path(), "sound", &faulty(""), &[]) else { return };
    let output = run("sound");
    assert!(printed(&output).contains("  sound.so "), "{}", stdout(&output));
    fs::remove_file(directory.path().join("out.json")).unwrap();
    fs::remove_file(directory.path().join("out.svg")).unwrap();

    library(directory.path(), "crashing", &faulty("if (++calls == 5000) *(volatile int *)8 = 0"), &[]);
    let output = run("crashing");
    assert_failed(&output, 1, "workload mixed under crashing.so crashed (signal: 11");
    library(directory.path(), "empty", &faulty("if (++calls > 5000) return 0"), &[]);
    assert_failed(&run("empty"), 1, "under empty.so crashed (signal: 6");
    // Blocks of sizes that the process itself does not ask for lie on top of each other.
    library(directory.path(), "damaging", &faulty("if (size > 10000 && size < 30000) return same"), &[]);
    assert_failed(&run_on("mid-large-mt", "0.0002", "damaging"), 1, "blocks were not found as they were left");
    assert_eq!(names(directory.path()), ["crashing.so", "damaging.so", "empty.so", "sound.so"]);
}

#[test]
fn programs_are_compared_and_have_to_work() {
    let ab = |options: &[&str], program: &[&str]| {
        run(&[&["ab", "libc", "mixed", "--runs", "1"], options, &["--"], program].concat())
    };
    let value = json(&printed(&ab(&["--json"], &["sh", "-c", "echo shown"])));
    assert_eq!((value.all("subject"), value.all("scale")), (vec!["sh"], vec!["null"]));
    assert!(value.numbers("peak_rss_kb").iter().all(|&peak| peak > 100.0), "{}", value.0);
    assert!(value.all("malloc")[1].ends_with("/libhakmem-mixed.so"), "{}", value.0);
    // A proof and a run of each side.
    let output = ab(&["--show"], &["sh", "-c", "echo shown"]);
    assert_eq!(printed(&output).matches("shown\n").count(), 4, "{}", stdout(&output));

    assert_failed(&ab(&[], &["sh", "-c", "echo last words >&2; exit 3"]), 1, "`sh` under libc failed with exit code 3");
    let output = ab(&[], &["sh", "-c", "echo last words >&2; exit 3"]);
    assert!(stderr(&output).ends_with("\nhakmem: | last words\n"), "{}", stderr(&output));
    printed(&ab(&["--ignore-exit"], &["sh", "-c", "exit 3"]));
    assert_failed(&ab(&[], &["sh", "-c", "kill -SEGV $$"]), 1, "`sh` under libc crashed (signal: 11");
    // Only under the library.
    let output = ab(&[], &["sh", "-c", "case $LD_PRELOAD in *mixed*) exit 4; esac"]);
    assert_failed(&output, 1, "`sh` under mixed failed with exit code 4");
    assert_failed(&ab(&[], &["no-such-program"]), 1, "`no-such-program` in PATH");
}

#[test]
fn a_program_that_uses_another_malloc_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let Some(own) = library(directory.path(), "own", &faulty(""), &[]) else { return };
    let text = directory.path().join("program.c");
    fs::write(&text, "#include <stdlib.h>\nint main(void) { void *volatile p = malloc(9); free(p); return 0; }")
        .unwrap();
    let compile = |name: &str, flags: &[&OsStr]| {
        let program = directory.path().join(name);
        let status = Command::new("cc").arg("-o").args([&program, &text]).args(flags).status().unwrap();
        status.success().then(|| program.to_str().unwrap().to_owned())
    };
    let ab = |program: &str| run(&["ab", "libc", "mixed", "--runs", "1", "--", program]);
    // It brings an allocator: that is not libc's.
    let linked = compile("linked", &[own.as_os_str()]).unwrap();
    let output = ab(&linked);
    assert_failed(&output, 1, "should use libc's malloc, and the malloc that it uses is that of ");
    assert!(stderr(&output).contains("own.so"), "{}", stderr(&output));
    // A library goes before it.
    let libc = printed(&run(&[&["bench", "mixed", "--runs", "1", "--json"][..], &TINY].concat()));
    let libc = json(&libc).all("malloc")[0].to_owned();
    printed(&run(&["ab", &libc, "mixed", "--runs", "1", "--", &linked]));
    // A program that starts such a program is seen through.
    let output = run(&["ab", "libc", "mixed", "--runs", "1", "--", "sh", "-c", &format!("{linked}; true")]);
    assert_failed(&output, 1, "should use libc's malloc");
    match compile("static", &[OsStr::new("-static")]) {
        Some(program) => assert_failed(&ab(&program), 1, "statically linked"),
        None => skip("cc makes no static programs"),
    }
}

#[test]
fn an_interrupt_ends_it_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let program = "echo $LD_PRELOAD > fresh; mv fresh started; exec sleep 100";
    let mut command = Command::new(executable());
    command.args(["ab", "mixed", "libc", "--", "sh", "-c", program]).current_dir(directory.path());
    // Of its own, as a terminal's jobs are: everything in it gets the signal.
    command.process_group(0).env_remove("LD_PRELOAD").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let started = directory.path().join("started");
    while !started.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        sleep(Duration::from_millis(10));
    }
    let library = fs::read_to_string(started).unwrap();
    assert!(Path::new(library.trim_end()).exists(), "{library}");
    let group = -i32::try_from(child.id()).unwrap();
    // Not SIGINT, which is ignored where the test runs in a shell's background.
    // SAFETY: no memory is involved, and the group is that of a child that was not waited for.
    assert_eq!(unsafe { libc::kill(group, libc::SIGTERM) }, 0);
    assert_failed(&child.wait_with_output().unwrap(), 1, "hakmem: interrupted. ");
    assert!(!Path::new(library.trim_end()).exists(), "{library}");
}

#[test]
fn check_turns_a_loss_into_an_exit_code() {
    // Two seconds against some milliseconds: that is no measurement.
    let slow = "case $LD_PRELOAD in *mixed*) sleep 2; esac";
    let ab = |a: &str, b: &str, options: &[&str]| {
        run(&[&["ab", a, b, "--runs", "1"], options, &["--", "sh", "-c", slow]].concat())
    };
    let output = ab("libc", "mixed", &["--check"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stdout(&output).contains("verdict: NO-GO"), "{}", stdout(&output));
    assert!(printed(&ab("libc", "mixed", &[])).contains("verdict: NO-GO"));
    assert!(printed(&ab("mixed", "libc", &["--check"])).contains("verdict: GO"));
}

#[test]
fn what_makes_no_sense_is_answered_with_what_there_is() {
    assert_failed(&run(&["bench", "mixd"]), 2, "write `mixed`; there are mixed, ");
    assert_failed(&run(&["bench", "--against", "jemaloc"]), 2, "write `jemalloc`");
    assert_failed(&run(&["ab", "mixed", "c6-heavi"]), 2, "write `c6-heavy`");
    assert_failed(&run(&["ab", "mixed", "mixed+fre-keep"]), 2, "write `free-keep`");
    assert_failed(&run(&["ab", "mixed", "libc", "larsson"]), 2, "write `larson`");
    for args in [&["bench", "--json", "--csv"][..], &["ab", "mixed"], &["ab", "mixed", "libc", "--show"]] {
        let output = run(args);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{args:?}");
        assert!(stderr(&output).starts_with("hakmem: ") && stderr(&output).contains("--help"), "{}", stderr(&output));
    }
    // Before anything is built or run.
    let output = run(&["bench", "--csv=/no/such/directory/out.csv"]);
    assert_failed(&output, 1, "cannot write `/no/such/directory/out.csv`");
}

#[test]
fn every_knob_has_a_line() {
    if std::env::var_os("CI").is_none() && std::env::var_os("HAKMEM_FLIPS").is_none() {
        return skip("HAKMEM_FLIPS not set");
    }
    let knobs = ["ab", "--knobs", "--runs", "1", "--no-instructions", "--markdown"];
    let table = printed(&run(&[&knobs[..], &TINY].concat()));
    for flip in ["`no-free-dualhot` ", "`free-keep` ", "`prefetch` ", "`heap-stats-dump` | not measured"] {
        assert!(table.contains(&format!("\n| {flip}")), "{table}");
    }
    assert!(table.contains("`heap-stats-dump`: heap-stats-dump has no counters"), "{table}");
}

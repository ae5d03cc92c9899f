//! The `hakmem` command: what `run` leaves alone, what it says when it cannot help, what `build` leaves behind, and
//! what `presets` shows.
//!
//! The command is built once, into a directory of its own: the cargo that runs this test may hold the lock of the usual
//! one. Its first `run` then builds the library beside it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

const LIBRARY: &str = "libhakmem-mixed.so";

/// The command's executable, with the library of `mixed` beside it.
fn executable() -> &'static Path {
    static EXECUTABLE: OnceLock<PathBuf> = OnceLock::new();
    EXECUTABLE.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let target = root.join("target/cli-test");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--package=hakmem-cli"])
            .current_dir(root)
            .env("CARGO_TARGET_DIR", &target)
            .env_remove("CARGO_BUILD_TARGET")
            .status()
            .expect("cargo starts");
        assert!(status.success(), "the command does not build");
        let executable = target.join("release/hakmem");
        let output = clean(&executable).args(["run", "true"]).output().expect("the command starts");
        assert!(output.status.success(), "{}", stderr(&output));
        executable
    })
}

/// A command without what the surroundings of the test preload.
fn clean(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("LD_PRELOAD");
    command
}

fn hakmem<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = clean(executable());
    command.args(args);
    command
}

fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    hakmem(args).output().expect("the command starts")
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
    assert!(message.starts_with("hakmem: ") && message.contains(said), "{message}");
    assert!(message.contains("Remedy: ") || message.contains("--help"), "{message}");
}

#[track_caller]
fn assert_succeeded(output: &Output) {
    assert!(output.status.success(), "{}: {}", output.status, stderr(output));
}

fn warnings(output: &Output) -> Vec<String> {
    stderr(output).lines().filter(|line| line.starts_with("hakmem: warning: ")).map(String::from).collect()
}

fn names(directory: &Path) -> Vec<String> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Says that a test did not run. Where everything has to be there, that is a failure.
fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    println!("skipped: {reason}");
}

/// Compiles a C program to `directory/program`; `None` after saying why the test is skipped.
fn compile(directory: &Path, source: &str, args: &[&str]) -> Option<PathBuf> {
    let (text, program) = (directory.join("program.c"), directory.join("program"));
    fs::write(&text, source).unwrap();
    match Command::new("cc").args(args).arg("-o").args([&program, &text]).output() {
        Err(_) => skip("cc not installed"),
        Ok(output) if !output.status.success() => skip(&format!("cc {args:?} fails: {}", stderr(&output))),
        Ok(_) => return Some(program),
    }
    None
}

/// An executable script.
fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_exit_code_is_the_programs() {
    assert_eq!(run(["run", "--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(run(["run", "sh", "-c", "exit 0"]).status.code(), Some(0));
}

#[test]
fn a_death_by_signal_is_the_programs() {
    assert_eq!(run(["run", "--", "sh", "-c", "kill -TERM $$"]).status.signal(), Some(15));
}

#[test]
fn the_program_takes_the_place_of_the_command() {
    let child = hakmem(["run", "--", "sh", "-c", "echo $$"]).stdout(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    assert_eq!(stdout(&child.wait_with_output().unwrap()), format!("{pid}\n"));
}

#[test]
fn input_and_output_are_the_programs() {
    let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    let mut child = hakmem(["run", "--", "sh", "-c", "cat; echo to stderr >&2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.stdout == bytes);
    assert!(stderr(&output).ends_with("to stderr\n"));
    assert!(warnings(&output).is_empty(), "{}", stderr(&output));
}

#[test]
fn the_arguments_are_the_programs() {
    let print = r#"printf '%s|' "$0" "$@""#;
    for separator in [&["--"][..], &[]] {
        let args = [&["run"], separator, &["sh", "-c", print, "zero", "--lib", "--", "", "a b"]].concat();
        assert_eq!(stdout(&run(args)), "zero|--lib|--||a b|");
    }
    // And so is the name that it was called by.
    assert_eq!(
        stdout(&run(["run", "--", "sh", "-c", "tr '\\0' '|' < /proc/$$/cmdline"])).split('|').next(),
        Some("sh")
    );
}

#[test]
fn the_library_is_loaded() {
    let output = run(["run", "--", "grep", "-c", "libhakmem-mixed", "/proc/self/maps"]);
    assert_succeeded(&output);
    // In programs that the program starts, too.
    let output = run(["run", "--", "sh", "-c", "grep -c libhakmem-mixed /proc/self/maps; exit $?"]);
    assert_succeeded(&output);
}

#[test]
fn an_existing_preload_is_kept_and_comes_second() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.so");
    let ours = executable().with_file_name(LIBRARY);
    fs::copy(&ours, &other).unwrap();
    let print = ["run", "--", "sh", "-c", "echo \"$LD_PRELOAD\""];
    let output = hakmem(print).env("LD_PRELOAD", &other).output().unwrap();
    assert_eq!(stdout(&output), format!("{}:{}\n", ours.display(), other.display()));
    let output = hakmem(print).env("LD_PRELOAD", "").output().unwrap();
    assert_eq!(stdout(&output), format!("{}\n", ours.display()));
}

#[test]
fn a_program_that_is_not_there_is_127() {
    assert_failed(&run(["run", "--", "no-such-program"]), 127, "`no-such-program` in PATH");
    assert_failed(&run(["run", "--", "/no/such/program"]), 127, "`/no/such/program`");
    // There is a script, and no interpreter for it.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("script");
    script(&path, "#!/no/such/interpreter\n");
    assert_failed(&run([OsStr::new("run"), path.as_os_str()]), 127, "interpreter");
}

#[test]
fn a_file_that_does_not_execute_is_126() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plain");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    assert_failed(&run([OsStr::new("run"), path.as_os_str()]), 126, "plain");
    assert_failed(&run([OsStr::new("run"), directory.path().as_os_str()]), 126, "not a regular file");
}

#[test]
fn a_failure_of_run_itself_is_125() {
    assert_failed(&run(["run", "--lib", "/no/such/library.so", "--", "true"]), 125, "/no/such/library.so");
    assert_failed(&run(["run", "--lib", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "true"]), 125, "library");
    assert_failed(&run(["run", "--no-such-option", "true"]), 125, "--no-such-option");
    assert_failed(&run(["run"]), 125, "PROGRAM");
    // LD_PRELOAD would be split at the space.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a library.so");
    fs::copy(executable().with_file_name(LIBRARY), &path).unwrap();
    let args = [OsStr::new("run"), OsStr::new("--lib"), path.as_os_str(), OsStr::new("true")];
    assert_failed(&run(args), 125, "space");
}

#[test]
fn an_unknown_preset_is_answered_with_the_known_ones() {
    for (args, code) in [(&["build", "--preset", "no-such"][..], 2), (&["run", "--preset", "no-such", "true"], 125)] {
        let output = run(args);
        assert_failed(&output, code, "no-such");
        let message = stderr(&output);
        assert!(message.contains("possible values: "), "{message}");
        assert!(hakmem::PRESETS.iter().all(|preset| message.contains(preset.name)), "{message}");
    }
    assert_failed(&run(["presets", "c6-heavi"]), 2, "'c6-heavy'");
    assert_failed(&run(["build"]), 2, "--preset");
    assert_failed(&run(["no-such-command"]), 2, "no-such-command");
}

#[test]
fn a_static_program_runs_with_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    for kind in ["-static", "-static-pie"] {
        let Some(program) = compile(directory.path(), "int main(void) { return 3; }", &[kind]) else { return };
        let output = run([OsStr::new("run"), program.as_os_str()]);
        assert_eq!(output.status.code(), Some(3));
        assert!(matches!(&warnings(&output)[..], [one] if one.contains("static")), "{}", stderr(&output));
    }
}

#[test]
fn a_program_with_its_own_malloc_runs_with_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let source = "#include <stddef.h>
        static char heap[1 << 20];
        static size_t used;
        void *malloc(size_t size) { used += (size + 15) & ~(size_t)15; return heap + used - ((size + 15) & ~(size_t)15); }
        void free(void *block) { (void)block; }
        int main(void) { return malloc(1) == heap ? 4 : 5; }";
    let Some(program) = compile(directory.path(), source, &["-O0"]) else { return };
    let output = run([OsStr::new("run"), program.as_os_str()]);
    assert_eq!(output.status.code(), Some(4));
    assert!(matches!(&warnings(&output)[..], [one] if one.contains("malloc of its own")), "{}", stderr(&output));

    // A script is judged by its interpreter, a link by what it leads to.
    let by_path = directory.path().join("by-path");
    script(&by_path, &format!("#!{}\n", program.display()));
    let by_name = directory.path().join("by-name");
    script(&by_name, "#!/usr/bin/env program\n");
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    for path in [&by_path, &by_name, &link] {
        let search = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
        let output = hakmem([OsStr::new("run"), path.as_os_str()]).env("PATH", search).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}", path.display());
        assert_eq!(warnings(&output).len(), 1, "{}: {}", path.display(), stderr(&output));
    }
}

#[test]
fn an_ordinary_program_runs_without_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let source = "#include <stdlib.h>\nint main(void) { free(malloc(1)); return 6; }";
    let Some(program) = compile(directory.path(), source, &["-O0"]) else { return };
    let output = run([OsStr::new("run"), program.as_os_str()]);
    assert_eq!(output.status.code(), Some(6));
    assert!(warnings(&output).is_empty(), "{}", stderr(&output));
}

#[test]
fn build_writes_a_library_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("new/directory");
    let output = run(["build", "--preset", "mixed", "mixed", "--out", out.to_str().unwrap()]);
    assert_succeeded(&output);
    let library = out.join(LIBRARY);
    let report = stdout(&output);
    assert!(report.starts_with(&format!("{}  ", library.display())) && report.ends_with(" KiB\n"), "{report}");
    assert_eq!(report.lines().count(), 1, "{report}");
    assert_eq!(names(&out), [LIBRARY]);
    // A relative path holds in a program that changes its directory.
    let count = format!("cd / && grep -c {} /proc/self/maps", library.display());
    let args = ["run", "--lib", &format!("./{LIBRARY}"), "--", "sh", "-c", &count];
    let output = hakmem(args).current_dir(&out).output().unwrap();
    assert_succeeded(&output);
    assert_eq!(stderr(&output), "");
}

#[test]
fn presets_of_files_and_changed_ones_are_built_under_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let build = |args: &[&str]| {
        let output = hakmem([&["build"], args].concat()).current_dir(directory.path()).output().unwrap();
        assert_succeeded(&output);
        let report = stdout(&output);
        let path = report.split_once("  ").unwrap_or_else(|| panic!("{report}")).0;
        // The soname is the file's name.
        let library = fs::read(directory.path().join(path)).unwrap();
        let soname = [&path.as_bytes()[2..], b"\0"].concat();
        assert!(library.windows(soname.len()).any(|window| window == soname), "{path}");
        (path.to_owned(), warnings(&output))
    };
    fs::write(directory.path().join("mine.toml"), "summary = \"Mine\"\n[geometry]\nbins = \"powers\"\n").unwrap();
    assert_eq!(build(&["--preset", "mine.toml"]), ("./libhakmem-mine.so".into(), vec![]));
    // The original's name; one flip has an effect.
    let changes = ["--without", "free-dualhot", "--without", "free-keep"];
    let (path, warnings) = build(&[&["--preset", "MIXED_TINYV3_C7_SAFE"], &changes[..]].concat());
    assert_eq!(path, "./libhakmem-mixed-no-free-dualhot.so");
    assert!(matches!(&warnings[..], [one] if one.contains("no-free-keep changes nothing")), "{warnings:?}");
    let mut files = names(directory.path());
    files.sort();
    assert_eq!(files, ["libhakmem-mine.so", "libhakmem-mixed-no-free-dualhot.so", "mine.toml"]);

    // Bins in powers of two: libc's and our other presets' blocks have other sizes.
    let show = "import ctypes; libc = ctypes.CDLL(None); libc.malloc.restype = ctypes.c_void_p
print(libc.malloc_usable_size(ctypes.c_void_p(libc.malloc(600))))";
    match Command::new("python3").arg("--version").output() {
        Err(_) => skip("python3 not installed"),
        Ok(_) => {
            let run = ["run", "--lib", "libhakmem-mine.so", "--", "python3", "-c", show];
            let output = hakmem(run).current_dir(directory.path()).output().unwrap();
            assert_eq!(stdout(&output), "1024\n", "{}", stderr(&output));
        }
    }
}

#[test]
fn what_cannot_be_built_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    let build = |args: &[&str]| {
        let output = hakmem([&["build"], args].concat()).current_dir(directory.path()).output().unwrap();
        assert_eq!(names(directory.path()), ["mine.toml"]);
        output
    };
    fs::write(&file, "sumary = \"Mine\"\n[knobs]\non = [\"larson-fix\"]\n").unwrap();
    for output in [build(&["--preset", "mixed", "mine.toml"]), run(["presets", file.to_str().unwrap()])] {
        assert_failed(&output, 1, "write `summary`");
        let message = stderr(&output);
        assert!(message.contains("larson-fix") && message.contains("move it to `on` of [awaits]"), "{message}");
        assert!(message.lines().all(|line| line.starts_with("hakmem: ")), "{message}");
    }
    let output = clean(executable()).args(["run", "--preset"]).args([&file, Path::new("true")]).output().unwrap();
    assert_failed(&output, 125, "write `summary`");
    // The build script's own words.
    let output = build(&["--preset", "mixed", "--with", "larson-fix"]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("`larson-fix` cannot be switched on") && message.contains("cargo failed"), "{message}");
    assert_eq!(stdout(&output), "");
    // Arguments.
    assert_failed(&build(&["--preset", "mixed", "--with", "fre-keep"]), 2, "write `free-keep`");
    assert_failed(&build(&["--preset", "mixed", "c6-v3", "--with", "free-keep"]), 2, "one preset");
}

#[test]
fn presets_are_listed_and_shown() {
    let list = run(["presets"]);
    assert_succeeded(&list);
    for preset in hakmem::PRESETS {
        let text = stdout(&list);
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(preset.name));
        assert!(line.is_some_and(|line| line.contains(preset.hakmem)), "{}\n{text}", preset.name);
        // Both names mean one preset.
        let (short, long) = (run(["presets", preset.name]), run(["presets", preset.hakmem]));
        assert_succeeded(&short);
        assert_eq!(stdout(&short), stdout(&long));
        assert!(stdout(&short).contains(&format!("{:#x}", preset.words.bins)), "{}", stdout(&short));
    }
    let json = |args: &[&str]| {
        let output = run([args, &["--json"]].concat());
        assert_succeeded(&output);
        stdout(&output)
    };
    let text = json(&["presets"]);
    assert!(text.starts_with('[') && text.matches("\"name\": ").count() == hakmem::PRESETS.len(), "{text}");
    let text = json(&["presets", "mixed"]);
    assert!(text.starts_with('{') && text.contains("\"size\": 32768"), "{text}");
    let text = json(&["presets", "--knobs"]);
    assert!(text.contains("\"HAKMEM_FREE_TINY_FAST_HOTCOLD\""), "{text}");
    assert!(stdout(&run(["presets", "--knobs"])).contains("  free-dualhot "));
    // A reader who has seen enough.
    let mut child = hakmem(["presets", "--knobs"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_succeeded(&output);
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_build_that_fails_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    // The rename fails.
    let obstacle = directory.path().join(LIBRARY);
    fs::create_dir(&obstacle).unwrap();
    let output = run(["build", "--preset", "mixed", "--out", directory.path().to_str().unwrap()]);
    assert_failed(&output, 1, LIBRARY);
    assert_eq!(names(directory.path()), [LIBRARY]);
    assert!(names(&obstacle).is_empty());
    // The directory cannot be.
    let file = directory.path().join("file");
    File::create(&file).unwrap();
    assert_failed(&run(["build", "--all", "--out", file.to_str().unwrap()]), 1, "cannot create");
}

/// The command in a directory of its own, without a library.
fn alone() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("hakmem");
    fs::copy(executable(), &copy).unwrap();
    (directory, copy)
}

#[test]
fn the_library_is_built_when_it_is_missing_or_out_of_date() {
    let (directory, copy) = alone();
    let library = directory.path().join(LIBRARY);
    let run = |expected: bool| {
        let output = clean(&copy).args(["run", "--", "grep", "-c", LIBRARY, "/proc/self/maps"]).output().unwrap();
        assert_succeeded(&output);
        assert_eq!(stderr(&output).contains("hakmem: building preset mixed"), expected, "{}", stderr(&output));
        assert_eq!(stdout(&output).lines().count(), 1, "{}", stdout(&output));
        assert!(library.is_file());
        assert_eq!(names(directory.path()).len(), 2);
    };
    run(true);
    run(false);
    File::options().write(true).open(&library).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    run(true);
    run(false);
    fs::write(&library, "half a file").unwrap();
    run(true);
}

#[test]
fn the_library_that_cargo_built_beside_the_command_will_do() {
    let (directory, copy) = alone();
    fs::copy(executable().with_file_name(LIBRARY), directory.path().join("libhakmem.so")).unwrap();
    let output = clean(&copy).args(["run", "--", "sh", "-c", "echo $LD_PRELOAD"]).output().unwrap();
    assert_eq!(stdout(&output), format!("{}\n", directory.path().join("libhakmem.so").display()));
}

#[test]
fn without_cargo_and_library_the_remedy_is_named() {
    let (_directory, copy) = alone();
    let output = clean(&copy).args(["run", "/bin/true"]).env_remove("CARGO").env("PATH", "/no/such").output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{message}");
    assert!(message.contains("hakmem: cannot build") && message.contains("Remedy: install cargo"), "{message}");
    assert_eq!(stdout(&output), "");
}

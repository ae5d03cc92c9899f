//! What the integration tests share: shared libraries of presets, and C and C++ programs that run under it.
//!
//! The programs lie in `tests/c`; each checks itself, prints the first check that fails on stderr, and is silent
//! otherwise. Where a tool is missing a test says so and passes, except under CI, where it fails: there nothing may be
//! left out unnoticed.
#![allow(dead_code, reason = "every test binary compiles this module and uses a part of it")]

use hakmem::config::Knob;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Exit code of a program that cannot run on this system, with the reason on stdout (`cannot_run` in `check.h`).
const CANNOT_RUN: i32 = 77;
/// A program that takes longer hangs. Nothing is concluded from shorter times.
const HANGS: Duration = Duration::from_secs(120);

/// The workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library under test, built as users build it: that of the preset `mixed`, or of the one that `HAKMEM_TEST_PRESET` names,
/// or that of a preset file if this is a path.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let preset = std::env::var("HAKMEM_TEST_PRESET").unwrap_or_else(|_| "mixed".into());
        build(&preset, &[])
    })
}

/// `libhakmem.so` of a preset (or, given a path, of a preset file), changed by the features `flips`. Built in a target directory
/// apart from that of the tests, whose lock cargo holds.
pub fn build(preset: &str, flips: &[&str]) -> PathBuf {
    let (name, chosen) = match preset.contains('/') {
        true => (Path::new(preset).file_stem().expect("the name of a file").to_string_lossy(), "preset-file".into()),
        false => (preset.into(), format!("preset-{preset}")),
    };
    let target = root().join("target/so-test");
    // Cargo gives every preset's library one name, so it is copied away before another process builds the next.
    let _turn = turn(&target);
    let profile = hakmem::PRESETS.iter().find(|known| known.name == preset).map_or("release", |known| known.profile);
    let output = Command::new(env!("CARGO"))
        .args(["build", "--profile", profile, "--package", "hakmem-alloc", "--package", "hakmem-preload"])
        .args(["--features", &[&[chosen.as_str()], flips].concat().join(",")])
        .current_dir(root())
        .env("CARGO_TARGET_DIR", &target)
        .env("HAKMEM_PRESET_FILE", root().join(preset))
        // It would move the library into a directory of its own.
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .expect("the cargo that built this test exists");
    assert!(output.status.success(), "cargo build failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let built = target.join(profile).join("libhakmem.so");
    let directory = target.join("libraries").join([&[&*name], flips].concat().join("+"));
    let (fresh, library) = (directory.join("fresh"), directory.join("libhakmem.so"));
    fs::create_dir_all(&directory).expect("the target directory is writable");
    // Renamed, so that a process which has it loaded keeps the file it has.
    fs::copy(&built, &fresh).and_then(|_| fs::rename(&fresh, &library)).expect("the library was just built");
    library
}

/// Waits until no other test process builds in `target`; the turn ends with the value.
fn turn(target: &Path) -> File {
    fs::create_dir_all(target).expect("the target directory can be made");
    let file = File::create(target.join("turn")).expect("the target directory is writable");
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0, "the file can be locked");
    file
}

/// Says that the calling test is skipped because `reason`.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}

/// Whether the program `name` is installed. If not, says that the calling test is skipped.
///
/// # Panics
/// Under CI, if it is missing.
pub fn installed(name: &str) -> bool {
    match Command::new(name).arg("--version").stdin(Stdio::null()).output() {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "{name} is not installed, and CI leaves no test out");
            skip(&format!("{name} not installed"));
            false
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// What a program that ended left behind.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote.
    pub stdout: String,
    /// What it wrote as errors.
    pub stderr: String,
}

impl Output {
    /// Fails unless the program ended well and without a word on stderr.
    #[track_caller]
    pub fn assert_success(&self) {
        assert!(
            self.status.success() && self.stderr.is_empty(),
            "{}\nstdout: {}\nstderr: {}",
            self.status,
            self.stdout,
            self.stderr
        );
    }
}

/// A compiled program or library; its file goes when the value does.
pub struct Compiled {
    dir: TempDir,
    /// Where it is.
    pub path: PathBuf,
}

/// Compiles `tests/c/NAME.c` or `tests/c/NAME.cc`, where NAME may lead through directories; `flags` come after everything else. None if there is no
/// compiler, of which the user is told.
pub fn compile(name: &str, flags: &[&str]) -> Option<Compiled> {
    compile_with(name, &["-O1", "-fno-builtin"], flags)
}

/// [`compile`] with `options` in place of the usual ones, which keep the compiler from having a mind of its own about
/// the allocation functions.
pub fn compile_with(name: &str, options: &[&str], flags: &[&str]) -> Option<Compiled> {
    let sources = root().join("tests/c");
    let source = [format!("{name}.c"), format!("{name}.cc")]
        .iter()
        .map(|file| sources.join(file))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("no source of {name} in {}", sources.display()));
    let compiler = if source.extension().is_some_and(|extension| extension == "cc") { "c++" } else { "cc" };
    if !installed(compiler) {
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let path = dir.path().join(Path::new(name).file_name().expect("the name of a source"));
    let output = Command::new(compiler)
        .args(options)
        .arg("-pthread")
        .arg("-o")
        .args([&path, &source])
        .args(flags)
        .arg("-ldl")
        .output()
        .expect("the compiler starts");
    assert!(output.status.success(), "{compiler} {name}:\n{}", String::from_utf8_lossy(&output.stderr));
    Some(Compiled { dir, path })
}

impl Compiled {
    /// Runs the program under hakmem.
    pub fn run(&self) -> Output {
        self.run_preloading(&[library()])
    }

    /// Runs the program with `libraries` preloaded, in this order.
    pub fn run_preloading(&self, libraries: &[&Path]) -> Output {
        let mut list = OsString::new();
        for library in libraries {
            if !list.is_empty() {
                list.push(":");
            }
            list.push(library);
        }
        let out = self.dir.path().join("stdout");
        let err = self.dir.path().join("stderr");
        let create = |path: &Path| File::create(path).expect("the temporary directory is writable");
        let mut child = Command::new(&self.path)
            .env("LD_PRELOAD", list)
            .stdin(Stdio::null())
            .stdout(create(&out))
            .stderr(create(&err))
            .spawn()
            .expect("the compiled program starts");
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("the child can be waited for") {
                break status;
            }
            if start.elapsed() > HANGS {
                // It may have ended just now, and then has to be waited for all the same.
                let _ = child.kill();
                let _ = child.wait();
                panic!("{} hangs", self.path.display());
            }
            sleep(Duration::from_millis(2));
        };
        let read =
            |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("the file was made above")).into_owned();
        Output { status, stdout: read(&out), stderr: without_counters(&read(&err)) }
    }
}

/// What a program wrote as errors, but for the counters that the preset under test prints at the end.
fn without_counters(stderr: &str) -> String {
    let tested = std::env::var("HAKMEM_TEST_PRESET").unwrap_or_default();
    let prints = |preset: &&hakmem::Preset| preset.name == tested && preset.words.has(Knob::HeapStatsDump);
    if !hakmem::PRESETS.iter().any(|preset| prints(&preset)) {
        return stderr.into();
    }
    let counts = |line: &str| line.starts_with("hakmem[");
    stderr.split_inclusive('\n').filter(|line| !counts(line)).collect()
}

/// Compiles `tests/c/NAME` with `flags` and runs it under hakmem: it has to end well and in silence.
#[track_caller]
pub fn check(name: &str, flags: &[&str]) {
    if let Some(program) = compile(name, flags) {
        passes(&program.run());
    }
}

/// Fails unless a program that checks itself found nothing wrong, or says why it cannot run here.
#[track_caller]
pub fn passes(output: &Output) {
    if output.status.code() == Some(CANNOT_RUN) {
        return skip(&output.stdout);
    }
    output.assert_success();
    assert_eq!(output.stdout, "");
}

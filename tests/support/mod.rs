//! What the integration tests share: the preset's shared library, and C and C++ programs that run under it.
//!
//! The programs lie in `tests/c`; each checks itself, prints the first check that fails on stderr, and is silent
//! otherwise. Where a tool is missing a test says so and passes, except under CI, where it fails: there nothing may be
//! left out unnoticed.
#![allow(dead_code, reason = "every test binary compiles this module and uses a part of it")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
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

/// `libhakmem.so` of the preset `mixed`, built as users build it: optimised, and apart from the target directory of the
/// tests, whose lock cargo holds. Several test processes that want it at once wait for each other in cargo.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = root().join("target/so-test");
        let output = Command::new(env!("CARGO"))
            .args(["build", "--release", "--package", "hakmem-alloc", "--package", "hakmem-preload"])
            .args(["--features", "preset-mixed"])
            .current_dir(root())
            .env("CARGO_TARGET_DIR", &target)
            // It would move the library into a directory of its own.
            .env_remove("CARGO_BUILD_TARGET")
            .output()
            .expect("the cargo that built this test exists");
        assert!(output.status.success(), "cargo build failed:\n{}", String::from_utf8_lossy(&output.stderr));
        let library = target.join("release/libhakmem.so");
        assert!(library.is_file(), "{} was not built", library.display());
        library
    })
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
        Output { status, stdout: read(&out), stderr: read(&err) }
    }
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

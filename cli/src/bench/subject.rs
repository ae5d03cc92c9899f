//! What is measured: a workload or a program, and how one run of it under a side is started and understood.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, bail};
use hakmem_workloads::Workload;
use serde_json::Value;
use tempfile::TempDir;

use crate::bench::proof::{self, Mapping};
use crate::bench::side::Side;
use crate::bench::{driver, interrupt, launch};
use crate::remedy::OrRemedy;
use crate::{program, warnings};

/// What a workload does in a run that only shows whether everything is right.
const TRIAL: f64 = 0.001;

/// A workload or a program.
pub enum Subject {
    /// A workload, and how much of it.
    Workload(&'static Workload, f64),
    /// A program.
    Program(Program),
}

/// A program that is started as it is.
pub struct Program {
    /// As it was named.
    name: OsString,
    /// The file that this stands for.
    path: PathBuf,
    args: Vec<OsString>,
    /// Its output is shown.
    show: bool,
    /// It may fail.
    ignore_exit: bool,
    /// Where results are written to.
    directory: TempDir,
}

/// What one run showed.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Of the workload without start-up, of the program with it.
    pub seconds: f64,
    /// Most memory that was resident at a time.
    pub peak_rss_kb: f64,
    /// Blocks allocated, freed and resized; none for a program.
    pub operations: Option<u64>,
    /// Of what was done: the same under every side.
    checksum: u64,
}

impl Run {
    /// Whether the other run did the same work.
    pub fn did_the_same_as(&self, other: &Self) -> bool {
        (self.operations, self.checksum) == (other.operations, other.checksum)
    }
}

impl Subject {
    /// The program and its arguments.
    pub fn program(words: &[OsString], show: bool, ignore_exit: bool) -> anyhow::Result<Self> {
        let (name, args) = words.split_first().context("no program was named")?;
        let path = program::resolve(name)?;
        if let Some(reason) = warnings::of(&program::image(&path)).first() {
            bail!("`{}` {reason}. Remedy: measure a program that LD_PRELOAD reaches", name.display());
        }
        let directory = tempfile::tempdir().or_remedy(|| "cannot make a temporary directory", "see to TMPDIR")?;
        let (name, args) = (name.clone(), args.to_vec());
        Ok(Self::Program(Program { name, path, args, show, ignore_exit, directory }))
    }

    /// What it is called in tables.
    pub fn name(&self) -> String {
        match self {
            Self::Workload(workload, _) => workload.name.into(),
            Self::Program(program) => program.name.to_string_lossy().into_owned(),
        }
    }

    /// What it is, in words.
    pub fn description(&self) -> String {
        match self {
            Self::Workload(workload, 1.0) => format!("workload {}", workload.name),
            Self::Workload(workload, scale) => format!("workload {} at scale {scale}", workload.name),
            Self::Program(program) => format!("program {}", program.name.display()),
        }
    }

    /// How much of the workload is run.
    pub fn scale(&self) -> Option<f64> {
        match self {
            Self::Workload(_, scale) => Some(*scale),
            Self::Program(_) => None,
        }
    }

    /// One run under `side`, which is proven to be what it claims where the subject can tell.
    pub fn run(&self, side: &Side) -> anyhow::Result<Run> {
        match self {
            Self::Workload(workload, scale) => Ok(run_workload(workload, *scale, side)?.0),
            Self::Program(program) => program.run(side, OsStr::new("")),
        }
    }

    /// A run that does not count: it proves that `side` is what it claims, and tells where its `malloc` lies.
    pub fn prove(&self, side: &Side) -> anyhow::Result<PathBuf> {
        let malloc = match self {
            Self::Workload(workload, scale) => run_workload(workload, scale.min(TRIAL), side)?.1,
            Self::Program(program) => program.prove(side)?,
        };
        Ok(malloc.path)
    }
}

/// This executable, even if another one has taken its place since.
pub fn this_executable() -> PathBuf {
    format!("/proc/{}/exe", std::process::id()).into()
}

/// Runs the driver, and proves that it used the `malloc` of `side`.
fn run_workload(workload: &Workload, scale: f64, side: &Side) -> anyhow::Result<(Run, Mapping)> {
    let mut command = Command::new(this_executable());
    command.args([driver::COMMAND, workload.name, "--scale", &scale.to_string()]);
    clean(&mut command);
    if let Some(library) = &side.library {
        command.env("LD_PRELOAD", library);
    }
    let output =
        command.stdin(Stdio::null()).output().or_remedy(|| "cannot start this executable again", "try again")?;
    let what = format!("workload {} under {}", workload.name, side.name);
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(&what, output.status, &errors, "see whether the library is whole; another scale may do"));
    }
    let line: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let (run, malloc, damaged) = understood(&line).with_context(|| {
        format!("{what} printed something else than its result. Remedy: see what the library prints on stdout")
    })?;
    // The loader's complaint about a library that it could not load is the best explanation.
    proof::check(side, &malloc, &what).map_err(|error| match errors.lines().next() {
        Some(complaint) => error.context(complaint.to_owned()),
        None => error,
    })?;
    if damaged > 0 {
        bail!("{what}: {damaged} blocks were not found as they were left. Remedy: do not use this allocator");
    }
    Ok((run, malloc))
}

/// An environment in which no allocator finds options. A library may need others from where the loader is told to look.
pub fn clean(command: &mut Command) {
    command.env_clear();
    if let Some(directories) = env::var_os("LD_LIBRARY_PATH") {
        command.env("LD_LIBRARY_PATH", directories);
    }
}

/// The driver's line.
fn understood(line: &Value) -> Option<(Run, Mapping, u64)> {
    let run = Run {
        seconds: line["seconds"].as_f64()?,
        peak_rss_kb: line["peak_rss_kb"].as_f64()?,
        operations: Some(line["operations"].as_u64()?),
        checksum: line["checksum"].as_u64()?,
    };
    Some((run, Mapping::from_json(&line["malloc"])?, line["damaged"].as_u64()?))
}

impl Program {
    fn run(&self, side: &Side, bindings: &OsStr) -> anyhow::Result<Run> {
        let (result, errors) = (self.directory.path().join("result"), self.directory.path().join("errors"));
        let library = side.library.as_deref().map(Path::as_os_str).unwrap_or_default();
        let mut command = Command::new(this_executable());
        command.arg(launch::COMMAND).arg(&result).arg(if self.show { launch::SHOW } else { launch::HIDE });
        command.args([library, bindings]).args([self.path.as_os_str(), &self.name]).args(&self.args);
        command.env_remove("LD_PRELOAD").stdin(Stdio::null());
        if !self.show {
            command.stderr(File::create(&errors)?);
        }
        let what = format!("`{}` under {}", self.name.display(), side.name);
        let status = command.status().or_remedy(|| "cannot start this executable again", "try again")?;
        let said = || String::from_utf8_lossy(&fs::read(&errors).unwrap_or_default()).into_owned();
        if !status.success() {
            return Err(failed(&what, status, &said(), "see whether it can be started"));
        }
        let line: Value = serde_json::from_slice(&fs::read(&result)?).unwrap_or_default();
        let (Some(seconds), Some(peak_rss_kb)) = (line["seconds"].as_f64(), line["peak_rss_kb"].as_f64()) else {
            bail!("{what} left no result. Remedy: see whether the disk is full");
        };
        if line["code"] != 0 && !self.ignore_exit {
            let code = line["code"].as_i64().unwrap_or(0) as i32;
            let status = line["signal"].as_i64().map_or(code << 8, |signal| signal as i32);
            let remedy = "see what it needs (--show shows its output); if its exit code means something else, pass \
                          --ignore-exit";
            return Err(failed(&what, ExitStatus::from_raw(status), &said(), remedy));
        }
        Ok(Run { seconds, peak_rss_kb, operations: None, checksum: 0 })
    }

    fn prove(&self, side: &Side) -> anyhow::Result<Mapping> {
        let bindings = TempDir::new_in(self.directory.path())?;
        self.run(side, bindings.path().as_os_str())?;
        proof::check_bindings(side, bindings.path(), &self.name.to_string_lossy())
    }
}

/// That a process failed, and its last words.
fn failed(what: &str, status: ExitStatus, errors: &str, remedy: &str) -> anyhow::Error {
    if let Err(interrupted) = interrupt::check() {
        return interrupted;
    }
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with exit code {code}"),
        (None, Some(_)) => format!("crashed ({status})"),
        (None, None) => format!("failed ({status})"),
    };
    let last: Vec<_> = errors.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    let last: String = last.iter().rev().map(|line| format!("\nhakmem: | {line}")).collect();
    anyhow::anyhow!("{what} {how}. Remedy: {remedy}{last}")
}

//! The gate: measures everything and compares it with `limits.md`.
//!
//! Exit code 0 if nothing differs that may not, 1 otherwise; the message ends with the command that records what is
//! right as it is.

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use hakmem::PRESETS;
use instructions::limits::{COMMAND, Cell, Cells, Difference, Limits, report};
use instructions::operation::{Measurement, SHARE, id, measured_as};
use instructions::profile;
use std::ffi::OsString;
use std::fs::File;
use std::iter::once;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use std::{env, fs, io, thread};

/// The version of iai-callgrind's runner, which has to be that of the library in Cargo.toml.
const RUNNER: &str = "0.16.1";

/// Counts the instructions of every call of every preset, and compares them with benches/instructions/limits.md.
#[derive(Parser)]
#[command(bin_name = COMMAND)]
struct Arguments {
    /// Record falls, and rows and columns that are new or gone
    #[arg(long)]
    update: bool,
    /// Record rises as well
    #[arg(long, requires = "update")]
    rises: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("gate: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// This package.
fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Measures and compares. The result is whether the table holds, or holds now.
fn run(arguments: &Arguments) -> Result<bool> {
    let path = package().join("limits.md");
    let recorded = match fs::read_to_string(&path) {
        Ok(text) => Limits::parse(&text).with_context(|| path.display().to_string())?,
        // Then everything is new.
        Err(_) => Limits::default(),
    };
    let start = Instant::now();
    let measured = Limits { compiler: compiler()?, cells: measure()? };
    println!("{} numbers in {} s", measured.cells.len(), start.elapsed().as_secs());

    let differences = recorded.compare(&measured);
    print!("{}", report(&differences));
    let rise = differences.values().any(|difference| matches!(difference, Difference::Rise(..)));
    if arguments.update && (arguments.rises || !rise) {
        fs::write(&path, measured.text()).with_context(|| path.display().to_string())?;
        println!("recorded in {}", path.display());
        return Ok(true);
    }
    if recorded.compiler != measured.compiler {
        println!(
            "limits.md was recorded with {}, this is {}: the limits have leeway",
            recorded.compiler, measured.compiler
        );
    }
    if differences.is_empty() {
        println!("the limits hold");
        return Ok(true);
    }
    if rise {
        println!("\nCalls take more instructions than before. If that is for a reason, record it:\n");
        println!("    {COMMAND} -- --update --rises");
    } else {
        println!("\nThe table does not say so. Record it:\n\n    {COMMAND} -- --update");
    }
    Ok(false)
}

/// The compiler's name and version.
fn compiler() -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().context("rustc does not start")?;
    Ok(String::from_utf8(output.stdout).context("the version of rustc")?.trim().to_owned())
}

/// Every number of the table as it is now.
fn measure() -> Result<Cells> {
    let home = run_benchmark()?;
    let counts = profile::read(&home)?;
    let mut cells = Cells::new();
    for preset in PRESETS {
        for Measurement { operation, column } in Measurement::all() {
            let name = (operation.id().to_owned(), id(measured_as(preset).name, column));
            let count = counts.get(&name).with_context(|| format!("no count of {name:?}"))?;
            let key = (operation.title().into(), operation.columns()[column].into(), preset.name.into());
            cells.insert(key, Cell::per_call(*count, operation.calls()));
        }
    }
    Ok(cells)
}

/// Runs the benchmark, in as many processes as there are processors, and returns the directory with its summaries.
fn run_benchmark() -> Result<PathBuf> {
    let path = path_with_runner()?;
    // Beside this program, in the target directory. What an earlier run left there is not this one's.
    let home = env::current_exe()?.with_file_name("iai");
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| home.display().to_string())?;
    }
    fs::create_dir_all(&home).with_context(|| home.display().to_string())?;
    let cargo = || {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["bench", "--locked", "--bench", "calls", "--manifest-path"]);
        command.arg(package().join("Cargo.toml")).env("PATH", &path);
        command
    };
    // At first, because cargo has the others wait for it.
    let built = cargo().arg("--no-run").status().context("cargo does not start")?;
    ensure!(built.success(), "the benchmark does not build");
    let shares = thread::available_parallelism().map_or(1, NonZero::get);
    let start = |share| {
        let log = File::create(home.join(format!("{share}.log")))?;
        let mut command = cargo();
        command.env(SHARE, format!("{share}/{shares}"));
        command.env("IAI_CALLGRIND_HOME", &home).env("IAI_CALLGRIND_SAVE_SUMMARY", "json");
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()
    };
    let started = (0..shares).map(start).collect::<io::Result<Vec<_>>>().context("the benchmark does not start")?;
    for (share, mut child) in started.into_iter().enumerate() {
        if !child.wait()?.success() {
            bail!("{}", fs::read_to_string(home.join(format!("{share}.log")))?);
        }
    }
    Ok(home)
}

/// The search path with the directory that iai-callgrind's runner is installed in, once all that is needed is there.
fn path_with_runner() -> Result<OsString> {
    let tools = package().join("../../target/tools/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(once(tools).chain(env::split_paths(&path))).context("PATH")?;
    let found = |program: &str| env::split_paths(&path).any(|directory| directory.join(program).is_file());
    ensure!(found("valgrind"), "valgrind is not installed. Remedy: apt-get install valgrind");
    ensure!(
        found("iai-callgrind-runner"),
        "iai-callgrind-runner is not installed. Remedy, from the repository's root: \
         cargo install iai-callgrind-runner --version ={RUNNER} --locked --root target/tools"
    );
    Ok(path)
}

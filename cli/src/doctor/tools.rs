//! The programs that building, testing and measuring need, and the sources. Looking for them and judging are apart.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::check::Check;

/// The oldest Rust that builds hakmem.
const RUST: &str = env!("CARGO_PKG_RUST_VERSION");
/// The version of iai-callgrind's runner that benches/instructions asks for. Another one refuses to work with it.
const RUNNER: &str = "0.16.1";

/// What a program says about its version.
#[derive(Clone, Debug, PartialEq)]
pub enum Tool {
    Missing,
    /// It starts and fails.
    Broken(String),
    /// What it printed, the first line of it.
    Version(String),
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Tools {
    /// Where the sources are, if they are where they were when this command was built.
    pub sources: Option<PathBuf>,
    pub cargo: Tool,
    pub rustc: Tool,
    pub cc: Tool,
    pub valgrind: Tool,
    pub runner: Tool,
    pub gdb: Tool,
    pub perf: Tool,
}

impl Tools {
    /// Asks each.
    pub fn find(sources: Option<&Path>) -> Self {
        let find = |name: &str| version(name, sources);
        let local = sources.map(|sources| sources.join("target/tools/bin/iai-callgrind-runner"));
        let local =
            local.and_then(|path| path.to_str().map(Into::into)).filter(|path: &String| Path::new(path).exists());
        let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
        Self {
            sources: sources.map(Into::into),
            cargo: find(&cargo),
            rustc: find("rustc"),
            cc: find("cc"),
            valgrind: find("valgrind"),
            // It is started by a benchmark and by nobody else: it names its version and fails.
            runner: match find(local.as_deref().unwrap_or("iai-callgrind-runner")) {
                Tool::Broken(said) if number(&said).is_some() => Tool::Version(said),
                other => other,
            },
            gdb: find("gdb"),
            perf: find("perf"),
        }
    }

    /// What follows.
    pub fn judge(&self) -> Vec<Check> {
        vec![
            self.sources(),
            self.rust("cargo", &self.cargo),
            self.rust("rustc", &self.rustc),
            self.compiler(),
            optional(
                "valgrind",
                &self.valgrind,
                "tests that count instructions need it",
                "install it (Debian: valgrind)",
            ),
            self.runner(),
            optional("gdb", &self.gdb, "for debugging only", "install it (Debian: gdb)"),
            optional("perf", &self.perf, "for profiling only", "install it (Debian: linux-perf)"),
        ]
    }

    fn sources(&self) -> Check {
        match &self.sources {
            Some(path) => Check::ok("sources", path.display().to_string()),
            None => {
                Check::note("sources", "not where they were when this command was built: it cannot build libraries")
                    .remedy("build the command again where the sources are now (cargo build --release)")
            }
        }
    }

    fn rust(&self, name: &'static str, tool: &Tool) -> Check {
        let version = match tool {
            Tool::Version(version) => version,
            other => return optional(name, other, "`hakmem build` needs it", "install Rust (https://rustup.rs)"),
        };
        match number(version).zip(number(RUST)) {
            Some((found, least)) if found < least => {
                Check::problem(name, format!("{version}, which is too old"), format!("install Rust {RUST} or later"))
            }
            _ => Check::ok(name, version),
        }
    }

    fn compiler(&self) -> Check {
        let effect = "cargo needs it to link";
        let check = optional("cc", &self.cc, effect, "install a C compiler (Debian: gcc, libc6-dev)");
        match (&self.cc, &self.cargo) {
            // The one without the other is of no use.
            (Tool::Missing, Tool::Version(_)) => Check::problem("cc", check.found, check.remedy.unwrap_or_default()),
            _ => check,
        }
    }

    fn runner(&self) -> Check {
        let name = "iai-callgrind-runner";
        let remedy = format!("`cargo install iai-callgrind-runner --version {RUNNER} --locked`");
        match &self.runner {
            Tool::Version(said) => match number(said).map(dotted) {
                Some(version) if version == RUNNER => Check::ok(name, version),
                Some(version) => Check::note(name, format!("{version}, and {RUNNER} is wanted")).remedy(remedy),
                None => Check::note(name, format!("of an unknown version: {said}")).remedy(remedy),
            },
            other => optional(name, other, "benches/instructions needs it", &remedy),
        }
    }
}

/// A program without which the rest works.
fn optional(name: &'static str, tool: &Tool, effect: &str, remedy: &str) -> Check {
    match tool {
        Tool::Version(version) => Check::ok(name, version),
        Tool::Missing => Check::note(name, format!("not installed: {effect}")).remedy(remedy),
        Tool::Broken(said) => Check::note(name, format!("does not work ({said}): {effect}")).remedy(remedy),
    }
}

/// Asks a program for its version; in `directory`, where another one may be configured.
fn version(name: &str, directory: Option<&Path>) -> Tool {
    let mut command = Command::new(name);
    command.arg("--version").stdin(Stdio::null()).env_remove("LD_PRELOAD");
    directory.into_iter().for_each(|directory| _ = command.current_dir(directory));
    let Ok(output) = command.output() else { return Tool::Missing };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().next().unwrap_or_default().trim().to_owned();
    match output.status.success() {
        true => Tool::Version(text(&output.stdout)),
        false => Tool::Broken(text(&output.stderr)),
    }
}

/// The first number of the form 1.2 or 1.2.3 in a text.
fn number(text: &str) -> Option<(u32, u32, u32)> {
    text.split(|char: char| !char.is_ascii_digit() && char != '.').find_map(|word| {
        let mut parts = word.split('.').map(|part| part.parse().ok());
        Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
    })
}

fn dotted((major, minor, patch): (u32, u32, u32)) -> String {
    format!("{major}.{minor}.{patch}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::check::State;

    fn version(text: &str) -> Tool {
        Tool::Version(text.into())
    }

    fn all() -> Tools {
        Tools {
            sources: Some("/src/hakmem".into()),
            cargo: version("cargo 1.95.0 (f2d3ce0bd 2026-03-21)"),
            rustc: version("rustc 1.88.0"),
            cc: version("cc (Debian 12.2.0-14) 12.2.0"),
            valgrind: version("valgrind-3.19.0"),
            runner: version("iai-callgrind-runner (0.16.1) is >= '0.3.0'"),
            gdb: version("GNU gdb (Debian 13.1-3) 13.1"),
            perf: version("perf version 6.1.187"),
        }
    }

    #[track_caller]
    fn judged(tools: Tools, name: &str) -> Check {
        let mut checks = tools.judge();
        let check = checks.swap_remove(checks.iter().position(|check| check.name == name).unwrap());
        assert!(check.state == State::Ok || check.remedy.is_some(), "{check:?}");
        check
    }

    #[test]
    fn what_is_there_and_new_enough_is_all_right() {
        let checks = all().judge();
        assert!(checks.iter().all(|check| check.state == State::Ok), "{checks:?}");
        assert_eq!(judged(all(), "iai-callgrind-runner").found, "0.16.1");
    }

    #[test]
    fn a_rust_that_is_too_old_is_a_problem() {
        for old in ["cargo 1.87.0 (x)", "cargo 1.9.0"] {
            let check = judged(Tools { cargo: version(old), ..all() }, "cargo");
            assert_eq!(check.state, State::Problem, "{check:?}");
        }
        assert_eq!(judged(Tools { cargo: version("cargo 2.0.0"), ..all() }, "cargo").state, State::Ok);
        assert_eq!(judged(Tools { rustc: version("rustc 1.87.0"), ..all() }, "rustc").state, State::Problem);
    }

    #[test]
    fn a_linker_is_needed_where_there_is_a_cargo() {
        assert_eq!(judged(Tools { cc: Tool::Missing, ..all() }, "cc").state, State::Problem);
        assert_eq!(judged(Tools { cc: Tool::Missing, cargo: Tool::Missing, ..all() }, "cc").state, State::Note);
    }

    #[test]
    fn what_is_missing_otherwise_is_a_note() {
        let missing = || Tool::Missing;
        let tools = Tools { sources: None, cargo: missing(), rustc: missing(), valgrind: missing(), ..all() };
        let tools =
            Tools { runner: missing(), gdb: missing(), perf: Tool::Broken("no perf for this kernel".into()), ..tools };
        for name in ["sources", "cargo", "rustc", "valgrind", "iai-callgrind-runner", "gdb", "perf"] {
            assert_eq!(judged(tools.clone(), name).state, State::Note, "{name}");
        }
        for other in ["iai-callgrind-runner (0.16.0) is", "iai-callgrind-runner"] {
            let check = judged(Tools { runner: version(other), ..all() }, "iai-callgrind-runner");
            assert!(check.state == State::Note && check.remedy.unwrap().contains("0.16"), "{other}");
        }
    }

    #[test]
    fn the_runner_is_the_one_that_the_benchmark_asks_for() {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/instructions/Cargo.toml");
        let manifest = std::fs::read_to_string(manifest).unwrap();
        assert!(manifest.contains(&format!("\niai-callgrind = \"={RUNNER}\"\n")), "{manifest}");
    }

    #[test]
    fn numbers_are_found_in_what_programs_say() {
        assert_eq!(number("cargo 1.95.0 (f2d3ce0bd 2026-03-21)"), Some((1, 95, 0)));
        assert_eq!(number("1.88"), Some((1, 88, 0)));
        assert_eq!(number("valgrind-3.19.0"), Some((3, 19, 0)));
        assert_eq!(number("no 3 numbers."), None);
    }

    #[test]
    fn a_program_is_asked_for_its_version() {
        assert_eq!(super::version("/no/such/program", None), Tool::Missing);
        assert!(matches!(super::version("false", None), Tool::Broken(_)));
    }
}

//! Whether LD_PRELOAD works: this executable starts itself as `hakmem run` starts programs, and shows what was loaded.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::check::Check;
use crate::preset::{self, Choice};
use crate::{library, text, warnings};

const NAME: &str = "preload";
/// This executable, even if another one has its path by now.
const OWN: &str = "/proc/self/exe";
/// What this executable is asked for when it is a probe. No command for people.
const PROBE: &str = "doctor-probe";

/// What was found.
pub struct Preload {
    /// The library of the standard preset, or why there is none.
    library: Result<PathBuf, String>,
    /// What became of the probe.
    probe: Option<Probe>,
    /// LD_PRELOAD as it is here.
    existing: Option<OsString>,
    /// Why this executable itself would run without hakmem.
    own: Vec<&'static str>,
}

/// What became of a program that was started under the library.
struct Probe {
    /// It ended as it should.
    success: bool,
    /// What was mapped in it.
    maps: Vec<u8>,
    /// What the loader, or hakmem, had to say.
    said: String,
}

/// Is the probe, if this process was started as that.
pub fn probe() -> Option<ExitCode> {
    if env::args_os().nth(1)? != PROBE {
        return None;
    }
    let maps = fs::read_to_string("/proc/self/maps").map_err(anyhow::Error::from);
    let code = if maps.and_then(|maps| text::print(&maps)).is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    Some(code)
}

impl Preload {
    /// Finds or builds the library, and starts the probe.
    pub fn try_out() -> Self {
        let library = library::of_preset(&standard()).map_err(|error| format!("{error:#}"));
        let probe = library.as_ref().ok().map(|library| Probe::start(library));
        let own = env::current_exe().map(|path| warnings::of(&path)).unwrap_or_default();
        Self { library, probe, existing: env::var_os("LD_PRELOAD"), own }
    }

    /// What follows.
    pub fn judge(&self) -> Vec<Check> {
        vec![self.works(), self.existing(), secure()]
    }

    fn works(&self) -> Check {
        let (library, probe) = match (&self.library, &self.probe) {
            (Ok(library), Some(probe)) => (library, probe),
            (Err(message), _) => return Check::failure(NAME, message),
            (Ok(_), None) => return Check::problem(NAME, "was not tried out", "try again"),
        };
        let path = library.display();
        if probe.success && is_mapped(&probe.maps, library) {
            return Check::ok(NAME, format!("works: a program has {path} in it"));
        }
        let said = if probe.said.is_empty() { String::new() } else { format!(": {}", probe.said) };
        match self.own.first() {
            _ if !probe.success => {
                let remedy = format!("build the library again: remove {path}");
                Check::problem(NAME, format!("a program under {path} does not end well{said}"), remedy)
            }
            Some(reason) => {
                Check::problem(NAME, format!("this executable {reason}"), "install it without these rights")
            }
            None => {
                let remedy =
                    "see whether the program's user may read the library, and whether its file system is noexec";
                Check::problem(NAME, format!("the loader did not load {path}{said}"), remedy)
            }
        }
    }

    fn existing(&self) -> Check {
        match self.existing.as_deref().filter(|existing| !existing.is_empty()) {
            None => Check::ok("ld-preload", "not set"),
            Some(existing) => Check::note(
                "ld-preload",
                format!("set to {}: `hakmem run` keeps it, behind its own library", existing.display()),
            ),
        }
    }
}

/// True of every system, and no news to those who know it.
fn secure() -> Check {
    Check::note(
        "secure-execution",
        "programs that gain rights when they start (set-user-ID, set-group-ID, file capabilities) run without hakmem: the \
         loader ignores LD_PRELOAD there",
    )
}

/// The standard preset.
fn standard() -> Choice {
    let standard =
        Choice::all().into_iter().find(|choice| matches!(choice, Choice::Own(own) if own.name == preset::DEFAULT));
    standard.expect("it is one of the presets")
}

impl Probe {
    fn start(library: &Path) -> Self {
        let mut command = Command::new(OWN);
        command.args(["run", "--lib"]).arg(library).args(["--", OWN, PROBE]).stdin(Stdio::null());
        match command.output() {
            Ok(output) => Self {
                success: output.status.success(),
                said: String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "),
                maps: output.stdout,
            },
            Err(error) => Self { success: false, said: error.to_string(), maps: Vec::new() },
        }
    }
}

/// Whether a line of the maps names the library.
fn is_mapped(maps: &[u8], library: &Path) -> bool {
    let path = [b" ", library.as_os_str().as_bytes()].concat();
    maps.split(|&byte| byte == b'\n').any(|line| line.ends_with(&path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::check::State;

    const MAPS: &[u8] = b"7f00-7f01 r-xp 00000000 08:01 1   /lib/libhakmem-mixed.so\n7f02-7f03 rw-p 00000000 00:00 0\n";

    fn preload(maps: &[u8], success: bool, said: &str) -> Preload {
        let probe = Probe { success, maps: maps.into(), said: said.into() };
        Preload { library: Ok("/lib/libhakmem-mixed.so".into()), probe: Some(probe), existing: None, own: vec![] }
    }

    #[track_caller]
    fn assert_judged(preload: &Preload, state: State, said: &str) {
        let check = preload.works();
        assert!(check.state == state && check.found.contains(said), "{check:?}");
        assert_eq!(check.remedy.is_some(), state == State::Problem, "{check:?}");
    }

    #[test]
    fn a_library_that_is_mapped_works() {
        assert_judged(&preload(MAPS, true, ""), State::Ok, "works");
        assert_judged(
            &preload(b"", true, "ERROR: ld.so: ignored"),
            State::Problem,
            "did not load /lib/libhakmem-mixed.so: ERROR",
        );
        assert_judged(&preload(MAPS, false, ""), State::Problem, "does not end well");
        let rights = Preload { own: vec!["is set-user-ID"], ..preload(b"", true, "") };
        assert_judged(&rights, State::Problem, "this executable is set-user-ID");
        assert!(!is_mapped(MAPS, Path::new("/libhakmem-mixed.so")));
        assert!(!is_mapped(MAPS, Path::new("/lib/libhakmem")));
    }

    #[test]
    fn no_library_is_a_problem_with_its_own_remedy() {
        let none =
            Preload { library: Err("there is none. Remedy: build one".into()), probe: None, ..preload(b"", true, "") };
        assert_judged(&none, State::Problem, "there is none.");
        assert_eq!(none.works().remedy.as_deref(), Some("build one"));
    }

    #[test]
    fn what_is_preloaded_already_is_told() {
        let existing = |value: &str| Preload { existing: Some(value.into()), ..preload(MAPS, true, "") }.existing();
        assert_eq!(existing("").state, State::Ok);
        let check = existing("/lib/other.so");
        assert!(check.state == State::Note && check.found.contains("/lib/other.so"), "{check:?}");
    }

    #[test]
    fn the_standard_preset_is_there() {
        assert_eq!(standard().preset().unwrap().name, preset::DEFAULT);
    }
}

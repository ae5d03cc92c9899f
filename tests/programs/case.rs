//! One program: its two runs, what they leave behind, and the proof that the second ran under hakmem.

use crate::process::{Process, clean};
use crate::support::{self, Output};
use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Programs that CI does not run because they would take it past its time, each with the reason. All fit today.
const LEFT_OUT_OF_CI: &[(&str, &str)] = &[];

/// The name of an executable, and a command that runs it.
pub type Probe<'a> = (&'a str, &'a [&'a str]);

/// Functions that say in the linker's log who serves a program; `free` alone also serves a foreign block.
const ALLOCATING: [&str; 3] = ["`malloc'", "`calloc'", "`realloc'"];

/// A program and how it is shown to run under hakmem.
pub struct Case<'a> {
    /// What users call it.
    pub name: &'a str,
    /// What the test has it do, in a few words.
    pub did: &'a str,
    /// The executables that have to be installed.
    pub needs: &'a [&'a str],
    /// Short runs, in each of which a program of the given name has to be served by hakmem; another may start it.
    pub probes: &'a [Probe<'a>],
    /// Whether the executable brings a malloc of its own, which then serves it: hakmem is only loaded.
    pub own_malloc: bool,
}

/// Says that `what` is missing.
///
/// # Panics
/// Under CI.
pub fn missing(what: &str) {
    assert!(std::env::var_os("CI").is_none(), "{what} is not installed, and CI leaves no test out");
    support::skip(&format!("{what} not installed"));
}

impl Case<'_> {
    /// Whether the program is to be tried here; if not, the reason was printed.
    pub fn possible(&self) -> bool {
        if let Some((_, reason)) = LEFT_OUT_OF_CI.iter().find(|(name, _)| *name == self.name)
            && std::env::var_os("CI").is_some()
        {
            println!("left out of CI: {}, {reason}", self.name);
            return false;
        }
        self.needs.iter().all(|program| support::installed(program))
    }

    /// Does `work` without hakmem and with it, in two directories that have the same path in turn, and compares what
    /// the two runs recorded.
    #[track_caller]
    pub fn check(&self, work: impl Fn(&Run)) {
        if !self.possible() {
            return;
        }
        let base = Base::new();
        for (name, probe) in self.probes {
            base.prove(name, probe, self.own_malloc);
        }
        let plain = base.run(None, &work);
        let preloaded = base.run(Some(&base.library), &work);
        assert_same(&plain, &preloaded);
        println!("case: {} | {} | ok", self.name, self.did);
    }
}

/// The temporary directory of a case, with a copy of the library that every user may read.
struct Base {
    dir: TempDir,
    library: PathBuf,
}

impl Base {
    fn new() -> Self {
        let dir = tempfile::Builder::new().permissions(open_to_all()).tempdir().expect("a temporary directory");
        let library = dir.path().join("libhakmem.so");
        fs::copy(support::library(), &library).expect("the library can be copied");
        fs::set_permissions(&library, open_to_all()).expect("the copy is the tests' own");
        Self { dir, library }
    }

    fn run(&self, library: Option<&Path>, work: impl Fn(&Run)) -> Vec<Record> {
        let dir = self.dir.path().join("run");
        let logs = self.dir.path().join(if library.is_some() { "logs" } else { "logs-plain" });
        fs::create_dir(&dir).expect("not there yet");
        fs::create_dir(&logs).expect("not there yet");
        let run = Run {
            dir,
            logs,
            library: library.map(Path::to_path_buf),
            records: RefCell::default(),
            commands: Cell::default(),
        };
        work(&run);
        fs::rename(&run.dir, run.logs.join("run")).expect("both lie in the same directory");
        let records = run.records.into_inner();
        assert!(!records.is_empty(), "nothing to compare");
        records
    }

    /// Has the dynamic linker tell that `name`, which `probe` runs, gets its memory from hakmem.
    #[track_caller]
    fn prove(&self, name: &str, probe: &[&str], own_malloc: bool) {
        let home = TempDir::new_in(&self.dir).expect("a directory");
        let mut command = Command::new(probe[0]);
        clean(&mut command, home.path());
        command.args(&probe[1..]).env("LD_PRELOAD", &self.library);
        command.env("LD_DEBUG", "libs,bindings").env("LD_DEBUG_OUTPUT", home.path().join("ld"));
        let output = Process::start(command, home.path(), libc::SIGKILL).finish();
        assert_eq!(output.status.signal(), None, "{probe:?} crashed: {}\n{}", output.status, output.stderr);
        let mut programs = Vec::new();
        for entry in fs::read_dir(home.path()).expect("it was made above") {
            let path = entry.expect("a readable entry").path();
            if path.file_stem() == Some(OsStr::new("ld")) {
                programs.extend(started(&fs::read_to_string(path).expect("a log of the linker"), &self.library));
            }
        }
        let proven = programs.iter().any(|program| {
            Path::new(&program.path).ends_with(name) && program.loaded && (program.served || own_malloc)
        });
        assert!(proven, "{probe:?} does not run {name} under hakmem: {programs:?}");
    }
}

/// What the linker's log tells of one program.
#[derive(Debug, Default)]
struct Started {
    path: String,
    /// Whether it initialised hakmem.
    loaded: bool,
    /// Whether an allocation function of the program or of its libraries is hakmem's.
    served: bool,
}

/// The programs that a process was, one after the other, by the linker's log.
fn started(log: &str, library: &Path) -> Vec<Started> {
    let library = library.to_string_lossy();
    let own = format!("binding file {library} ");
    let bound = format!(" to {library} ");
    let init = format!("calling init: {library}");
    let mut programs: Vec<Started> = Vec::new();
    let mut next = Started::default();
    for line in log.lines() {
        let serves = line.contains(&bound) && !line.contains(&own) && ALLOCATING.iter().any(|name| line.contains(name));
        if line.ends_with(&init) {
            next.loaded = true;
        } else if let Some((_, path)) = line.split_once("initialize program: ") {
            path.clone_into(&mut next.path);
            programs.push(std::mem::take(&mut next));
        } else if serves {
            // Functions are bound before the program starts or when it first calls them. The log does not say where an
            // `exec` lies between the two, so a line counts for both programs; no probe replaces the program it is for.
            next.served = true;
            if let Some(running) = programs.last_mut() {
                running.served = true;
            }
        }
    }
    programs
}

/// The command without its environment.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn open_to_all() -> fs::Permissions {
    fs::Permissions::from_mode(0o755)
}

/// What one run left behind.
struct Record {
    what: String,
    bytes: Vec<u8>,
}

/// Fails where the second run left something else than the first.
#[track_caller]
fn assert_same(plain: &[Record], preloaded: &[Record]) {
    for (a, b) in plain.iter().zip(preloaded) {
        assert_eq!(a.what, b.what, "the runs took different ways");
        if a.bytes != b.bytes {
            let (a_text, b_text) = (String::from_utf8_lossy(&a.bytes), String::from_utf8_lossy(&b.bytes));
            let differs = a_text.lines().zip(b_text.lines()).find(|(x, y)| x != y);
            let (x, y) = differs.unwrap_or((a_text.as_ref(), b_text.as_ref()));
            let cut = |text: &str| text.chars().take(400).collect::<String>();
            panic!("{} differs\nplain:  {}\nhakmem: {}", a.what, cut(x), cut(y));
        }
    }
    assert_eq!(plain.len(), preloaded.len(), "one run did less than the other");
}

/// One of the two runs.
pub struct Run {
    dir: PathBuf,
    logs: PathBuf,
    library: Option<PathBuf>,
    records: RefCell<Vec<Record>>,
    commands: Cell<u32>,
}

impl Run {
    /// A file of the run's directory, which has the same path in both runs.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Writes a file there.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it lies in the run's directory")).expect("a writable directory");
        fs::write(path, text).expect("a writable directory");
    }

    /// Copies `name` there from `tests/programs/scripts`.
    pub fn script(&self, name: &str) {
        let source = support::root().join("tests/programs/scripts").join(name);
        fs::copy(&source, self.path(name)).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    }

    /// `program` with the environment of the run.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        clean(&mut command, &self.dir);
        if let Some(library) = &self.library {
            command.env("LD_PRELOAD", library);
        }
        command
    }

    /// Starts a server that ends in good order at `signal`.
    pub fn serve(&self, command: Command, signal: i32) -> Process {
        let logs = self.logs.join(self.commands.get().to_string());
        self.commands.set(self.commands.get() + 1);
        fs::create_dir(&logs).expect("a new directory");
        Process::start(command, &logs, signal)
    }

    /// Runs `command` to its end, which has to be a good one, and records nothing.
    #[track_caller]
    pub fn finish(&self, command: Command) -> Output {
        let what = words(&command);
        let output = self.serve(command, libc::SIGKILL).finish();
        self.assert_sound(&what, &output);
        output
    }

    /// Fails if a program did not end well, or if hakmem or the dynamic linker complained.
    #[track_caller]
    pub fn assert_sound(&self, what: &str, output: &Output) {
        let complaint = ["hakmem: ", "cannot be preloaded"].iter().any(|text| output.stderr.contains(text));
        assert!(
            output.status.success() && !complaint,
            "{} {what}\n{}\nstdout: {}\nstderr: {}",
            if self.library.is_some() { "under hakmem:" } else { "without hakmem:" },
            output.status,
            output.stdout,
            output.stderr
        );
    }

    /// Runs `program` and records all that it wrote.
    #[track_caller]
    pub fn compared<A: AsRef<OsStr>>(&self, program: &str, args: &[A]) {
        let mut command = self.command(program);
        command.args(args);
        self.compared_command(command);
    }

    /// [`Run::compared`] for a command with more to it.
    #[track_caller]
    pub fn compared_command(&self, command: Command) {
        let what = words(&command);
        let output = self.finish(command);
        self.record(&format!("stdout of {what}"), output.stdout);
        self.record(&format!("stderr of {what}"), output.stderr);
    }

    /// Records the contents of a file, of a large one what stands for them.
    #[track_caller]
    pub fn file(&self, name: &str) {
        const LARGE: usize = 1 << 20;
        let mut bytes = fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        if bytes.len() > LARGE {
            let mut hasher = DefaultHasher::new();
            hasher.write(&bytes);
            bytes = format!("{} bytes that hash to {:x}", bytes.len(), hasher.finish()).into_bytes();
        }
        self.record(name, bytes);
    }

    /// Records something that both runs have to leave alike.
    pub fn record(&self, what: &str, bytes: impl Into<Vec<u8>>) {
        self.records.borrow_mut().push(Record { what: what.to_owned(), bytes: bytes.into() });
    }

    /// Fails unless every process that wrote a line into the file `name` found out rightly whether `libhakmem` is among
    /// its own maps: `true` in the run under hakmem, `false` in the other.
    #[track_caller]
    pub fn assert_seen_inside(&self, name: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = self.library.is_some().to_string();
        assert!(!text.is_empty() && text.lines().all(|line| line == expected), "not {expected}: {text}");
    }

    /// Fails unless a running server has hakmem loaded in the run under hakmem, and only there.
    #[track_caller]
    pub fn assert_maps(&self, server: &Process) {
        assert_eq!(server.maps(Path::new("libhakmem.so")), self.library.is_some());
    }
}

#[test]
#[should_panic(expected = "differs")]
fn a_difference_between_the_runs_is_found() {
    let case = Case { name: "sh", did: "", needs: &["sh"], probes: &[], own_malloc: false };
    case.check(|run| run.compared("sh", &["-c", "echo same; echo ${LD_PRELOAD:+different}"]));
}

#[test]
#[should_panic(expected = "does not run cat under hakmem")]
fn a_program_that_loses_the_library_is_found() {
    let base = Base::new();
    base.prove("cat", &["env", "-u", "LD_PRELOAD", "cat", "/dev/null"], false);
}

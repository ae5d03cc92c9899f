//! The tools of the `hakmem` command: `stats`, `doctor` and `completions`, as a user runs them.
//!
//! The command is built once, where `tests/cli.rs` builds it, too. Its first `stats` builds the library that counts,
//! beside it. A program that counts as hanging has hung: no test concludes anything from shorter times.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a test waits for what has to come.
const HANGS: Duration = Duration::from_secs(60);

/// Allocates 100 blocks of 200 bytes and frees 40 of them; its argument says what it does besides.
const PROGRAM: &str = r#"
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>

    static void say(const char *text) { if (write(2, text, strlen(text)) < 0) abort(); }
    static void await_end_of_input(void) { char byte; while (read(0, &byte, 1) > 0); }

    int main(int argc, char **argv) {
        static void *blocks[100];
        const char *mode = argc > 1 ? argv[1] : "";
        for (int i = 0; i < 100; i++) blocks[i] = malloc(200);
        if (!strcmp(mode, "text")) { say("one\n\xff\xfe\thakmem[x]: free hit 3\nno end"); puts("out"); }
        if (!strcmp(mode, "wait")) { say("ready\n"); await_end_of_input(); }
        if (!strcmp(mode, "prompt")) { say("name> hak"); await_end_of_input(); }
        for (int i = 0; i < 40; i++) free(blocks[i]);
        if (!strcmp(mode, "fork")) {
            if (fork() == 0) { free(blocks[40]); exit(0); }
            wait(NULL);
        }
        if (!strcmp(mode, "abort")) { say("no end"); abort(); }
        if (!strcmp(mode, "_exit")) _exit(0);
        return 3;
    }
"#;

/// The command's executable, with the libraries of `run` and `stats` beside it: the first one of either builds its own, and
/// says so.
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
        for command in ["run", "stats"] {
            // That `true` prints no counters is no matter.
            let output = Command::new(&executable).args([command, "true"]).env_remove("LD_PRELOAD").output();
            assert!(!text(&output.unwrap().stderr).contains("cannot build"), "the library does not build");
        }
        executable
    })
}

/// The command without what the surroundings of the test preload.
fn hakmem<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(executable());
    command.args(args).env_remove("LD_PRELOAD").stdin(Stdio::null());
    command
}

fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    hakmem(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// hakmem failed with this code and said so, with a remedy.
#[track_caller]
fn assert_failed(output: &Output, code: i32, said: &str) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert_eq!(text(&output.stdout), "");
    assert!(message.contains("hakmem: ") && message.contains(said), "{message}");
    assert!(message.contains("Remedy: ") || message.contains("--help"), "{message}");
}

fn names(directory: &Path) -> Vec<String> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A directory with the program, and its path; None after saying why the test is skipped.
fn program(flags: &[&str]) -> Option<(TempDir, PathBuf)> {
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("program.c"), directory.path().join("program"));
    fs::write(&source, PROGRAM).unwrap();
    let reason = match Command::new("cc").args(flags).arg("-o").args([&program, &source]).output() {
        Err(_) => "cc not installed".into(),
        Ok(output) if !output.status.success() => format!("cc {flags:?} fails: {}", text(&output.stderr)),
        Ok(_) => {
            fs::remove_file(source).unwrap();
            return Some((directory, program));
        }
    };
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    println!("skipped: {reason}");
    None
}

/// `stats` with `args` on the program in its mode.
fn stats(args: &[&str], program: &Path, mode: &str) -> Command {
    let mut command = hakmem(["stats"]);
    command.args(args).arg("--").arg(program).arg(mode);
    command
}

/// The numbers in the row of the program's blocks, in every table.
fn rows(tables: &str) -> Vec<String> {
    let rows =
        tables.lines().filter(|line| line.starts_with("C5 ")).map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row[1] == "208").map(|row| row[2..].join(" ")).collect()
}

/// A command that runs, and what it has written to stderr.
struct Running {
    child: Child,
    pieces: Receiver<Vec<u8>>,
    seen: Vec<u8>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let mut stderr = child.stderr.take().unwrap();
        let (sender, pieces) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                _ = sender.send(bytes[..count].to_vec());
            }
        });
        Self { child, pieces, seen: Vec::new() }
    }

    /// Waits until `part` was written `times`.
    #[track_caller]
    fn until(&mut self, part: &str, times: usize) {
        while text(&self.seen).matches(part).count() < times {
            match self.pieces.recv_timeout(HANGS) {
                Ok(piece) => self.seen.extend(piece),
                Err(error) => panic!("no {part:?} ({error}):\n{}", text(&self.seen)),
            }
        }
    }

    fn send(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    /// Waits for the end of the command, while its input stays open.
    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < HANGS {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("it hangs:\n{}", text(&self.seen));
    }

    /// Ends the program's input; returns how the command ended and all that it wrote to stderr.
    #[track_caller]
    fn finish(mut self) -> (ExitStatus, Vec<u8>) {
        drop(self.child.stdin.take());
        let status = self.wait();
        self.seen.extend(self.pieces.iter().flatten());
        (status, std::mem::take(&mut self.seen))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After a failure it may still run.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn stats_counts_and_leaves_the_program_alone() {
    let Some((_directory, program)) = program(&[]) else { return };
    let output = stats(&[], &program, "text").output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), "out\n".into()), "{}", text(&output.stderr));
    let tables = output.stderr.strip_prefix(b"one\n\xff\xfe\thakmem[x]: free hit 3\nno end\n");
    let tables = text(tables.unwrap_or_else(|| panic!("{}", text(&output.stderr))));
    assert!(tables.starts_with("hakmem: counters of process ") && !tables.contains("hakmem["), "{tables}");
    assert!(tables.lines().next().unwrap().ends_with(" (program), at its end"), "{tables}");
    assert_eq!(rows(&tables), ["100 40 60 12,480"], "{tables}");
    for path in ["malloc hit ", "malloc in all ", "free hit ", "free in all "] {
        assert!(tables.contains(&format!("\n{path}")), "{path}: {tables}");
    }
}

#[test]
fn stats_takes_any_preset() {
    let Some((_directory, program)) = program(&[]) else { return };
    // It has two of the three knobs already.
    let output = stats(&["--preset", "c6-ultra"], &program, "").output().unwrap();
    let tables = text(&output.stderr);
    assert_eq!((output.status.code(), rows(&tables)), (Some(3), vec!["100 40 60 12,480".into()]), "{tables}");
}

#[test]
fn stats_shows_other_processes_apart() {
    let Some((_directory, program)) = program(&[]) else { return };
    let tables = text(&stats(&[], &program, "fork").output().unwrap().stderr);
    // The child starts with what its parent had counted.
    assert_eq!(rows(&tables), ["100 40 60 12,480", "100 41 59 12,272"], "{tables}");
    assert_eq!(tables.matches(", another process\n").count(), 1, "{tables}");
}

#[test]
fn stats_writes_a_file_whole_or_not_at_all() {
    let Some((directory, program)) = program(&[]) else { return };
    let file = directory.path().join("counters");
    let args = ["--json", "--output", file.to_str().unwrap()];
    let output = stats(&args, &program, "").output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(3), String::new()));
    let json = fs::read_to_string(&file).unwrap();
    for part in ["{\n", "\"at_end\": true", "\"code\": 3", "\"allocated\": 100,", "\"size\": 208", "\"hit_rate\": 0."] {
        assert!(json.contains(part), "{part}: {json}");
    }
    // A program that ends badly leaves the file as it is.
    let output = stats(&args, &program, "abort").output().unwrap();
    assert_eq!(output.status.code(), Some(128 + 6));
    let message = text(&output.stderr);
    assert!(
        message.starts_with("no end\nhakmem: `") && message.contains("SIGABRT") && message.contains("Remedy: "),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), json);
    let mut files = names(directory.path());
    files.sort();
    assert_eq!(files, ["counters", "program"]);
}

#[test]
fn stats_without_counters_is_a_failure() {
    let Some((_directory, program)) = program(&[]) else { return };
    assert_failed(&stats(&[], &program, "_exit").output().unwrap(), 125, "_exit");
    let Some((_directory, program)) = self::program(&["-static"]) else { return };
    let output = stats(&[], &program, "").output().unwrap();
    assert_failed(&output, 3, "is statically linked");
    assert!(text(&output.stderr).contains("printed no counters"), "{}", text(&output.stderr));
}

#[test]
fn stats_prints_when_it_is_asked() {
    let Some((_directory, program)) = program(&[]) else { return };
    let mut running = Running::start(stats(&[], &program, "wait"));
    running.until("ready\n", 1);
    running.send("USR2");
    running.until(", while it runs\n", 1);
    running.send("USR2");
    running.until(", while it runs\n", 2);
    let (status, stderr) = running.finish();
    let tables = text(&stderr);
    assert_eq!(status.code(), Some(3), "{tables}");
    assert_eq!(rows(&tables), ["100 0 100 20,800", "100 0 100 20,800", "100 40 60 12,480"], "{tables}");

    let mut running = Running::start(stats(&["--every", "0.1", "--json"], &program, "wait"));
    running.until("\"at_end\":false,\"exit\":null", 2);
    let (status, stderr) = running.finish();
    assert_eq!(status.code(), Some(3));
    let last = text(&stderr).lines().next_back().unwrap().to_owned();
    assert!(last.contains("\"at_end\":true,\"exit\":{\"code\":3,\"signal\":null}"), "{last}");
}

#[test]
fn stats_does_not_hold_back_a_prompt() {
    let Some((_directory, program)) = program(&[]) else { return };
    // Its end might become a counter.
    let mut running = Running::start(stats(&[], &program, "prompt"));
    running.until("name> hak", 1);
    let (status, stderr) = running.finish();
    assert_eq!(status.code(), Some(3));
    assert!(text(&stderr).starts_with("name> hak\nhakmem: counters of "), "{}", text(&stderr));
}

#[test]
fn stats_passes_signals_on() {
    let Some((_directory, program)) = program(&[]) else { return };
    let mut running = Running::start(stats(&[], &program, "wait"));
    running.until("ready\n", 1);
    running.send("TERM");
    running.until("was ended by SIGTERM", 1);
    assert_eq!(running.finish().0.code(), Some(128 + 15));
    // To the program, which may live on.
    let script = "trap 'exit 7' TERM; echo ready >&2; while :; do sleep 0.1; done";
    let mut running = Running::start(hakmem(["stats", "sh", "-c", script]));
    running.until("ready\n", 1);
    running.send("TERM");
    let status = running.wait();
    assert_eq!(status.code(), Some(7), "{}", text(&running.finish().1));
}

#[test]
fn stats_does_not_kill_what_cannot_answer() {
    let Some((_directory, program)) = program(&["-static"]) else { return };
    let mut running = Running::start(stats(&[], &program, "wait"));
    running.until("ready\n", 1);
    running.send("USR2");
    running.until("cannot be asked for its counters: ", 1);
    assert_eq!(running.finish().0.code(), Some(3));
}

#[test]
fn stats_waits_for_other_processes_until_it_is_told_not_to() {
    let Some((_directory, program)) = program(&[]) else { return };
    // The shell ends at once; the program lives as long as its input, which is not that of the shell.
    let script = format!("exec 3<&0; {} wait <&3 & exit 4", program.display());
    let mut running = Running::start(hakmem(["stats", "sh", "-c", &script]));
    running.until("ready\n", 1);
    running.until("has ended; waiting for other processes", 1);
    // SIGINT would do as well; but it is ignored where the tests run in the background.
    running.send("TERM");
    let status = running.wait();
    assert_eq!(status.code(), Some(4), "{}", text(&running.finish().1));

    // Or until they end.
    let mut running = Running::start(hakmem(["stats", "sh", "-c", &script]));
    running.until("ready\n", 1);
    let (status, stderr) = running.finish();
    assert_eq!((status.code(), rows(&text(&stderr))), (Some(4), vec!["100 40 60 12,480".into()]), "{}", text(&stderr));
}

#[test]
fn stats_refuses_before_it_runs_anything() {
    let directory = tempfile::tempdir().unwrap();
    let witness = directory.path().join("witness");
    let touch = format!("touch {}", witness.display());
    let refused = |args: &[&str], said: &str| {
        let output = run([&["stats"], args, &["sh", "-c", &touch]].concat());
        assert_failed(&output, 125, said);
        assert!(!witness.exists(), "{args:?}");
    };
    refused(&["--output", "/no/such/directory/file"], "/no/such/directory/file");
    refused(&["--output", directory.path().to_str().unwrap()], "directory");
    refused(&["--every", "0"], "0.1");
    refused(&["--preset", "no-such"], "no-such");
    refused(&["--no-such-option"], "--no-such-option");
    assert_failed(&run(["stats"]), 125, "PROGRAM");
    assert_failed(&run(["stats", "no-such-program"]), 127, "no-such-program");
    let plain = directory.path().join("plain");
    fs::write(&plain, "").unwrap();
    assert_failed(&run([OsStr::new("stats"), plain.as_os_str()]), 126, "plain");
    // Only the exec tells; said once.
    fs::write(&plain, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
    let output = run([OsStr::new("stats"), plain.as_os_str()]);
    assert_failed(&output, 127, "interpreter");
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
}

/// The command in a directory of its own, where neither a library nor a cargo is found.
fn alone(args: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("hakmem");
    fs::copy(executable(), &copy).unwrap();
    let mut command = Command::new(&copy);
    command.args(args).env_remove("LD_PRELOAD").env_remove("CARGO").env("PATH", "/no/such");
    let output = command.output().expect("the command starts");
    assert_eq!(names(directory.path()), ["hakmem"]);
    output
}

#[test]
fn without_a_library_the_remedy_is_named() {
    assert_failed(&alone(&["stats", "/bin/true"]), 125, "Remedy: install cargo");
    let output = alone(&["doctor"]);
    let (checks, message) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{checks}");
    let problem = checks.lines().skip_while(|line| !line.starts_with("problem  preload  ")).take(4).collect::<String>();
    assert!(problem.contains("cannot build") && problem.contains("Remedy: install cargo"), "{checks}");
    assert!(checks.contains("note     cargo  ") && checks.ends_with("s\n"), "{checks}");
    assert!(message.lines().next_back().unwrap().starts_with("hakmem: there is a problem here. Remedy: "), "{message}");
}

#[test]
fn doctor_tells_what_it_finds() {
    let output = run(["doctor"]);
    let checks = text(&output.stdout);
    let problems = checks.lines().filter(|line| line.starts_with("problem ")).count();
    assert_eq!(output.status.code(), Some(i32::from(problems > 0)), "{checks}");
    assert!(checks.contains("\nok       preload  ") && checks.contains("libhakmem-mixed.so"), "{checks}");
    assert!(checks.lines().all(|line| line.chars().count() <= 100), "{checks}");

    let json = run(["doctor", "--json"]);
    assert_eq!(json.status.code(), output.status.code());
    let json = text(&json.stdout);
    assert!(json.starts_with("{\n") && json.ends_with("}\n"), "{json}");
    assert_eq!(json.matches("\"check\": ").count(), json.matches("\"state\": ").count());
    assert!(json.contains(&format!("\"problems\": {problems}")), "{json}");
}

#[test]
fn doctor_sees_a_limit_of_address_space() {
    // 1 GiB: the page map does not fit, and programs run all the same.
    let script = format!("ulimit -v 1048576; exec {} doctor", executable().display());
    // So that the library is there: building needs more.
    assert!(run(["run", "true"]).status.success());
    let output = Command::new("sh").args(["-c", &script]).env_remove("LD_PRELOAD").output().unwrap();
    let checks = text(&output.stdout);
    assert!(checks.contains("note     address-space         limited to 1024 MiB (RLIMIT_AS)"), "{checks}");
    assert!(checks.contains("\nok       preload  "), "{checks}");
}

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(["completions", shell]);
        assert!(output.status.success(), "{shell}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains("doctor"), "{shell}");
    }
    assert_failed(&run(["completions", "no-such-shell"]), 2, "possible values: bash, elvish, fish, powershell, zsh");
    assert_failed(&run(["completions"]), 2, "SHELL");
}

#[test]
fn bash_completes() {
    // Where readline calls the function, `compopt` changes the completion that is under way; here there is none.
    let script = "compopt() { :; }
        source /dev/stdin || exit
        complete -p hakmem >/dev/null || exit
        complete_words() {
            COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)) COMPREPLY=()
            _hakmem hakmem \"${@: -1}\" \"${@: -2:1}\"
            echo \"${COMPREPLY[*]}\"
        }
        complete_words hakmem st
        complete_words hakmem stats --o
        complete_words hakmem run --preset c6-h
        complete_words hakmem completions z";
    let completions = tempfile::NamedTempFile::new().unwrap();
    fs::write(completions.path(), run(["completions", "bash"]).stdout).unwrap();
    let input = fs::File::open(completions.path()).unwrap();
    match Command::new("bash").args(["--norc", "-c", script]).stdin(input).output() {
        Err(_) => println!("skipped: bash not installed"),
        Ok(output) => {
            let expected = "stats\n--output\nc6-heavy c6-heavy-flatten\nzsh\n";
            assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), (expected, ""));
        }
    }
}

#[test]
fn the_help_lists_each_command_on_a_line() {
    let help = text(&run(["--help"]).stdout);
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let names: Vec<_> = commands.lines().map(|line| line[2..].split(' ').next().unwrap()).collect();
    assert!(names.iter().all(|name| !name.is_empty()), "{help}");
    let at = |name: &str| names.iter().position(|other| *other == name).unwrap_or_else(|| panic!("{name}: {help}"));
    let order = ["run", "build", "presets", "stats", "doctor", "completions", "help"].map(at);
    assert!(order.is_sorted(), "{help}");
    for name in ["stats", "doctor", "completions"] {
        let help = text(&run([name, "--help"]).stdout);
        assert!(help.contains("\nExit codes:\n") && help.contains("\nExamples:\n"), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

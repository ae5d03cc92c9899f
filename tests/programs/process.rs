//! Processes that the tests start: none outlives its test, and one that hangs ends with the stacks of its threads.

use crate::support::Output;
use std::fs::{self, File};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A program that takes longer hangs. Nothing is concluded from shorter times.
const HANGS: Duration = Duration::from_secs(300);
/// How long a server may take to end when it is asked to, before it is killed.
const ENDS: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);

/// A child that leads a process group of its own. The whole group is killed when the value goes.
pub struct Process {
    child: Child,
    name: String,
    stdout: PathBuf,
    stderr: PathBuf,
    /// What ends it in good order.
    signal: i32,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts `command`; `logs` is where its output goes, as `NAME.stdout` and `NAME.stderr`.
    pub fn start(mut command: Command, logs: &Path, signal: i32) -> Self {
        let program = PathBuf::from(command.get_program());
        let name = program.file_name().expect("a program has a name").to_string_lossy().into_owned();
        let (stdout, stderr) = (logs.join(format!("{name}.stdout")), logs.join(format!("{name}.stderr")));
        let create = |path: &Path| File::create(path).expect("the temporary directory is writable");
        command.process_group(0).stdout(create(&stdout)).stderr(create(&stderr));
        let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        Self { child, name, stdout, stderr, signal, status: None }
    }

    /// Waits until it ends by itself.
    ///
    /// # Panics
    /// If it hangs.
    #[track_caller]
    pub fn finish(mut self) -> Output {
        let start = Instant::now();
        while !self.ended() {
            self.not_after(start);
        }
        let status = self.reap();
        Output { status, stdout: read(&self.stdout), stderr: read(&self.stderr) }
    }

    /// Waits until `ready` says so.
    ///
    /// # Panics
    /// If it ends before that, or hangs.
    #[track_caller]
    pub fn wait_until(&mut self, ready: impl Fn() -> bool) {
        let start = Instant::now();
        while !ready() {
            if self.ended() {
                let status = self.reap();
                panic!("{} ended: {status}\n{}\n{}", self.name, read(&self.stdout), read(&self.stderr));
            }
            self.not_after(start);
        }
    }

    /// Asks a server to end.
    ///
    /// # Panics
    /// If it hangs.
    #[track_caller]
    pub fn stop(self) -> Output {
        self.kill(self.signal);
        self.finish()
    }

    /// Whether the kernel shows `library` among what the process has mapped.
    pub fn maps(&self, library: &Path) -> bool {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.child.id())).expect("the process runs");
        maps.contains(&*library.to_string_lossy())
    }

    /// Sleeps for a moment.
    ///
    /// # Panics
    /// If `start` is so long ago that the process hangs.
    #[track_caller]
    fn not_after(&mut self, start: Instant) {
        if start.elapsed() > HANGS {
            let stacks = self.stacks();
            panic!("{} hangs\nstdout: {}\nstderr: {}\n{stacks}", self.name, read(&self.stdout), read(&self.stderr));
        }
        sleep(POLL);
    }

    /// The stacks of all its threads, where a debugger is installed.
    fn stacks(&self) -> String {
        let pid = self.child.id().to_string();
        let output = Command::new("gdb").args(["-q", "-batch", "-p", &pid, "-ex", "thread apply all bt"]).output();
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
    }

    fn id(&self) -> libc::pid_t {
        libc::pid_t::try_from(self.child.id()).expect("the kernel gave it out as one")
    }

    /// Whether it has ended. It stays a zombie, so that its number, which is also the group's, remains taken.
    fn ended(&self) -> bool {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: `info` is memory for a siginfo_t, and the child has not been waited for.
        let result = unsafe { libc::waitid(libc::P_PID, self.child.id(), info.as_mut_ptr(), flags) };
        assert_eq!(result, 0, "the child can be waited for");
        // SAFETY: zeroed is a valid siginfo_t, and waitid leaves the number zero if nothing has ended.
        unsafe { info.assume_init().si_pid() != 0 }
    }

    fn kill(&self, signal: i32) {
        // SAFETY: kill reads no memory; the number is the child's as long as nobody waited for it.
        unsafe { libc::kill(self.id(), signal) };
    }

    /// Kills what is left of the group, then waits for its leader.
    fn reap(&mut self) -> ExitStatus {
        if let Some(status) = self.status {
            return status;
        }
        // SAFETY: killpg reads no memory; the group's number is the child's, which nobody waited for.
        unsafe { libc::killpg(self.id(), libc::SIGKILL) };
        let status = self.child.wait().expect("the child can be waited for");
        *self.status.insert(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.status.is_some() {
            return;
        }
        // A server in good health takes with it the children that left its group.
        self.kill(self.signal);
        let start = Instant::now();
        while !self.ended() && start.elapsed() < ENDS {
            sleep(POLL);
        }
        self.reap();
    }
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).expect("the process was given this file")).into_owned()
}

/// Has `command` run in `home`, with nothing of the tests' own environment but the search path.
pub fn clean(command: &mut Command, home: &Path) {
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.env("HOME", home).env("TMPDIR", home).env("LC_ALL", "C.UTF-8").env("TZ", "UTC").env("TERM", "dumb");
    command.current_dir(home).stdin(Stdio::null());
}

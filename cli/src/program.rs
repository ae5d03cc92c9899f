//! The program to run: which file a name stands for, and which interpreter a script has.
//!
//! The search is that of execvp(3), done here so that what is examined is what is executed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// Where execvp(3) looks when there is no PATH.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Bytes of a script that the kernel looks at for its `#!` line.
const SHEBANG_MAX: u64 = 256;

/// Why a program does not run. It has exit codes of its own, as with env(1) and every shell.
#[derive(Debug)]
pub enum CannotRun {
    /// No such file.
    NotFound(String),
    /// There is a file, and it does not execute.
    NotExecutable(String),
}

impl CannotRun {
    /// The exit code that says so.
    pub fn code(&self) -> u8 {
        match self {
            Self::NotFound(_) => 127,
            Self::NotExecutable(_) => 126,
        }
    }

    /// What the kernel's refusal of `path` means.
    pub fn from_exec(path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        match error.kind() {
            // The file was there when it was looked up.
            ErrorKind::NotFound => Self::NotFound(format!(
                "cannot execute `{path}`: its interpreter or loader does not exist. \
                 Remedy: look at its first line, or at `readelf -l`, and install what it names"
            )),
            _ => Self::not_executable(&path, error),
        }
    }

    fn not_executable(path: &dyn fmt::Display, error: &io::Error) -> Self {
        Self::NotExecutable(format!(
            "cannot execute `{path}`: {error}. Remedy: check that it is a program, and that you may execute it (ls -l)"
        ))
    }
}

impl fmt::Display for CannotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::NotFound(message) | Self::NotExecutable(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for CannotRun {}

/// The file that `name` stands for. It exists, is no directory, and may be executed; the path contains a slash.
pub fn resolve(name: &OsStr) -> Result<PathBuf, CannotRun> {
    search(name, env::var_os("PATH"))
}

fn search(name: &OsStr, path: Option<OsString>) -> Result<PathBuf, CannotRun> {
    let shown = name.display();
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match executable(&path) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(CannotRun::NotFound(format!("no program `{shown}`. Remedy: check the path")))
            }
            Err(error) => Err(CannotRun::not_executable(&shown, &error)),
        };
    }
    let not_found =
        || CannotRun::NotFound(format!("no program `{shown}` in PATH. Remedy: check the name, or give its path"));
    if name.is_empty() {
        return Err(not_found());
    }
    let mut refused = None;
    for directory in env::split_paths(&path.unwrap_or_else(|| DEFAULT_PATH.into())) {
        // An empty entry means the current directory, and a path without a slash would be searched for again.
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
        let candidate = directory.join(name);
        match executable(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            // A later directory may have one that runs.
            Err(error) => refused = refused.or(Some(CannotRun::not_executable(&candidate.display(), &error))),
        }
    }
    Err(refused.unwrap_or_else(not_found))
}

fn executable(path: &Path) -> io::Result<()> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it is not a regular file"));
    }
    Ok(rustix::fs::access(path, Access::EXEC_OK)?)
}

/// The file whose process LD_PRELOAD has to reach: the interpreter of a script, otherwise `path` itself.
///
/// Looks through one script and through `/usr/bin/env`; where that leads nowhere, the exec will say so.
pub fn image(path: &Path) -> PathBuf {
    let mut start = Vec::new();
    // A program that may be executed and not read is none that has a `#!` line.
    if File::open(path).and_then(|file| file.take(SHEBANG_MAX).read_to_end(&mut start)).is_err() {
        return path.into();
    }
    match shebang(&start) {
        None => path.into(),
        Some(Interpreter::Path(interpreter)) => interpreter.into(),
        Some(Interpreter::Name(name)) => resolve(name).unwrap_or_else(|_| path.into()),
    }
}

#[derive(Debug, PartialEq)]
enum Interpreter<'a> {
    /// `#!/bin/sh`
    Path(&'a OsStr),
    /// `#!/usr/bin/env python3`
    Name(&'a OsStr),
}

fn shebang(start: &[u8]) -> Option<Interpreter<'_>> {
    let line = start.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let interpreter = words.next()?;
    if Path::new(interpreter).file_name() != Some(OsStr::new("env")) {
        return Some(Interpreter::Path(interpreter));
    }
    // What precedes the name are env's options (`-S`) and assignments (`LANG=C`).
    let name = words.find(|word| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'='));
    Some(name.map_or(Interpreter::Path(interpreter), Interpreter::Name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(directory: &Path, name: &str, mode: u32) -> PathBuf {
        let path = directory.join(name);
        fs::create_dir_all(directory).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_search_is_that_of_execvp() {
        let root = tempfile::tempdir().unwrap();
        let (a, b) = (root.path().join("a"), root.path().join("b"));
        let path = Some(env::join_paths([&root.path().join("missing"), &a, &b]).unwrap());
        file(&a, "tool", 0o644);
        file(&a, "plain", 0o644);
        fs::create_dir(a.join("directory")).unwrap();
        let tool = file(&b, "tool", 0o755);
        std::os::unix::fs::symlink(&tool, a.join("link")).unwrap();

        let code = |name: &str| search(OsStr::new(name), path.clone()).map_err(|error| error.code());
        assert_eq!(code("tool"), Ok(tool), "a file that does not execute is passed over");
        assert_eq!(code("link"), Ok(a.join("link")));
        assert_eq!(code("plain"), Err(126));
        assert_eq!(code("directory"), Err(126));
        assert_eq!(code("nowhere"), Err(127));
        assert_eq!(code(""), Err(127));
        assert_eq!(code(a.join("plain").to_str().unwrap()), Err(126));
        assert_eq!(code(a.join("nowhere").to_str().unwrap()), Err(127));
        assert_eq!(search(OsStr::new("sh"), None), Ok(PathBuf::from("/bin/sh")));
    }

    impl PartialEq for CannotRun {
        fn eq(&self, other: &Self) -> bool {
            self.code() == other.code()
        }
    }

    #[test]
    fn the_interpreter_of_a_script() {
        let path = |text| Some(Interpreter::Path(OsStr::new(text)));
        let name = |text| Some(Interpreter::Name(OsStr::new(text)));
        assert_eq!(shebang(b"#!/bin/sh\necho"), path("/bin/sh"));
        assert_eq!(shebang(b"#! /bin/sh -e\n"), path("/bin/sh"));
        assert_eq!(shebang(b"#!/usr/bin/env python3\n"), name("python3"));
        assert_eq!(shebang(b"#!/usr/bin/env -S LANG=C python3 -u\n"), name("python3"));
        assert_eq!(shebang(b"#!/usr/bin/env\n"), path("/usr/bin/env"));
        assert_eq!(shebang(b"#!\n/bin/sh"), None);
        assert_eq!(shebang(b"\x7fELF"), None);
        assert_eq!(shebang(b""), None);
    }
}

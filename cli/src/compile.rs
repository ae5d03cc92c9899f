//! Builds a preset's library with cargo, from the sources that this command was built from.

use std::env;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, bail, ensure};

use crate::library;
use crate::preset::library_name;
use crate::remedy::OrRemedy;

/// Where the sources were when this command was built.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// What a library is made from. The manifest of the command and the lock file change for other reasons.
const INPUTS: [&str; 4] = ["Cargo.toml", "build.rs", "src", "preload"];

/// The workspace's directory.
pub struct Sources(PathBuf);

impl Sources {
    /// `None`: they were moved or deleted, or this command was copied to another machine.
    pub fn find() -> Option<Self> {
        let root = fs::canonicalize(WORKSPACE).ok()?;
        INPUTS.iter().all(|input| root.join(input).exists()).then_some(Self(root))
    }

    /// When a source file was last changed.
    pub fn newest(&self) -> anyhow::Result<SystemTime> {
        let mut newest = SystemTime::UNIX_EPOCH;
        for input in INPUTS {
            let path = self.0.join(input);
            newest_below(&path, &mut newest)
                .or_remedy(|| format!("cannot read `{}`", path.display()), "make the sources readable, or use --lib")?;
        }
        Ok(newest)
    }
}

fn newest_below(path: &Path, newest: &mut SystemTime) -> io::Result<()> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        // An editor's lock file: a link to nothing, or gone since the directory was read.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !metadata.is_dir() {
        *newest = metadata.modified()?.max(*newest);
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        newest_below(&entry?.path(), newest)?;
    }
    Ok(())
}

/// Builds the library of `preset` and puts it into `directory`. Its messages and cargo's go to stderr.
pub fn build(sources: &Sources, preset: &str, directory: &Path) -> anyhow::Result<PathBuf> {
    let started = SystemTime::now();
    let built = cargo(sources, preset)?;
    let name = library_name(preset);
    ensure!(
        library::is_library_of(&built, &name),
        "cargo built `{}`, which is not {name}. Remedy: remove {} and try again",
        built.display(),
        target(sources, preset).display()
    );
    let path = directory.join(name);
    place(&built, &path, started).or_remedy(
        || format!("cannot write `{}`", path.display()),
        "write it elsewhere with `hakmem build --out DIR`, and run with --lib",
    )?;
    Ok(path)
}

/// A directory of our own: no outer cargo holds its lock, target/release stays as it is, and as cargo gives every
/// preset's library one name, each preset has its own.
fn target(sources: &Sources, preset: &str) -> PathBuf {
    sources.0.join("target/hakmem").join(preset)
}

/// Runs cargo and returns the path of the library that it made.
fn cargo(sources: &Sources, preset: &str) -> anyhow::Result<PathBuf> {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&program)
        .args(["build", "--quiet", "--release", "--package=hakmem-preload", "--message-format=json-render-diagnostics"])
        .arg(format!("--features=hakmem-alloc/preset-{preset}"))
        .arg("--target-dir")
        .arg(target(sources, preset))
        // Where a toolchain file or a configuration of the workspace is looked for.
        .current_dir(&sources.0)
        // Meant for the program, not for the compiler.
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .or_remedy(
            || format!("cannot build preset {preset}: `{}` does not start", program.display()),
            "install cargo (https://rustup.rs), or use a library that is built: `hakmem run --lib`",
        )?;
    if !output.status.success() {
        bail!(
            "cannot build preset {preset}: cargo failed ({}). \
             Remedy: see its messages above, or use a library that is built: `hakmem run --lib`",
            output.status
        );
    }
    artifact(&output.stdout).context(
        "cargo named no library in its output. Remedy: try a plain `cargo build --release`, to see what it says",
    )
}

/// The library in cargo's report. Its place depends on the user's configuration, so it is not guessed.
fn artifact(report: &[u8]) -> Option<PathBuf> {
    report
        .split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["crate_types"][0] == "cdylib")
        .find_map(|message| message["filenames"][0].as_str().map(PathBuf::from))
}

/// Copies `from` to `to` such that `to` is at all times what it was before or complete.
///
/// The copy counts as made at `time`, when the build started: a source changed since then is newer.
fn place(from: &Path, to: &Path, time: SystemTime) -> io::Result<()> {
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(".libhakmem-")
        // Less the umask.
        .permissions(Permissions::from_mode(0o777))
        .tempfile_in(directory)?;
    io::copy(&mut File::open(from)?, &mut temporary)?;
    temporary.as_file().set_modified(time)?;
    temporary.persist(to)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn any_source_file_counts() {
        let root = tempfile::tempdir().unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let write = |name: &str, seconds| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(&path).unwrap().set_modified(at(seconds)).unwrap();
        };
        let sources = Sources(root.path().into());
        for (index, name) in ["Cargo.toml", "build.rs", "src/heap/mod.rs", "preload/src/lib.rs"].iter().enumerate() {
            write(name, 10 + index as u64);
            assert_eq!(sources.newest().unwrap(), at(10 + index as u64), "{name}");
        }
        // The first to be looked at.
        write("Cargo.toml", 50);
        write("cli/src/main.rs", 99);
        std::os::unix::fs::symlink("gone", root.path().join("src/.#lib.rs")).unwrap();
        assert_eq!(sources.newest().unwrap(), at(50));
    }

    #[test]
    fn a_library_is_placed_whole_or_not_at_all() {
        let root = tempfile::tempdir().unwrap();
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        fs::write(&from, "new").unwrap();
        fs::write(&to, "old").unwrap();
        place(&from, &to, then).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), then);
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o700, 0o700);

        assert!(place(&root.path().join("missing"), &to, then).is_err());
        assert_eq!(fs::read(&to).unwrap(), b"new");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "no temporary file is left");
    }

    #[test]
    fn cargos_report_names_the_library() {
        let report = br#"{"reason":"compiler-artifact","target":{"crate_types":["lib"]},"filenames":["/a.rlib"]}
{"reason":"compiler-artifact","target":{"crate_types":["cdylib"]},"filenames":["/libhakmem.so"]}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(artifact(report), Some("/libhakmem.so".into()));
        assert_eq!(
            artifact(
                b"not json
"
            ),
            None
        );
    }
}

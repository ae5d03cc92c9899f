//! Builds a preset's library with cargo, from the sources that this command was built from.

use std::env;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, bail};
use rustix::fs::FlockOperation;
use rustix::io::{Errno, retry_on_intr};

use crate::flips::Flips;
use crate::library;
use crate::preset::Preset;
use crate::remedy::OrRemedy;
use crate::sources::Sources;

/// Builds the library of `preset`, changed by `flips`, and puts it into `directory` under its soname. Messages, cargo's
/// too, go to stderr.
pub fn build(sources: &Sources, preset: &Preset, flips: &Flips, directory: &Path) -> anyhow::Result<PathBuf> {
    let targets = sources.root().join("target");
    // The library is copied before another build of this command replaces it.
    let _lock = lock(&targets).or_remedy(
        || format!("cannot write to `{}`", targets.display()),
        "make the directory of the sources writable",
    )?;
    let started = SystemTime::now();
    let target = targets.join("hakmem");
    let built = cargo(sources, &target, preset, flips)?;
    let soname = library::soname_of(&built);
    let idle = soname.as_deref().and_then(|soname| flips.idle(soname, &preset.name));
    let (Some(name), Some(idle)) = (&soname, idle) else {
        bail!(
            "cargo built `{}`, which is no library of preset {}. Remedy: remove {} and try again",
            built.display(),
            preset.name,
            target.display()
        );
    };
    for flip in idle {
        eprintln!("hakmem: warning: {flip} changes nothing: preset {} is that way already", preset.name);
    }
    let path = directory.join(name);
    place(&built, &path, started).or_remedy(
        || format!("cannot write `{}`", path.display()),
        "write it elsewhere with `hakmem build --out DIR`, and run with --lib",
    )?;
    Ok(path)
}

/// Waits until no other process builds into `targets`, and keeps others waiting until the file is closed.
fn lock(targets: &Path) -> io::Result<File> {
    fs::create_dir_all(targets)?;
    // Beside cargo's directory, which cargo marks as a cache where it creates it.
    let file = File::create(targets.join("hakmem.lock"))?;
    match retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)) {
        Err(Errno::WOULDBLOCK) => {
            eprintln!("hakmem: waiting for another hakmem to finish its build");
            retry_on_intr(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
        }
        other => other?,
    }
    Ok(file)
}

/// Runs cargo and returns the path of the library that it made.
///
/// `target` is a directory of our own: no outer cargo holds its lock, and target/release stays as it is. All presets
/// share it, so that what they have in common is compiled once; cargo links the library anew when the last one was
/// another's.
fn cargo(sources: &Sources, target: &Path, preset: &Preset, flips: &Flips) -> anyhow::Result<PathBuf> {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let name = &preset.name;
    let mut command = Command::new(&program);
    command
        .args(["build", "--quiet", "--package=hakmem-preload", "--message-format=json-render-diagnostics"])
        .arg(format!("--profile={}", preset.profile))
        .arg(format!("--features={}", features(preset, flips)))
        .arg("--target-dir")
        .arg(target)
        // Where a toolchain file or a configuration of the workspace is looked for.
        .current_dir(sources.root())
        // Meant for the program, not for the compiler.
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if let Some(file) = &preset.file {
        command.env("HAKMEM_PRESET_FILE", path::absolute(file)?);
    }
    let output = command.output().or_remedy(
        || format!("cannot build preset {name}: `{}` does not start", program.display()),
        "install cargo (https://rustup.rs), or use a library that is built: `hakmem run --lib`",
    )?;
    if !output.status.success() {
        bail!(
            "cannot build preset {name}: cargo failed ({}). \
             Remedy: see its messages above, or use a library that is built: `hakmem run --lib`",
            output.status
        );
    }
    artifact(&output.stdout).context(
        "cargo named no library in its output. Remedy: try a plain `cargo build --release`, to see what it says",
    )
}

/// The features, as cargo takes them.
fn features(preset: &Preset, flips: &Flips) -> String {
    let chosen = preset.feature();
    let all: Vec<_> = std::iter::once(chosen.as_str()).chain(flips.features()).collect();
    all.iter().map(|feature| format!("hakmem-alloc/{feature}")).collect::<Vec<_>>().join(",")
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
    use crate::preset::tests::mixed;
    use std::time::Duration;

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
    fn builds_wait_for_each_other() {
        let root = tempfile::tempdir().unwrap();
        let targets = root.path().join("target");
        let first = lock(&targets).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || {
            let lock = lock(&targets);
            sender.send(()).unwrap();
            lock
        });
        assert!(receiver.recv_timeout(Duration::from_millis(200)).is_err(), "the second did not wait");
        drop(first);
        receiver.recv_timeout(Duration::from_secs(10)).expect("the second goes on");
        assert!(second.join().unwrap().is_ok());
    }

    #[test]
    fn features_are_the_presets_and_the_flips() {
        assert_eq!(features(&mixed(), &Flips::default()), "hakmem-alloc/preset-mixed");
        let flips = Flips::new(&["prefetch".into()], &["free-dualhot".into()]);
        let expected = "hakmem-alloc/preset-mixed,hakmem-alloc/no-free-dualhot,hakmem-alloc/prefetch";
        assert_eq!(features(&mixed(), &flips), expected);
        let mine = Preset { file: Some("mine.toml".into()), ..mixed() };
        assert_eq!(features(&mine, &Flips::default()), "hakmem-alloc/preset-file");
    }

    #[test]
    fn cargos_report_names_the_library() {
        let report = br#"{"reason":"compiler-artifact","target":{"crate_types":["lib"]},"filenames":["/a.rlib"]}
{"reason":"compiler-artifact","target":{"crate_types":["cdylib"]},"filenames":["/libhakmem.so"]}
{"reason":"build-finished","success":true}
"#;
        assert_eq!(artifact(report), Some("/libhakmem.so".into()));
        assert_eq!(artifact(b"not json\n"), None);
    }
}

//! The sources that this command was built from, and when they were last changed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::remedy::OrRemedy;

/// Where the sources were when this command was built.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// What a library is made from. The manifest of the command and the lock file change for other reasons.
const INPUTS: [&str; 5] = ["Cargo.toml", "build.rs", "build", "src", "preload"];

/// The workspace's directory.
pub struct Sources(PathBuf);

impl Sources {
    /// `None`: they were moved or deleted, or this command was copied to another machine.
    pub fn find() -> Option<Self> {
        let root = fs::canonicalize(WORKSPACE).ok()?;
        INPUTS.iter().all(|input| root.join(input).exists()).then_some(Self(root))
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.0
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
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
        for (index, name) in
            ["Cargo.toml", "build.rs", "build/section.rs", "src/heap/mod.rs", "preload/src/lib.rs"].iter().enumerate()
        {
            write(name, 10 + index as u64);
            assert_eq!(sources.newest().unwrap(), at(10 + index as u64), "{name}");
        }
        // The first to be looked at.
        write("Cargo.toml", 50);
        write("cli/src/main.rs", 99);
        std::os::unix::fs::symlink("gone", root.path().join("src/.#lib.rs")).unwrap();
        assert_eq!(sources.newest().unwrap(), at(50));
    }
}

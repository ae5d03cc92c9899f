//! Files that are written whole or not at all.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::remedy::OrRemedy;

/// What to do about a file that cannot be written.
const REMEDY: &str = "name a file in a directory that exists and is writable";

/// Refuses a file that cannot be written, so that nobody waits minutes to hear of it.
pub fn check(path: &Path) -> anyhow::Result<()> {
    let obstacle =
        if path.is_dir() { Err(io::Error::from(io::ErrorKind::IsADirectory)) } else { beside(path).map(drop) };
    obstacle.or_remedy(|| format!("cannot write `{}`", path.display()), REMEDY)
}

/// Puts `contents` into the file: it is at all times what it was before or complete.
pub fn write(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    let written = beside(path).and_then(|mut temporary| {
        temporary.write_all(contents)?;
        temporary.persist(path)?;
        Ok(())
    });
    written.or_remedy(|| format!("cannot write `{}`", path.display()), REMEDY)
}

/// A temporary file in the same directory, hence on the same file system.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Less the umask.
    tempfile::Builder::new().prefix(".hakmem-").permissions(Permissions::from_mode(0o666)).tempfile_in(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        check(&path).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        write(&path, b"old").unwrap();
        check(&path).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_told_beforehand() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().join("missing/out.json"), directory.path().into()] {
            let message = check(&path).unwrap_err().to_string();
            assert!(message.contains("cannot write `/") && message.contains("Remedy: "), "{message}");
        }
        assert!(write(&directory.path().join("missing/out.json"), b"").is_err());
    }
}

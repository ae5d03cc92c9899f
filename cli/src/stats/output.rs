//! Where the counters go: to stderr, or to a file that is at all times what it was before or complete.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::remedy::OrRemedy;

/// The place.
#[derive(Debug)]
pub enum Output {
    Stderr,
    /// A file to replace, and its directory.
    File(PathBuf, PathBuf),
    /// Something that is written to and not replaced: a pipe, a device.
    Stream(PathBuf),
}

impl Output {
    /// The place that was asked for. A file that cannot be written is refused: the program that is counted may run for
    /// hours.
    pub fn new(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::Stderr) };
        Self::of(path).or_remedy(|| format!("cannot write `{}`", path.display()), "name another file with --output")
    }

    fn of(path: &Path) -> io::Result<Self> {
        // A link stays, and what it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or(path.into());
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => return Ok(Self::Stream(path)),
            _ => {}
        }
        if path.file_name().is_none() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        temporary(directory)?;
        Ok(Self::File(path.clone(), directory.into()))
    }

    /// Whether it is where the program writes, too.
    pub fn is_stderr(&self) -> bool {
        matches!(self, Self::Stderr)
    }

    /// Writes `text`, in place of what was written before where that is a file. That nobody reads stderr is no error.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        let (result, path) = match self {
            Self::Stderr => {
                let result = io::stderr().write_all(text.as_bytes());
                let unread = result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
                return if unread {
                    Ok(())
                } else {
                    result.or_remedy(|| "cannot write to stderr", "use --output FILE")
                };
            }
            Self::File(path, directory) => (replace(path, directory, text), path),
            Self::Stream(path) => (append(path, text), path),
        };
        result
            .or_remedy(|| format!("cannot write `{}`", path.display()), "make room, or name another file with --output")
    }
}

fn temporary(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    // Less the umask.
    tempfile::Builder::new().prefix(".hakmem-stats-").permissions(Permissions::from_mode(0o666)).tempfile_in(directory)
}

fn replace(path: &Path, directory: &Path, text: &str) -> io::Result<()> {
    let mut file = temporary(directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    File::options().append(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("counters");
        let output = Output::new(Some(&path)).unwrap();
        assert!(names(directory.path()).is_empty(), "nothing is left by the check");
        for text in ["a longer text", "text"] {
            output.write(text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(directory.path()), ["counters"]);
        }
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("counters", &link).unwrap();
        Output::new(Some(&link)).unwrap().write("through the link").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "through the link");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn what_is_no_file_is_written_to() {
        let output = Output::new(Some(Path::new("/dev/null"))).unwrap();
        assert!(matches!(output, Output::Stream(_)), "{output:?}");
        output.write("text").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_written_is_refused_before() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path(), &directory.path().join("missing/file"), Path::new("")] {
            let message = Output::new(Some(path)).unwrap_err().to_string();
            assert!(message.contains("cannot write `") && message.contains("Remedy: "), "{message}");
        }
        assert!(names(directory.path()).is_empty());
    }
}

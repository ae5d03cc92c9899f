//! Proof that a process uses the allocator that its side claims: where its `malloc` really lies.
//!
//! A workload's driver looks up the addresses that it calls. Other programs are asked nothing: once, the loader is made to
//! write down what it binds `malloc` to (LD_DEBUG), in the program and in all programs that it starts.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::bench::side::Side;

/// A file that is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Where it was when it was mapped.
    pub path: PathBuf,
    /// Its number on its file system.
    inode: u64,
}

impl Mapping {
    /// The file that is mapped at `address`, in the words of /proc/self/maps:
    /// `START-END PERMISSIONS OFFSET DEVICE INODE PATH`.
    pub fn of(maps: &str, address: usize) -> Option<Self> {
        maps.lines().find_map(|line| {
            let mut words = line.splitn(6, ' ');
            let (start, end) = words.next()?.split_once('-')?;
            let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
            let inode = words.nth(3)?.parse().ok()?;
            let path = words.next()?.trim_start();
            (range.contains(&address) && path.starts_with('/')).then(|| Self { path: path.into(), inode })
        })
    }

    /// Of the file at `path`, as a loader names it.
    fn of_file(path: &Path) -> Option<Self> {
        Some(Self { path: path.into(), inode: fs::metadata(path).ok()?.ino() })
    }

    /// As the driver prints it.
    pub fn to_json(&self) -> Value {
        json!({ "path": self.path.to_string_lossy(), "inode": self.inode })
    }

    /// What the driver printed.
    pub fn from_json(value: &Value) -> Option<Self> {
        Some(Self { path: value["path"].as_str()?.into(), inode: value["inode"].as_u64()? })
    }

    /// Whether it is the C library.
    pub fn is_libc(&self) -> bool {
        Self::is_libc_path(&self.path)
    }

    /// Whether a file is the C library, by its name: `libc.so.6`, `libc-2.31.so`.
    pub fn is_libc_path(path: &Path) -> bool {
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        name.starts_with(b"libc.so") || name.starts_with(b"libc-")
    }

    /// Whether it is the file at `path`.
    fn is(&self, path: &Path) -> bool {
        // One file may have several paths; one number may be that of several files.
        let metadata = fs::metadata(path);
        metadata.is_ok_and(|metadata| metadata.ino() == self.inode)
            && fs::canonicalize(path).ok() == fs::canonicalize(&self.path).ok()
    }
}

/// An error unless `malloc` lies where `side` says that it does. `who` is the process that it was found in.
pub fn check(side: &Side, malloc: &Mapping, who: &str) -> anyhow::Result<()> {
    let right = match &side.library {
        None => malloc.is_libc(),
        Some(library) => malloc.is(library),
    };
    if right {
        return Ok(());
    }
    let remedy = match &side.library {
        None => {
            "see what is preloaded everywhere (/etc/ld.so.preload); where the program brings an allocator of its \
                 own, name libc's library as a side: the path of libc.so.6"
        }
        Some(_) => {
            "see whether the program is static, or has a malloc of its own, and whether the library can be \
                    loaded (`ldd LIBRARY`)"
        }
    };
    bail!(
        "{who} should use {}, and the malloc that it uses is that of {}. Remedy: {remedy}",
        side.library.as_ref().map_or("libc's malloc".into(), |library| format!("`{}`", library.display())),
        malloc.path.display()
    )
}

/// Makes the loader write what it binds into files in `directory`, one for each process.
pub fn ask_loader(command: &mut Command, directory: &OsStr) {
    // The loader adds the process id.
    command.env("LD_DEBUG", "bindings").env("LD_DEBUG_OUTPUT", Path::new(directory).join("bindings"));
}

/// Looks at what the loader wrote into `directory`: `malloc` was bound to that of `side`, everywhere. Returns where it
/// lies.
pub fn check_bindings(side: &Side, directory: &Path, program: &str) -> anyhow::Result<Mapping> {
    let mut found = None;
    for entry in fs::read_dir(directory)? {
        let bytes = fs::read(entry?.path())?;
        for (object, library) in bindings(&bytes) {
            let malloc = Mapping::of_file(Path::new(OsStr::from_bytes(library)))
                .with_context(|| format!("the loader bound malloc to {}", String::from_utf8_lossy(library)))?;
            check(side, &malloc, &format!("`{program}` ({})", String::from_utf8_lossy(object)))?;
            found = Some(malloc);
        }
    }
    found.with_context(|| {
        format!(
            "the loader bound no malloc for `{program}`, so it cannot be told which one the program uses. \
             Remedy: use a dynamically linked program that is not set-user-ID and runs under glibc"
        )
    })
}

/// The bindings of `malloc` in the loader's words: from which object, to which one.
/// `PID: binding file OBJECT [0] to LIBRARY [0]: normal symbol `malloc' [VERSION]`
fn bindings(output: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    output.split(|&byte| byte == b'\n').filter_map(|line| {
        after(line, b": normal symbol `malloc'")?;
        let line = after(line, b"binding file ")?;
        let (object, line) = (before(line, b" [")?, after(line, b"] to ")?);
        Some((object, before(line, b" [")?))
    })
}

/// What follows `mark`.
fn after<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let at = line.windows(mark.len()).position(|part| part == mark)?;
    Some(&line[at + mark.len()..])
}

/// What precedes `mark`.
fn before<'a>(line: &'a [u8], mark: &[u8]) -> Option<&'a [u8]> {
    let at = line.windows(mark.len()).position(|part| part == mark)?;
    Some(&line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55d0c0000000-55d0c0001000 r-xp 00000000 08:01 11                         /usr/bin/true
7f0000000000-7f0000028000 r--p 00000000 08:01 12                         /lib/x86_64-linux-gnu/libc.so.6
7f0000028000-7f0000100000 r-xp 00028000 08:01 12                         /lib/x86_64-linux-gnu/libc.so.6
7f0000200000-7f0000201000 r-xp 00000000 08:01 13                         /my files/lib x.so (deleted)
7f0000300000-7f0000301000 rw-p 00000000 00:00 0
7f0000400000-7f0000401000 rw-p 00000000 00:00 0                          [heap]
";

    fn side(library: Option<&str>) -> Side {
        Side { name: "side".into(), library: library.map(Into::into), soname: None }
    }

    #[test]
    fn an_address_belongs_to_the_file_that_is_mapped_there() {
        let of =
            |address| Mapping::of(MAPS, address).map(|found| (found.path.to_str().unwrap().to_owned(), found.inode));
        assert_eq!(of(0x7f0000028000), Some(("/lib/x86_64-linux-gnu/libc.so.6".into(), 12)));
        assert_eq!(of(0x7f00000fffff), Some(("/lib/x86_64-linux-gnu/libc.so.6".into(), 12)));
        assert_eq!(of(0x7f0000200010), Some(("/my files/lib x.so (deleted)".into(), 13)));
        assert_eq!([0x7f0000100000, 0x7f0000300000, 0x7f0000400000].map(of), [None, None, None]);
    }

    #[test]
    fn a_mapping_survives_the_drivers_line() {
        let mapping = Mapping { path: "/a \"/b.so".into(), inode: u64::MAX };
        assert_eq!(Mapping::from_json(&mapping.to_json()), Some(mapping));
        assert_eq!(Mapping::from_json(&Value::Null), None);
    }

    #[test]
    fn a_side_is_what_it_claims_or_there_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other, link) =
            (directory.path().join("one.so"), directory.path().join("other.so"), directory.path().join("link.so"));
        fs::write(&one, "").unwrap();
        fs::write(&other, "").unwrap();
        std::os::unix::fs::symlink(&one, &link).unwrap();
        let mapped = Mapping::of_file(&one).unwrap();
        let claims = |library: &Path| check(&side(library.to_str()), &mapped, "it");
        assert!(claims(&one).is_ok() && claims(&link).is_ok());
        let message = claims(&other).unwrap_err().to_string();
        assert!(
            message.contains("one.so") && message.contains("other.so") && message.contains("Remedy: "),
            "{message}"
        );
        assert!(check(&side(None), &mapped, "it").is_err());
        // Replaced by another file of the same name.
        fs::remove_file(&one).unwrap();
        fs::rename(&other, &one).unwrap();
        assert!(claims(&one).is_err());

        let libc = Mapping { path: "/lib/x86_64-linux-gnu/libc.so.6".into(), inode: 1 };
        assert!(check(&side(None), &libc, "it").is_ok());
        assert!(check(&side(Some("/x.so")), &libc, "it").is_err());
    }

    #[test]
    fn the_loaders_bindings_are_read() {
        let output = b"\
     13495:\tbinding file /bin/true [0] to /a b/lib.so [0]: normal symbol `malloc' [GLIBC_2.2.5]\n\
     13495:\tbinding file /bin/true [0] to /lib/libc.so.6 [0]: normal symbol `malloc_trim' [GLIBC_2.2.5]\n\
     13495:\tbinding file /bin/x [0] to /lib/libc.so.6 [0]: normal symbol `malloc'\n";
        let expected: Vec<(&[u8], &[u8])> = vec![(b"/bin/true", b"/a b/lib.so"), (b"/bin/x", b"/lib/libc.so.6")];
        assert_eq!(bindings(output).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_binding_counts_and_none_is_no_proof() {
        let directory = tempfile::tempdir().unwrap();
        let checked = || check_bindings(&side(None), directory.path(), "prog");
        assert!(checked().unwrap_err().to_string().contains("no malloc for `prog`"));
        let line = |to: &Path| format!("1: binding file /bin/x [0] to {} [0]: normal symbol `malloc'\n", to.display());
        let real = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"].map(PathBuf::from);
        let Some(real) = real.into_iter().find(|path| path.exists()) else { panic!("no libc") };
        fs::write(directory.path().join("bindings.1"), line(&real)).unwrap();
        assert_eq!(checked().unwrap().path, real);
        fs::write(directory.path().join("bindings.2"), line(&std::env::current_exe().unwrap())).unwrap();
        assert!(checked().unwrap_err().to_string().contains("`prog` (/bin/x) should use libc's malloc"));
    }
}

//! Other allocators that are installed, to compare hakmem with.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::check::Check;

/// Their names, what the names of their libraries begin with, and how to get them.
const KNOWN: [(&str, &str, &str); 4] = [
    ("mimalloc", "libmimalloc", "install it (Debian: libmimalloc2.0)"),
    ("jemalloc", "libjemalloc", "install it (Debian: libjemalloc2)"),
    ("tcmalloc", "libtcmalloc", "install it (Debian: libtcmalloc-minimal4)"),
    ("snmalloc", "libsnmalloc", "build its target snmallocshim"),
];

/// Where libraries are, whether the loader's cache knows them or not.
const DIRECTORIES: [&str; 6] = [
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

/// Libraries that were found.
pub struct Peers(Vec<PathBuf>);

impl Peers {
    /// Looks in the loader's cache, in the usual directories and in LD_LIBRARY_PATH.
    pub fn find() -> Self {
        let cache = ["ldconfig", "/sbin/ldconfig"].into_iter().find_map(|program| {
            Command::new(program).arg("-p").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()
        });
        let cache = cache.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let more = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let directories = DIRECTORIES.iter().map(PathBuf::from).chain(std::env::split_paths(&more));
        let entries = directories.filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
        Self(cached(&cache).chain(entries.map(|entry| entry.path())).collect())
    }

    /// What follows.
    pub fn judge(&self) -> Vec<Check> {
        let check = |&(name, stem, remedy): &(&'static str, &str, &str)| {
            let found = self.of(stem);
            match found.is_empty() {
                true => Check::note(name, "not installed: for comparisons only").remedy(remedy),
                false => Check::ok(name, found.join(", ")),
            }
        };
        KNOWN.iter().map(check).collect()
    }

    /// The libraries whose names begin so, each file once.
    fn of(&self, stem: &str) -> Vec<String> {
        let named = self.0.iter().filter(|path| path.file_name().is_some_and(|name| is_library(name, stem)));
        // Links lead to one file, and one directory may be a link to another.
        let files: BTreeSet<_> = named.map(|path| fs::canonicalize(path).unwrap_or(path.clone())).collect();
        files.into_iter().map(|path| path.display().to_string()).collect()
    }
}

/// The paths in what `ldconfig -p` prints: `NAME (libc6,x86-64) => PATH`.
fn cached(listing: &str) -> impl Iterator<Item = PathBuf> {
    listing.lines().filter_map(|line| Some(Path::new(line.split_once(" => ")?.1.trim()).into()))
}

/// `libjemalloc.so.2`, `libtcmalloc_minimal.so`, and no archive.
fn is_library(name: &OsStr, stem: &str) -> bool {
    let name = name.to_string_lossy();
    name.strip_prefix(stem).is_some_and(|rest| rest.ends_with(".so") || rest.contains(".so."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::check::State;

    #[test]
    fn peers_are_known_by_their_names() {
        let files = ["/x/libjemalloc.so.2", "/x/libtcmalloc_minimal.so.4", "/x/libmimalloc.a", "/x/libsnmallocshim.so"];
        let checks = Peers(files.map(PathBuf::from).into()).judge();
        let states: Vec<_> = checks.iter().map(|check| (check.name, check.state)).collect();
        let expected =
            [("mimalloc", State::Note), ("jemalloc", State::Ok), ("tcmalloc", State::Ok), ("snmalloc", State::Ok)];
        assert_eq!(states, expected);
        assert_eq!((checks[1].found.as_str(), &checks[1].remedy), (files[0], &None));
        assert!(checks[0].remedy.is_some());
    }

    #[test]
    fn a_file_counts_once() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("libjemalloc.so.2"), directory.path().join("libjemalloc.so"));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink("libjemalloc.so.2", &link).unwrap();
        assert_eq!(Peers(vec![link, file.clone(), file]).of("libjemalloc").len(), 1);
    }

    #[test]
    fn the_loaders_cache_is_understood() {
        let listing = "1 libs found in cache `/etc/ld.so.cache'\n\tlibz.so.1 (libc6,x86-64) => /lib/libz.so.1\n";
        assert!(cached(listing).eq([PathBuf::from("/lib/libz.so.1")]));
    }
}

//! The other allocators that are known by name, and where they are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::bail;

use crate::library;

/// An allocator that a system may have as a shared library.
#[derive(Debug, PartialEq, Eq)]
pub struct Peer {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What the names of its library begin with, up to `.so`; the first that is found counts.
    stems: &'static [&'static str],
    /// How to get it.
    remedy: &'static str,
}

/// All that are known.
pub static PEERS: [Peer; 4] = [
    Peer { name: "mimalloc", stems: &["libmimalloc"], remedy: "install it (Debian: libmimalloc2.0)" },
    Peer { name: "jemalloc", stems: &["libjemalloc"], remedy: "install it (Debian: libjemalloc2)" },
    Peer {
        name: "tcmalloc",
        stems: &["libtcmalloc_minimal", "libtcmalloc"],
        remedy: "install it (Debian: libtcmalloc-minimal4)",
    },
    Peer {
        name: "snmalloc",
        stems: &["libsnmallocshim", "libsnmallocshim-checks"],
        remedy: "build it (target snmallocshim)",
    },
];

/// Where libraries are, whatever the loader's cache says.
const DIRECTORIES: [&str; 7] = [
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];

impl Peer {
    /// The one of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PEERS.iter().find(|peer| peer.name == name)
    }

    /// Its library.
    pub fn find(&self) -> anyhow::Result<PathBuf> {
        let found = self.find_among(candidates());
        let Some(found) = found.into_iter().find(|path| library::check(path).is_ok()) else {
            bail!(
                "{} is not installed: no {}.so in the loader's cache or in the usual directories. \
                 Remedy: {}, or give the path of its library",
                self.name,
                self.stems[0],
                self.remedy
            );
        };
        Ok(found)
    }

    /// Its libraries among `files`, those of the first stem first.
    fn find_among(&self, files: Vec<PathBuf>) -> Vec<PathBuf> {
        let of_stem = |stem: &str| files.iter().filter(|path| is_version_of(path, stem)).cloned().collect::<Vec<_>>();
        self.stems.iter().copied().flat_map(of_stem).collect()
    }
}

/// Whether the file is called `STEM.so` or `STEM.so.1.2`.
fn is_version_of(path: &Path, stem: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(stem));
    let version = name.and_then(|name| name.strip_prefix(".so"));
    version.is_some_and(|version| {
        version.is_empty()
            || version.starts_with('.') && version.chars().all(|char| char == '.' || char.is_ascii_digit())
    })
}

/// All files that may be libraries: those that the loader knows, then those of the directories, later versions first.
fn candidates() -> Vec<PathBuf> {
    let listing = ["ldconfig", "/sbin/ldconfig"]
        .into_iter()
        .find_map(|program| Command::new(program).arg("-p").stdin(Stdio::null()).stderr(Stdio::null()).output().ok());
    let listing = listing.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let in_directories = DIRECTORIES.iter().flat_map(|directory| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort_unstable_by(|one, other| other.cmp(one));
        paths
    });
    listed(&listing).chain(in_directories).collect()
}

/// The paths in what `ldconfig -p` prints: `NAME (libc6,x86-64) => PATH`.
fn listed(listing: &str) -> impl Iterator<Item = PathBuf> {
    listing.lines().filter_map(|line| Some(line.split_once(" => ")?.1.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hakmem_workloads::WORKLOADS;

    fn find(name: &str, files: &[&str]) -> Vec<PathBuf> {
        Peer::named(name).unwrap().find_among(files.iter().map(PathBuf::from).collect())
    }

    #[test]
    fn libraries_are_known_by_their_stems() {
        let files = ["/a/libtcmalloc.so.4", "/b/libtcmalloc_minimal.so.4.5.10", "/b/libtcmalloc_minimal.so.old"];
        let expected: Vec<PathBuf> = vec![files[1].into(), files[0].into()];
        assert_eq!(find("tcmalloc", &files), expected);
        assert_eq!(find("mimalloc", &["/a/libmimalloc.so"]), [PathBuf::from("/a/libmimalloc.so")]);
        let others = [
            "/a/libmimalloc-secure.so.2",
            "/a/mimalloc.so",
            "/a/libmimalloc.a",
            "/a/libmimalloc.so.x",
            "/a/libmimallo",
        ];
        assert!(find("mimalloc", &others).is_empty());
        assert_eq!(find("snmalloc", &["/a/libsnmallocshim-checks.so"]).len(), 1);
    }

    #[test]
    fn the_loaders_cache_is_understood() {
        let listing = "2 libs found in cache `/etc/ld.so.cache'\n\
                       \tlibjemalloc.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libjemalloc.so.2\n\
                       \tlibz.so.1 (libc6,x86-64) => /lib/libz.so.1\nCache generated by: ldconfig\n";
        let paths: Vec<_> = listed(listing).collect();
        assert_eq!(paths, ["/lib/x86_64-linux-gnu/libjemalloc.so.2", "/lib/libz.so.1"].map(PathBuf::from));
    }

    /// So that `bench --against NAME WORKLOAD` can tell them apart.
    #[test]
    fn no_peer_is_called_like_a_workload_or_preset() {
        for peer in &PEERS {
            assert!(WORKLOADS.iter().all(|workload| workload.name != peer.name));
            assert!(hakmem::PRESETS.iter().all(|preset| preset.name != peer.name));
        }
    }
}

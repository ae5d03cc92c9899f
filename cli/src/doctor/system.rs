//! What the system tells about itself. What follows for hakmem is in `limits`.

use std::fs;
use std::path::PathBuf;
use std::thread;

use rustix::process::{Resource, getrlimit};

/// What was read.
#[derive(Clone, Debug)]
pub struct System {
    /// The name of the distribution.
    pub distribution: Option<String>,
    pub kernel_name: String,
    pub kernel: String,
    pub machine: String,
    /// The version of the glibc that this process runs with.
    pub glibc: Option<String>,
    pub page: usize,
    /// Most bytes of address space that a process may have; None without a limit.
    pub address_space: Option<u64>,
    pub overcommit: Option<u64>,
    pub mappings: Option<u64>,
    /// Who gets huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Processors that are there.
    pub online: Option<usize>,
    /// Those that this process may use.
    pub allowed: Option<usize>,
    /// As many as a quota of processor time is worth, too.
    pub parallel: Option<usize>,
}

impl System {
    /// Reads it.
    pub fn read() -> Self {
        let uname = rustix::system::uname();
        let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
        let file = |path: &str| fs::read_to_string(path).ok();
        let number = |path: &str| file(path)?.trim().parse().ok();
        let release = file("/etc/os-release").unwrap_or_default();
        Self {
            distribution: release
                .lines()
                .find_map(|line| Some(line.strip_prefix("PRETTY_NAME=")?.trim_matches('"').into())),
            kernel_name: text(uname.sysname()),
            kernel: text(uname.release()),
            machine: text(uname.machine()),
            glibc: libc().and_then(|path| glibc_version(&fs::read(path).ok()?)),
            page: rustix::param::page_size(),
            address_space: getrlimit(Resource::As).current,
            overcommit: number("/proc/sys/vm/overcommit_memory"),
            mappings: number("/proc/sys/vm/max_map_count"),
            huge_pages: file("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)),
            online: file("/sys/devices/system/cpu/online").and_then(|text| processors(&text)),
            allowed: file("/proc/self/status")
                .and_then(|text| processors(text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)),
            parallel: thread::available_parallelism().ok().map(Into::into),
        }
    }
}

/// The libc of this process.
fn libc() -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    paths.find(|path| path.ends_with("/libc.so.6")).map(Into::into)
}

/// The version that glibc says it has: `GNU C Library (...) stable release version 2.36.`
fn glibc_version(library: &[u8]) -> Option<String> {
    const BEFORE: &[u8] = b" release version ";
    let banner = library.windows(b"GNU C Library ".len()).position(|bytes| bytes == b"GNU C Library ")?;
    let banner = &library[banner..library.len().min(banner + 256)];
    let at = banner.windows(BEFORE.len()).position(|bytes| bytes == BEFORE)? + BEFORE.len();
    let version: Vec<u8> =
        banner[at..].iter().copied().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').collect();
    Some(String::from_utf8(version).ok()?.trim_end_matches('.').into())
}

/// The word in brackets.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.into())
}

/// How many processors a list like `0-3,8` has.
fn processors(list: &str) -> Option<usize> {
    let of_part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.trim().split(',').map(of_part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_and_glibc_write_is_understood() {
        let banner = b"\0\x01GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\nCopyright";
        assert_eq!(glibc_version(banner).as_deref(), Some("2.36"));
        assert_eq!(glibc_version(b"musl libc"), None);
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(processors("0-3,8\n"), Some(5));
        assert_eq!(processors("\t0"), Some(1));
        assert_eq!(processors(""), None);
    }

    #[test]
    fn this_system_can_be_read() {
        let system = System::read();
        assert!(system.glibc.is_some_and(|version| version.starts_with("2.")));
        assert!(system.allowed.is_some() && !system.kernel.is_empty());
    }
}

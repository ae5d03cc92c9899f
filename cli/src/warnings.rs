//! Reasons why a program keeps its own malloc whatever LD_PRELOAD says.
//!
//! Each is a warning and none an error: the program runs, only not under hakmem.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::elf::{self, Elf};

const SET_USER_ID: u32 = 0o4000;
/// Without the execute bit of the group, set-group-ID means something else.
const SET_GROUP_ID: u32 = 0o2010;

/// Why the process that starts with the file `image` would not use the library; each completes "PROGRAM ...".
/// Empty when it would, and when the file cannot be examined.
pub fn of(image: &Path) -> Vec<&'static str> {
    let Ok(file) = File::open(image) else {
        return Vec::new();
    };
    let rights = file.metadata().ok().and_then(|metadata| {
        let gains = gained(&metadata, has_capabilities(image));
        gains.reason(rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw())
    });
    let linkage = elf::look(file).ok().flatten().and_then(|elf| unreachable(&elf));
    rights.into_iter().chain(linkage).collect()
}

/// The rights that a program gives to its process.
struct Gained {
    user: Option<u32>,
    group: Option<u32>,
    capabilities: bool,
}

fn gained(metadata: &Metadata, capabilities: bool) -> Gained {
    let mode = metadata.mode();
    Gained {
        user: (mode & SET_USER_ID == SET_USER_ID).then(|| metadata.uid()),
        group: (mode & SET_GROUP_ID == SET_GROUP_ID).then(|| metadata.gid()),
        capabilities,
    }
}

fn has_capabilities(image: &Path) -> bool {
    let mut value = [0; 64];
    rustix::fs::getxattr(image, "security.capability", &mut value).is_ok()
}

impl Gained {
    /// The loader is in secure mode, and ignores paths in LD_PRELOAD, when the process has more rights than the user
    /// who started it: not when they are the user's own.
    fn reason(&self, user: u32, group: u32) -> Option<&'static str> {
        if self.user.is_some_and(|owner| owner != user) {
            Some("is set-user-ID: the loader ignores LD_PRELOAD, so it runs without hakmem")
        } else if self.group.is_some_and(|owner| owner != group) {
            Some("is set-group-ID: the loader ignores LD_PRELOAD, so it runs without hakmem")
        } else if self.capabilities && user != 0 {
            Some("has file capabilities: the loader ignores LD_PRELOAD, so it runs without hakmem")
        } else {
            None
        }
    }
}

fn unreachable(elf: &Elf) -> Option<&'static str> {
    if !elf.x86_64 {
        return Some("is not for x86-64: its loader cannot load the library, so it runs without hakmem");
    }
    // A loader run by hand loads a program, and preloads for it.
    let loader = elf.soname.as_ref().is_some_and(|name| name.starts_with(b"ld-"));
    match &elf.interpreter {
        None if loader => None,
        None => Some("is statically linked: no loader reads LD_PRELOAD, so it runs without hakmem"),
        Some(path) if path.windows(8).any(|part| part == b"/ld-musl") => {
            Some("is linked with musl, and the library needs glibc: it may not start")
        }
        // The executable comes before every library in the loader's search.
        Some(_) if elf.defines_malloc => Some("exports a malloc of its own, which comes before hakmem's"),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rights_that_the_user_lacks_matter() {
        let gained = |user, group, capabilities| Gained { user, group, capabilities };
        assert_eq!(gained(None, None, false).reason(1000, 100), None);
        assert_eq!(gained(Some(1000), Some(100), false).reason(1000, 100), None);
        assert!(gained(Some(0), None, false).reason(1000, 100).unwrap().contains("set-user-ID"));
        assert!(gained(None, Some(0), false).reason(1000, 100).unwrap().contains("set-group-ID"));
        assert!(gained(None, None, true).reason(1000, 100).unwrap().contains("capabilities"));
        assert_eq!(gained(None, None, true).reason(0, 0), None);
    }

    #[test]
    fn the_mode_names_the_rights() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        let gained = |mode| {
            file.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
            let gained = gained(&file.as_file().metadata().unwrap(), false);
            (gained.user.is_some(), gained.group.is_some())
        };
        assert_eq!(gained(0o755), (false, false));
        assert_eq!(gained(0o4755), (true, false));
        assert_eq!(gained(0o2755), (false, true));
        assert_eq!(gained(0o2745), (false, false));
    }

    #[test]
    fn who_can_be_reached() {
        let elf = |interpreter: Option<&str>, defines_malloc, soname: Option<&str>| Elf {
            x86_64: true,
            interpreter: interpreter.map(Into::into),
            soname: soname.map(Into::into),
            defines_malloc,
        };
        let glibc = Some("/lib64/ld-linux-x86-64.so.2");
        assert_eq!(unreachable(&elf(glibc, false, None)), None);
        assert_eq!(unreachable(&elf(None, true, Some("ld-linux-x86-64.so.2"))), None);
        assert!(unreachable(&elf(glibc, true, None)).unwrap().contains("malloc of its own"));
        assert!(unreachable(&elf(None, true, None)).unwrap().contains("statically linked"));
        assert!(unreachable(&elf(Some("/lib/ld-musl-x86_64.so.1"), false, None)).unwrap().contains("musl"));
        assert!(unreachable(&Elf::default()).unwrap().contains("x86-64"));
    }
}

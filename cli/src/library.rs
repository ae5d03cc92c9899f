//! Which library `run` preloads: one beside this executable, if it is the preset's and not out of date, or a new one.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};

use crate::compile::{self, Sources};
use crate::elf::{self, Elf};
use crate::preset::library_name;
use crate::remedy::OrRemedy;

/// The name that cargo gives to the library, whatever the preset.
const CARGO_NAME: &str = "libhakmem.so";

/// The library of `preset`: found beside this executable, or built there. The path is absolute.
pub fn of_preset(preset: &str) -> anyhow::Result<PathBuf> {
    let executable =
        env::current_exe().or_remedy(|| "cannot tell where this executable is", "name a library with --lib")?;
    let directory = executable.parent().context("this executable is in no directory. Remedy: use --lib")?;
    let sources = Sources::find();
    let newest = sources.as_ref().map(|sources| sources.newest()).transpose()?;
    if let Some(found) = find(directory, &library_name(preset), newest) {
        return Ok(found);
    }
    let Some(sources) = sources else {
        bail!(
            "there is no {} in `{}`, and the sources to build it from are not where they were. \
             Remedy: copy the library there, or name one with --lib",
            library_name(preset),
            directory.display()
        );
    };
    eprintln!("hakmem: building preset {preset} (once)");
    compile::build(&sources, preset, directory)
}

/// The library called `soname` in `directory`, unless it is older than `newest`, the newest source.
fn find(directory: &Path, soname: &str, newest: Option<SystemTime>) -> Option<PathBuf> {
    let current = |path: &Path| {
        newest.is_none_or(|newest| fs::metadata(path).and_then(|found| found.modified()).is_ok_and(|at| at >= newest))
    };
    [soname, CARGO_NAME]
        .iter()
        .map(|name| directory.join(name))
        .find(|path| current(path) && is_library_of(path, soname))
}

/// Whether `path` was built for the preset: the name of the file proves nothing, cargo writes every preset to one name.
pub fn is_library_of(path: &Path, soname: &str) -> bool {
    look(path).is_ok_and(|elf| elf.defines_malloc && elf.soname.as_deref() == Some(soname.as_bytes()))
}

/// Refuses a file that the loader would skip with no more than a message, or that has no malloc to offer.
pub fn check(path: &Path) -> anyhow::Result<()> {
    let elf = look(path);
    let fault = match &elf {
        Err(error) => format!("{error:#}"),
        Ok(elf) if !elf.x86_64 => "it is not for x86-64".into(),
        // What cargo builds when no feature names a preset.
        Ok(elf) if !elf.defines_malloc => "it exports no malloc".into(),
        Ok(_) => return Ok(()),
    };
    bail!("cannot preload `{}`: {fault}. Remedy: name a library that `hakmem build` wrote", path.display())
}

fn look(path: &Path) -> anyhow::Result<Elf> {
    let file = File::open(path)?;
    // An open FIFO or directory would hang or say something obscure.
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file").into());
    }
    elf::look(file)?.context("it is not a library")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Some library of this machine with a soname and a malloc: libc itself.
    fn libc() -> (PathBuf, String) {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let path = maps.lines().find_map(|line| Some(&line[line.find('/')?..]).filter(|path| path.contains("libc.so")));
        (path.expect("the test is linked with libc").into(), "libc.so.6".into())
    }

    #[test]
    fn a_library_is_known_by_its_soname() {
        let (path, soname) = libc();
        assert!(is_library_of(&path, &soname));
        assert!(!is_library_of(&path, "libhakmem-mixed.so"));
        assert!(check(&path).is_ok());
    }

    #[test]
    fn what_is_no_allocator_is_refused() {
        let message = |path: &Path| format!("{:#}", check(path).unwrap_err());
        assert!(message(Path::new("/nowhere.so")).contains("No such file"));
        assert!(message(Path::new("/")).contains("not a regular file"));
        assert!(message(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).contains("not a library"));
        assert!(message(&env::current_exe().unwrap()).contains("no malloc"));
    }

    #[test]
    fn the_library_beside_the_executable() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let (libc, soname) = libc();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let copy = |name: &str, seconds| {
            let path = directory.join(name);
            fs::copy(&libc, &path).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(at(seconds)).unwrap();
            path
        };
        assert_eq!(find(directory, &soname, None), None);
        // By cargo's name, if its soname is right.
        let cargos = copy(CARGO_NAME, 200);
        assert_eq!(find(directory, "libhakmem-mixed.so", None), None);
        assert_eq!(find(directory, &soname, None), Some(cargos.clone()));
        // The preset's own name comes first, unless it is out of date.
        let own = copy(&soname, 100);
        assert_eq!(find(directory, &soname, None), Some(own.clone()));
        assert_eq!(find(directory, &soname, Some(at(100))), Some(own));
        assert_eq!(find(directory, &soname, Some(at(101))), Some(cargos));
        assert_eq!(find(directory, &soname, Some(at(201))), None);
        // Not what merely has the name.
        fs::write(directory.join("libhakmem-mixed.so"), "half a file").unwrap();
        assert_eq!(find(directory, "libhakmem-mixed.so", None), None);
    }
}

//! Which library `run` preloads: one beside this executable, if it is the preset's and not out of date, or a new one.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};

use crate::compile;
use crate::elf::{self, Elf};
use crate::flips::Flips;
use crate::preset::Choice;
use crate::remedy::OrRemedy;
use crate::sources::Sources;

/// The name that cargo gives to the library, whatever the preset.
const CARGO_NAME: &str = "libhakmem.so";

/// The library of the preset: found beside this executable, or built there. The path is absolute.
pub fn of_preset(choice: &Choice) -> anyhow::Result<PathBuf> {
    let preset = choice.preset()?;
    let executable =
        env::current_exe().or_remedy(|| "cannot tell where this executable is", "name a library with --lib")?;
    let directory = executable.parent().context("this executable is in no directory. Remedy: use --lib")?;
    let sources = Sources::find();
    // That a library was made from this file and no other of its name only cargo knows.
    if preset.file.is_none() {
        let newest = sources.as_ref().map(|sources| sources.newest()).transpose()?;
        // What cargo put beside this executable was built as programs are.
        let cargos = (preset.profile == "release").then_some(CARGO_NAME);
        if let Some(found) = find(directory, &preset.library(), cargos, newest) {
            return Ok(found);
        }
    }
    let (name, library) = (&preset.name, preset.library());
    let Some(sources) = sources else {
        bail!(
            "there is no {library} in `{}`, and the sources to build it from are not where they were. \
             Remedy: copy the library there, or name one with --lib",
            directory.display()
        );
    };
    match &preset.file {
        None => eprintln!("hakmem: building preset {name} (once)"),
        Some(file) => eprintln!("hakmem: building preset {name} from {}", file.display()),
    }
    compile::build(&sources, &preset, &Flips::default(), directory)
}

/// The library called `soname` in `directory`, under that name or under `other`, unless it is older than `newest`, the
/// newest source.
fn find(directory: &Path, soname: &str, other: Option<&str>, newest: Option<SystemTime>) -> Option<PathBuf> {
    let current = |path: &Path| {
        newest.is_none_or(|newest| fs::metadata(path).and_then(|found| found.modified()).is_ok_and(|at| at >= newest))
    };
    std::iter::once(soname)
        .chain(other)
        .map(|name| directory.join(name))
        .find(|path| current(path) && soname_of(path).as_deref() == Some(soname))
}

/// What the library at `path` is called; None if it is not one with a malloc. The name of the file proves nothing:
/// cargo writes every preset to one name.
pub fn soname_of(path: &Path) -> Option<String> {
    let elf = look(path).ok().filter(|elf| elf.defines_malloc)?;
    String::from_utf8(elf.soname?).ok()
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

    /// A library that this test is linked with.
    fn linked(name: &str) -> PathBuf {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let path = maps.lines().find_map(|line| Some(&line[line.find('/')?..]).filter(|path| path.contains(name)));
        path.unwrap_or_else(|| panic!("the test is not linked with {name}")).into()
    }

    /// Some library with a soname and a malloc.
    fn libc() -> PathBuf {
        linked("libc.so")
    }

    #[test]
    fn a_library_is_known_by_its_soname() {
        assert_eq!(soname_of(&libc()).as_deref(), Some("libc.so.6"));
        assert!(check(&libc()).is_ok());
        // A library without a malloc, an executable, and no ELF file.
        assert_eq!(soname_of(&linked("libgcc_s.so")), None);
        assert_eq!(soname_of(&env::current_exe().unwrap()), None);
        assert_eq!(soname_of(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))), None);
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
        let (libc, soname) = (libc(), "libc.so.6");
        let find = |soname, other, newest| super::find(directory, soname, other, newest);
        let cargos_name = Some(CARGO_NAME);
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let copy = |name: &str, seconds| {
            let path = directory.join(name);
            fs::copy(&libc, &path).unwrap();
            File::options().write(true).open(&path).unwrap().set_modified(at(seconds)).unwrap();
            path
        };
        assert_eq!(find(soname, cargos_name, None), None);
        // By cargo's name, if its soname is right.
        let cargos = copy(CARGO_NAME, 200);
        assert_eq!(find("libhakmem-mixed.so", cargos_name, None), None);
        assert_eq!(find(soname, cargos_name, None), Some(cargos.clone()));
        assert_eq!(find(soname, None, None), None);
        // The preset's own name comes first, unless it is out of date.
        let own = copy(soname, 100);
        assert_eq!(find(soname, cargos_name, None), Some(own.clone()));
        assert_eq!(find(soname, cargos_name, Some(at(100))), Some(own));
        assert_eq!(find(soname, cargos_name, Some(at(101))), Some(cargos));
        assert_eq!(find(soname, cargos_name, Some(at(201))), None);
        // Not what merely has the name.
        fs::write(directory.join("libhakmem-mixed.so"), "half a file").unwrap();
        assert_eq!(find("libhakmem-mixed.so", cargos_name, None), None);
    }
}

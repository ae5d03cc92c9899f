//! `hakmem run`: puts the library first in LD_PRELOAD and becomes the program.

use std::convert::Infallible;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{self, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::args::RunArgs;
use crate::program::{self, CannotRun};
use crate::{library, warnings};

const LD_PRELOAD: &str = "LD_PRELOAD";

/// Returns only when the program does not run; why is a [`CannotRun`] where the program is to blame.
pub fn run(args: &RunArgs) -> anyhow::Result<Infallible> {
    let (name, arguments) = args.program.split_first().context("no program was named")?;
    // Before the library: a mistyped name should not have to wait for a build.
    let path = program::resolve(name)?;
    let library = library(args)?;
    let preload = preload(&library, env::var_os(LD_PRELOAD))?;
    for reason in warnings::of(&program::image(&path)) {
        eprintln!("hakmem: warning: `{}` {reason}", name.display());
    }
    let error = Command::new(&path).arg0(name).args(arguments).env(LD_PRELOAD, preload).exec();
    Err(CannotRun::from_exec(&path, &error).into())
}

/// An absolute path, so that it holds wherever the program and those that it starts change to.
fn library(args: &RunArgs) -> anyhow::Result<PathBuf> {
    let Some(path) = &args.lib else {
        return library::of_preset(&args.preset);
    };
    library::check(path)?;
    Ok(path::absolute(path)?)
}

/// The value of LD_PRELOAD: ours, then what was there.
fn preload(library: &Path, existing: Option<OsString>) -> anyhow::Result<OsString> {
    if library.as_os_str().as_bytes().iter().any(|byte| b": ".contains(byte)) {
        bail!(
            "the path of the library, `{}`, has a space or colon in it, where LD_PRELOAD would be split. Remedy: copy \
             the library elsewhere, or write one there with `hakmem build --out DIR`, and name it with --lib",
            library.display()
        );
    }
    let mut value = library.as_os_str().to_owned();
    if let Some(existing) = existing.filter(|existing| !existing.is_empty()) {
        value.push(OsStr::new(":"));
        value.push(existing);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_comes_first() {
        let value = |existing: Option<&str>| preload(Path::new("/a.so"), existing.map(Into::into)).unwrap();
        assert_eq!(value(None), "/a.so");
        assert_eq!(value(Some("")), "/a.so");
        assert_eq!(value(Some("/b.so /c.so")), "/a.so:/b.so /c.so");
    }

    #[test]
    fn a_path_that_the_loader_would_split_is_refused() {
        assert!(preload(Path::new("/my files/a.so"), None).is_err());
        assert!(preload(Path::new("/a:b/a.so"), None).is_err());
    }
}

//! A side of a comparison: an allocator, as it is named on the command line and as it is preloaded.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::bench::interrupt;
use crate::bench::peers::{PEERS, Peer};
use crate::flips::{self, Flips};
use crate::mistakes::nearest;
use crate::preset::Choice;
use crate::remedy::OrRemedy;
use crate::sources::Sources;
use crate::{compile, library};

/// libc's own malloc, on the command line.
pub const LIBC: &str = "libc";

/// What an argument names.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// libc's own malloc.
    Libc,
    /// An allocator that is known by name.
    Peer(&'static Peer),
    /// Any library with a malloc.
    Library(PathBuf),
    /// A preset, changed by features of the core: `KNOB` and `no-KNOB`.
    Preset(Choice, Vec<String>),
}

impl Wanted {
    /// Reads an argument.
    pub fn parse(argument: &str) -> Result<Self, String> {
        let path = Path::new(argument);
        if argument == LIBC {
            Ok(Self::Libc)
        } else if let Some(peer) = Peer::named(argument) {
            Ok(Self::Peer(peer))
        } else if path.file_name().is_some_and(is_library) {
            Ok(Self::Library(path.into()))
        } else {
            Self::parse_preset(argument)
        }
    }

    /// Reads an argument that can name nothing but a preset: `PRESET`, `PRESET+KNOB`, `PRESET+no-KNOB`.
    pub fn parse_preset(argument: &str) -> Result<Self, String> {
        let mut parts = argument.split('+');
        let name = parts.next().unwrap_or_default();
        let flips = parts.map(|flip| {
            flips::parse(flip.strip_prefix("no-").unwrap_or(flip)).map_err(|what| format!("`{flip}`: {what}"))?;
            Ok(flip.to_owned())
        });
        let flips = flips.collect::<Result<Vec<_>, String>>()?;
        if name.contains('/') || Path::new(name).extension() == Some(OsStr::new("toml")) {
            return Ok(Self::Preset(Choice::File(name.into()), flips));
        }
        let known = hakmem::PRESETS.iter().find(|preset| [preset.name, preset.hakmem].contains(&name));
        match known {
            Some(preset) if !name.is_empty() => Ok(Self::Preset(Choice::Own(preset), flips)),
            _ => {
                let names = hakmem::PRESETS.iter().map(|preset| preset.name);
                let names = names.chain(PEERS.iter().map(|peer| peer.name)).chain([LIBC]);
                Err(format!(
                    "there is no such preset, allocator or library. Remedy: {}",
                    nearest(name, names, "name a preset (`hakmem presets` lists them) or the path of a library")
                ))
            }
        }
    }

    /// What a preset with these changes is called in tables.
    pub fn preset_name(choice: &Choice, flips: &[String]) -> anyhow::Result<String> {
        Ok([&[choice.preset()?.name], flips].concat().join("+"))
    }
}

/// `x.so`, `x.so.2`
fn is_library(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.ends_with(b".so") || name.windows(4).any(|part| part == b".so.")
}

/// An allocator to run under.
#[derive(Clone, Debug)]
pub struct Side {
    /// What it is called in tables.
    pub name: String,
    /// What is preloaded; nothing for libc.
    pub library: Option<PathBuf>,
    /// What the library calls itself.
    pub soname: Option<String>,
}

/// Finds and builds what is wanted. The libraries that it builds go when it does.
#[derive(Default)]
pub struct Sides {
    directory: Option<TempDir>,
}

impl Sides {
    /// The sides that are wanted. Libraries are called by their files' names, if these tell them apart.
    pub fn make_all(&mut self, wanted: &[Wanted]) -> anyhow::Result<Vec<Side>> {
        let mut sides = wanted.iter().map(|wanted| self.make(wanted)).collect::<Result<Vec<_>, _>>()?;
        let short = |name: &str| Path::new(name).file_name().map(|name| name.to_string_lossy().into_owned());
        let names: HashSet<_> = sides.iter().map(|side| short(&side.name)).collect();
        if names.len() == sides.len() {
            for side in &mut sides {
                side.name = short(&side.name).unwrap_or_default();
            }
        }
        Ok(sides)
    }

    /// The side that is wanted.
    pub fn make(&mut self, wanted: &Wanted) -> anyhow::Result<Side> {
        let (name, library) = match wanted {
            Wanted::Libc => return Ok(Side { name: LIBC.into(), library: None, soname: None }),
            Wanted::Peer(peer) => (peer.name.to_owned(), peer.find()?),
            Wanted::Library(path) => {
                library::check(path)?;
                (path.display().to_string(), path::absolute(path)?)
            }
            Wanted::Preset(choice, flips) => (Wanted::preset_name(choice, flips)?, self.build(choice, flips)?),
        };
        if library.as_os_str().as_bytes().iter().any(|byte| b": ".contains(byte)) {
            bail!(
                "the path of the library, `{}`, has a space or colon in it, where LD_PRELOAD would be split. \
                 Remedy: copy the library elsewhere",
                library.display()
            );
        }
        let soname = library::soname_of(&library);
        Ok(Side { name, library: Some(library), soname })
    }

    /// Builds a preset now, as `hakmem build` does: a library that lies about might have been built otherwise.
    fn build(&mut self, choice: &Choice, flips: &[String]) -> anyhow::Result<PathBuf> {
        let sources = Sources::find().context(
            "the sources to build a preset from are not where they were. \
             Remedy: name libraries that `hakmem build` wrote where they are",
        )?;
        if self.directory.is_none() {
            // Not in /tmp, from where a library may be not allowed to execute.
            let target = sources.root().join("target");
            let directory = std::fs::create_dir_all(&target)
                .and_then(|()| tempfile::Builder::new().prefix("measured-").tempdir_in(&target))
                .or_remedy(|| format!("cannot write to `{}`", target.display()), "make it writable")?;
            self.directory = Some(directory);
        }
        let directory = self.directory.as_ref().expect("it was made above");
        let (without, with): (Vec<_>, Vec<_>) = flips.iter().cloned().partition(|flip| flip.starts_with("no-"));
        let without: Vec<_> = without.iter().map(|flip| flip["no-".len()..].to_owned()).collect();
        let built = compile::build(&sources, &choice.preset()?, &Flips::new(&with, &without), directory.path());
        // The compiler ends at Ctrl-C, too, and has less to say about it.
        interrupt::check()?;
        built
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_names_one_of_four_things() {
        assert_eq!(Wanted::parse("libc"), Ok(Wanted::Libc));
        assert!(matches!(Wanted::parse("jemalloc"), Ok(Wanted::Peer(peer)) if peer.name == "jemalloc"));
        for path in ["x.so", "./x.so.2", "/a/b/libc.so.6"] {
            assert_eq!(Wanted::parse(path), Ok(Wanted::Library(path.into())));
        }
        let mixed = || Choice::Own(hakmem::PRESETS.iter().find(|preset| preset.name == "mixed").unwrap());
        assert_eq!(Wanted::parse("mixed"), Ok(Wanted::Preset(mixed(), vec![])));
        assert_eq!(Wanted::parse("MIXED_TINYV3_C7_SAFE"), Ok(Wanted::Preset(mixed(), vec![])));
        let flips = vec!["prefetch".to_owned(), "no-free-dualhot".to_owned()];
        assert_eq!(Wanted::parse("mixed+prefetch+no-free-dualhot"), Ok(Wanted::Preset(mixed(), flips)));
        let file = Wanted::Preset(Choice::File("./mine.toml".into()), vec!["prefetch".to_owned()]);
        assert_eq!(Wanted::parse("./mine.toml+prefetch"), Ok(file));
    }

    #[test]
    fn a_slip_is_answered_with_the_name() {
        let wrong = |argument: &str| Wanted::parse(argument).unwrap_err();
        assert!(wrong("mixd").contains("write `mixed`"));
        assert!(wrong("jemaloc").contains("write `jemalloc`"));
        assert!(wrong("").contains("Remedy: "));
        assert!(wrong("mixed+fre-keep").contains("`fre-keep`: there is no such knob. Remedy: write `free-keep`"));
        assert!(wrong("mixed+no-fre-keep").contains("write `free-keep`"));
        assert!(wrong("mixed+").contains("no such knob"));
    }

    #[test]
    fn what_is_not_there_or_no_library_is_refused() {
        let make = |argument: &str| Sides::default().make(&Wanted::parse(argument).unwrap());
        let message = make("/no/such/library.so").unwrap_err().to_string();
        assert!(message.contains("`/no/such/library.so`: No such file") && message.contains("Remedy: "), "{message}");
        let libraries = |names: &[&str]| {
            let wanted: Vec<_> = names.iter().map(|name| Wanted::parse(name).unwrap()).collect();
            let sides = Sides::default().make_all(&wanted).unwrap();
            sides.into_iter().map(|side| side.name).collect::<Vec<_>>()
        };
        // The library that this test is linked with, which may have a second path.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let path = maps.lines().find_map(|line| Some(&line[line.find('/')?..]).filter(|path| path.contains("libc.so")));
        let (path, name) = (path.unwrap(), path.unwrap().rsplit('/').next().unwrap());
        assert_eq!(libraries(&["libc", path]), ["libc", name]);
        assert_eq!(libraries(&[path, path]), [path, path]);
        let libc = make("libc").unwrap();
        assert_eq!((libc.name.as_str(), libc.library), ("libc", None));
    }
}

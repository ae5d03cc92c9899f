//! `hakmem build`: writes the libraries of presets to a directory.

use std::fs;

use anyhow::{Context, bail};

use crate::args::BuildArgs;
use crate::compile;
use crate::preset::{Choice, Preset};
use crate::remedy::OrRemedy;
use crate::sources::Sources;
use crate::text;

/// Builds each preset that is asked for, once, and prints the path and size of each library.
pub fn build(args: &BuildArgs) -> anyhow::Result<()> {
    let sources = Sources::find().context(
        "the sources that this command was built from are not where they were. \
         Remedy: build it again where they are now (cargo build --release)",
    )?;
    // Before the first build: a mistake in the last file should not have to wait for the others.
    let presets = presets(args.choices())?;
    let flips = args.flips();
    let directory = args.out.display();
    fs::create_dir_all(&args.out)
        .or_remedy(|| format!("cannot create `{directory}`"), "name another directory with --out")?;
    for preset in &presets {
        let path = compile::build(&sources, preset, &flips, &args.out)?;
        let kib = fs::metadata(&path)?.len().div_ceil(1024);
        text::print(&format!("{}  {kib} KiB\n", path.display()))?;
    }
    Ok(())
}

/// The presets that are chosen, each with a library of its own.
fn presets(choices: Vec<Choice>) -> anyhow::Result<Vec<Preset>> {
    let presets: Vec<_> = choices.iter().map(Choice::preset).collect::<Result<_, _>>()?;
    for (index, preset) in presets.iter().enumerate() {
        if presets[..index].iter().any(|other| other.name == preset.name) {
            bail!(
                "two of the presets are called {0}, and both would be written to {1}. \
                 Remedy: rename a file, or build them one by one, with another --out",
                preset.name,
                preset.library()
            );
        }
    }
    Ok(presets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_is_written_once() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = directory.path().join(name).join("mine.toml");
            fs::create_dir(path.parent().unwrap()).unwrap();
            fs::write(&path, "summary = \"Mine\"").unwrap();
            Choice::File(path)
        };
        let (one, other) = (file("one"), file("other"));
        assert_eq!(presets(Choice::all()).unwrap().len(), hakmem::PRESETS.len());
        assert_eq!(presets(vec![one.clone()]).unwrap()[0].name, "mine");
        let message = presets(vec![one, other]).unwrap_err().to_string();
        assert!(message.contains("libhakmem-mine.so") && message.contains("Remedy: "), "{message}");
    }
}

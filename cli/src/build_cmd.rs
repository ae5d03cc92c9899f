//! `hakmem build`: writes the libraries of presets to a directory.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};

use anyhow::Context;

use crate::BuildArgs;
use crate::compile::{self, Sources};
use crate::preset::PRESETS;
use crate::remedy::OrRemedy;

/// Builds each preset that is asked for, once, and prints the path and size of each library.
pub fn build(args: &BuildArgs) -> anyhow::Result<()> {
    let sources = Sources::find().context(
        "the sources that this command was built from are not where they were. \
         Remedy: build it again where they are now (cargo build --release)",
    )?;
    let presets: BTreeSet<&str> = if args.all {
        PRESETS.iter().map(|preset| preset.name).collect()
    } else {
        args.presets.iter().map(String::as_str).collect()
    };
    let directory = args.out.display();
    fs::create_dir_all(&args.out)
        .or_remedy(|| format!("cannot create `{directory}`"), "name another directory with --out")?;
    for preset in presets {
        let path = compile::build(&sources, preset, &args.out)?;
        let kib = fs::metadata(&path)?.len().div_ceil(1024);
        writeln!(io::stdout(), "{}  {kib} KiB", path.display()).context("cannot write to stdout")?;
    }
    Ok(())
}

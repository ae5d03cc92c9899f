//! Makes the table of subjects from the presets of the library, so that a new preset is measured without a change here.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let subjects: Vec<_> = hakmem::PRESETS
        .iter()
        .map(|preset| format!("({:?}, run::<hakmem::{}> as Run)", preset.name, preset.type_name))
        .collect();
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo runs this and sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("subjects.rs"), format!("&[{}]", subjects.join(", ")))
}

//! Turns the `preset-*` features into the one preset whose C ABI `libhakmem.so` exports.
//!
//! Output: the cfg `hakmem_preset` and, for preload/build.rs, the metadata key `preset`.

use std::env;

/// Feature suffix (as in `CARGO_FEATURE_PRESET_*`), preset name, type in the crate.
const PRESETS: &[(&str, &str, &str)] = &[("MIXED", "mixed", "Mixed")];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(hakmem_preset)");
    let chosen: Vec<_> = PRESETS
        .iter()
        .filter(|(feature, ..)| env::var_os(format!("CARGO_FEATURE_PRESET_{feature}")).is_some())
        .collect();
    let selected = match chosen[..] {
        [] => String::new(),
        [(_, name, ty)] => {
            println!("cargo::rustc-cfg=hakmem_preset");
            println!("cargo::metadata=preset={name}");
            format!(
                "/// The preset `{name}`, chosen by the feature `preset-{name}`: what `libhakmem.so` exports.\n\
                 pub type Selected = crate::{ty};\n"
            )
        }
        _ => {
            let names: Vec<_> = chosen.iter().map(|(_, name, _)| format!("preset-{name}")).collect();
            println!(
                "cargo::error=the features {} exclude each other: one library has one C ABI. Remedy: name one of them.",
                names.join(" and ")
            );
            return;
        }
    };
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    std::fs::write(format!("{out}/selected.rs"), selected).expect("OUT_DIR is writable");
}

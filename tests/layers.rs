//! Layers call downwards only: abi and global, front, route, heap, os; `config` is read by all and reads nobody.

use std::fs;
use std::path::Path;

/// From the top; what stands in one line may use each other.
const LAYERS: &[&[&str]] =
    &[&["abi", "global", "lib", "preset"], &["front"], &["route"], &["heap"], &["os"], &["config"]];

fn rank(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|layer| layer.contains(&module))
        .unwrap_or_else(|| panic!("{module} is in no layer: give it one in tests/layers.rs"))
}

/// Modules of the crate that the code of `text` names, macros for other crates left out.
fn used(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//") && !line.contains("$crate"))
        .flat_map(|line| line.split("crate::").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(""))
}

fn check(path: &Path, own: &str, found: &mut usize) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a readable directory") {
            check(&entry.expect("a readable entry").path(), own, found);
        }
        return;
    }
    let text = fs::read_to_string(path).expect("a readable source");
    for module in used(&text).filter(|module| LAYERS.concat().contains(module)) {
        *found += 1;
        assert!(
            rank(module) > rank(own) || module == own || rank(own) == 0,
            "{} uses crate::{module}, which lies above or beside it",
            path.display()
        );
    }
}

#[test]
fn layers_call_downwards_only() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = 0;
    for entry in fs::read_dir(&sources).expect("a readable directory") {
        let path = entry.expect("a readable entry").path();
        let own = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if own == "presets" {
            // Preset files: no code.
            continue;
        }
        rank(&own);
        check(&path, &own, &mut found);
    }
    assert!(found > 50, "only {found} uses found: this test no longer reads the sources as they are written");
}

//! Turns the preset files into types, and the features into the one preset whose C ABI `libhakmem.so` exports.
//!
//! Output: `presets.rs`, which src/preset.rs includes; the cfg `hakmem_preset` if a preset was chosen; and for
//! preload/build.rs the metadata key `preset`, its name with what the features changed about it. Whatever is wrong with
//! a preset file or with the features fails the build with a sentence that ends with a remedy.

#[path = "src/config/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the library reads the rest")]
mod config;
#[path = "build/geometry.rs"]
mod geometry;
#[path = "build/mistakes.rs"]
mod mistakes;
#[path = "build/preset_file.rs"]
mod preset_file;
#[path = "build/section.rs"]
mod section;
#[path = "build/selection.rs"]
mod selection;

use mistakes::{Mistakes, list};
use preset_file::PresetFile;
use selection::Selection;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Where the preset files are.
const PRESETS: &str = "src/presets";
/// Names the file of the feature `preset-file`.
const FILE_VARIABLE: &str = "HAKMEM_PRESET_FILE";

fn main() {
    for path in ["build.rs", "build", "src/config", PRESETS] {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rustc-check-cfg=cfg(hakmem_preset)");
    match run() {
        Ok(warnings) => warnings.iter().for_each(|warning| println!("cargo::warning={warning}")),
        Err(errors) => errors.iter().for_each(|error| println!("cargo::error={error}")),
    }
}

/// Does everything. The result is what to warn of, or what is wrong.
fn run() -> Result<Vec<String>, Vec<String>> {
    let enabled = |feature: &str| {
        let name = feature.to_uppercase().replace('-', "_");
        env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
    };
    let presets = presets()?;
    let file = if enabled("preset-file") { Some(file(&presets)?) } else { None };

    let mistakes = Mistakes::of("features");
    let mut warnings = Vec::new();
    let selection = selection::select(&presets, file.as_ref(), enabled, &mistakes, &mut warnings);
    if !mistakes.none() {
        return Err(mistakes.into_list());
    }

    let mut text: String = presets.iter().map(preset_type).collect();
    text += &list_of(&presets);
    if let Some(selection) = &selection {
        text += &selected(selection);
        println!("cargo::rustc-cfg=hakmem_preset");
        println!("cargo::metadata=preset={}", selection.name());
    }
    let directory =
        env::var_os("OUT_DIR").ok_or_else(|| vec!["OUT_DIR is not set. Remedy: let cargo run this.".into()])?;
    let out = Path::new(&directory).join("presets.rs");
    fs::write(&out, text).map_err(|error| vec![unusable(&out, &error, "let cargo run this")])?;
    Ok(warnings)
}

/// What to say of a file that cannot be used.
fn unusable(path: &Path, error: &io::Error, remedy: &str) -> String {
    let mistakes = Mistakes::of(path.display().to_string());
    mistakes.add("", error, remedy);
    mistakes.into_list().concat()
}

/// The presets of the library, by name.
fn presets() -> Result<Vec<PresetFile>, Vec<String>> {
    let entries = fs::read_dir(PRESETS).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| vec![unusable(Path::new(PRESETS), &error, "restore the preset files")])?;
    let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let (mut presets, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match preset_file::read(&path, &path.display().to_string()) {
            Ok(preset) => presets.push(preset),
            Err(mistakes) => errors.extend(mistakes),
        }
    }
    if errors.is_empty() { Ok(presets) } else { Err(errors) }
}

/// The preset of the feature `preset-file`.
fn file(presets: &[PresetFile]) -> Result<PresetFile, Vec<String>> {
    println!("cargo::rerun-if-env-changed={FILE_VARIABLE}");
    let Some(path) = env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from) else {
        let mistakes = Mistakes::of("features");
        let what = format!("preset-file is given without the environment variable {FILE_VARIABLE}");
        mistakes.add("", what, "set it to the path of a preset file, or name a preset of the library");
        return Err(mistakes.into_list());
    };
    println!("cargo::rerun-if-changed={}", path.display());
    let shown = path.display().to_string();
    if let Err(error) = fs::metadata(&path) {
        let here = env::current_dir().unwrap_or_default();
        let remedy = format!("give {FILE_VARIABLE} the path of a preset file, absolute or from {} on", here.display());
        return Err(vec![unusable(&path, &error, &remedy)]);
    }
    let preset = preset_file::read(&path, &shown)?;
    if presets.iter().any(|other| other.name == preset.name) {
        let mistakes = Mistakes::of(shown);
        let remedy = format!("rename the file, or use the feature preset-{}", preset.name);
        mistakes.add("", format!("the library has a preset `{}` of its own", preset.name), remedy);
        return Err(mistakes.into_list());
    }
    Ok(preset)
}

/// `c5c6-v7` as the name of a type: `C5c6V7`.
fn type_name(name: &str) -> String {
    name.split('-')
        .flat_map(|part| [part[..part.len().min(1)].to_uppercase(), part.chars().skip(1).collect()])
        .collect()
}

/// The definition of a front end; `doc` is a paragraph a string.
fn front(doc: &[String], name: &str, module: &str, words: config::Words) -> String {
    let config::Words { routes, knobs, bins, numbers } = words;
    let doc: Vec<_> = doc.iter().map(|paragraph| format!("    /// {paragraph}\n")).collect();
    format!(
        "define_front! {{\n{}    pub {name} in {module} = Words {{\n        \
         routes: {routes:#x}, knobs: {knobs:#x},\n        bins: {bins:#x}, numbers: {numbers:#x},\n    }}\n}}\n\n",
        doc.join("    ///\n")
    )
}

/// A text of a preset file as it may stand in documentation.
fn escaped(text: &str) -> String {
    let special = |letter: char| r"\`*_[]<>#&".contains(letter);
    text.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

/// What a preset is, in paragraphs.
fn doc(preset: &PresetFile) -> Vec<String> {
    let mut doc = vec![format!("{}.", escaped(preset.summary.trim_end_matches('.')))];
    if !preset.hakmem.is_empty() {
        doc.push(format!("It follows the profile `{}` of the original.", preset.hakmem));
    }
    if !preset.awaits.is_empty() {
        let awaits = list(preset.awaits.iter().map(|name| format!("`{name}`")));
        doc.push(format!("Not built yet, and awaited: {awaits}."));
    }
    doc
}

/// The type of a preset of the library.
fn preset_type(preset: &PresetFile) -> String {
    let mut doc = doc(preset);
    doc.push(format!("The feature `preset-{0}` makes it the C ABI; `src/presets/{0}.toml` defines it.", preset.name));
    front(&doc, &type_name(&preset.name), &preset.name.replace('-', "_"), preset.words)
}

/// The list of the library's presets.
fn list_of(presets: &[PresetFile]) -> String {
    let mut text = String::from("/// Every preset of the library, by name.\npub const PRESETS: &[Preset] = &[\n");
    for preset in presets {
        let PresetFile { name, summary, hakmem, profile, words, awaits } = preset;
        let config::Words { routes, knobs, bins, numbers } = words;
        text += &format!(
            "    Preset {{\n        name: {name:?},\n        type_name: {:?},\n        hakmem: {hakmem:?},\n        \
             summary: {summary:?},\n        profile: {profile:?},\n        words: Words {{\n            \
             routes: {routes:#x}, knobs: {knobs:#x},\n            \
             bins: {bins:#x}, numbers: {numbers:#x},\n        }},\n        \
             awaits: &{awaits:?},\n    }},\n",
            type_name(name),
        );
    }
    text + "];\n"
}

/// The type that the C ABI exports.
fn selected(selection: &Selection<'_>) -> String {
    let Selection { preset, own, words, flips } = selection;
    let feature = if *own { format!("preset-{}", preset.name) } else { "preset-file".to_owned() };
    let features = list(std::iter::once(&feature).chain(flips).map(|feature| format!("`{feature}`")));
    let which = format!("What `libhakmem.so` exports, chosen by {features}.");
    if *own && flips.is_empty() {
        return format!("\n/// {which}\npub type Selected = crate::{};\n", type_name(&preset.name));
    }
    let mut paragraphs = vec![which];
    paragraphs.extend(doc(preset));
    format!("\n{}", front(&paragraphs, "Selected", "selected", *words))
}

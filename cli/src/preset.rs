//! The presets that this command can run under, build and show: those of the library, and those of files.
//!
//! On the command line a preset is named, or the profile of the original that it follows, or the path of a file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hakmem::PRESETS;
use hakmem::config::Words;

use crate::preset_file;

/// The preset of `run` when none is named.
pub const DEFAULT: &str = "mixed";

/// What an argument names.
#[derive(Clone, Debug)]
pub enum Choice {
    /// A preset of the library.
    Own(&'static hakmem::Preset),
    /// A preset file, which may not even exist.
    File(PathBuf),
}

impl Choice {
    /// Every preset of the library.
    pub fn all() -> Vec<Self> {
        PRESETS.iter().map(Self::Own).collect()
    }

    /// All that is known about it; an error tells everything that is wrong with its file.
    pub fn preset(&self) -> anyhow::Result<Preset> {
        match self {
            Self::Own(preset) => Ok(Preset::from(*preset)),
            Self::File(path) => Preset::of_file(path),
        }
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Own(one), Self::Own(other)) => one.name == other.name,
            (Self::File(one), Self::File(other)) => one == other,
            _ => false,
        }
    }
}

/// A preset, wherever it comes from.
#[derive(Debug)]
pub struct Preset {
    /// The name, from which that of its library is made.
    pub name: String,
    /// What it is for, in a few words.
    pub summary: String,
    /// The profile of the original that it follows; empty if it follows none.
    pub hakmem: String,
    /// The cargo profile that it is built with.
    pub profile: String,
    /// Routes, knobs and geometry.
    pub words: Words,
    /// What it would have besides, if it were built.
    pub awaits: Vec<String>,
    /// The type that the library has for it.
    pub type_name: Option<&'static str>,
    /// The file that defines it, where that is not one of the library.
    pub file: Option<PathBuf>,
}

impl From<&hakmem::Preset> for Preset {
    fn from(own: &hakmem::Preset) -> Self {
        Self {
            name: own.name.into(),
            summary: own.summary.into(),
            hakmem: own.hakmem.into(),
            profile: own.profile.into(),
            words: own.words,
            awaits: own.awaits.iter().map(ToString::to_string).collect(),
            type_name: Some(own.type_name),
            file: None,
        }
    }
}

impl Preset {
    fn of_file(path: &Path) -> anyhow::Result<Self> {
        // Every line on stderr says whose it is.
        let read = preset_file::read(path, &path.display().to_string())
            .map_err(|mistakes| anyhow!("{}", mistakes.join("\nhakmem: ")))?;
        Ok(Self {
            name: read.name,
            summary: read.summary,
            hakmem: read.hakmem,
            profile: read.profile,
            words: read.words,
            awaits: read.awaits,
            type_name: None,
            file: Some(path.into()),
        })
    }

    /// The feature of the core that makes it the C ABI.
    pub fn feature(&self) -> String {
        match self.file {
            Some(_) => "preset-file".into(),
            None => format!("preset-{}", self.name),
        }
    }

    /// File name of its library, which is the soname as well.
    pub fn library(&self) -> String {
        format!("libhakmem-{}.so", self.name)
    }
}

/// Reads an argument that names a preset, and lists the presets in the help and for a name that is none.
#[derive(Clone)]
pub struct ChoiceParser;

impl TypedValueParser for ChoiceParser {
    type Value = Choice;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Choice, clap::Error> {
        let path = Path::new(value);
        if value.as_bytes().contains(&b'/') || path.extension() == Some(OsStr::new("toml")) {
            return Ok(Choice::File(path.into()));
        }
        let name = PossibleValuesParser::new(values()).parse_ref(command, argument, value)?;
        let named = PRESETS.iter().find(|preset| [preset.name, preset.hakmem].contains(&name.as_str()));
        Ok(Choice::Own(named.expect("the possible values are names of presets")))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(values()))
    }
}

/// The names of the presets; the original's are understood and not listed.
fn values() -> impl Iterator<Item = PossibleValue> {
    PRESETS.iter().map(|preset| {
        let alias = Some(preset.hakmem).filter(|name| !name.is_empty());
        PossibleValue::new(preset.name).help(preset.summary).aliases(alias)
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The standard.
    pub fn mixed() -> Preset {
        let own = PRESETS.iter().find(|preset| preset.name == DEFAULT);
        Preset::from(own.expect("the standard is there"))
    }

    fn parse(value: &str) -> Result<Choice, String> {
        let command = clap::Command::new("hakmem");
        ChoiceParser.parse_ref(&command, None, OsStr::new(value)).map_err(|error| error.to_string())
    }

    #[test]
    fn presets_are_the_features_of_the_core() {
        let manifest = include_str!("../../Cargo.toml");
        let features =
            manifest.lines().filter_map(|line| Some(line.strip_prefix("preset-")?.split_once('=')?.0.trim()));
        let mut features: Vec<_> = features.filter(|&name| name != "file").collect();
        features.sort_unstable();
        assert_eq!(PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>(), features);
        assert!(features.contains(&DEFAULT));
    }

    #[test]
    fn a_preset_has_two_names_and_one_library() {
        for preset in PRESETS {
            let (short, long) = (parse(preset.name).unwrap(), parse(preset.hakmem).unwrap());
            assert_eq!(short, long, "{}", preset.name);
            assert_eq!(long.preset().unwrap().library(), format!("libhakmem-{}.so", preset.name));
        }
        let heavy = parse("C6_HEAVY_LEGACY_POOLV1").unwrap().preset().unwrap();
        assert_eq!((heavy.name.as_str(), heavy.feature().as_str()), ("c6-heavy", "preset-c6-heavy"));
    }

    #[test]
    fn a_path_is_a_file_and_anything_else_a_name() {
        for path in ["./mixed", "a/b", "mine.toml", "/x.toml"] {
            assert_eq!(parse(path), Ok(Choice::File(path.into())));
        }
        for name in ["mixd", "", "toml", "MIXED"] {
            let message = parse(name).unwrap_err();
            assert!(PRESETS.iter().all(|preset| message.contains(preset.name)), "{message}");
            assert!(!message.contains("MIXED_TINYV3"), "{message}");
        }
    }

    #[test]
    fn a_file_is_read_or_all_that_is_wrong_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mine.toml");
        let choice = Choice::File(path.clone());
        let message = choice.preset().unwrap_err().to_string();
        assert!(message.contains("mine.toml: cannot be read: ") && message.contains("Remedy: "), "{message}");

        std::fs::write(&path, "summary = \"Mine\"\nprofile = \"unoptimised\"\n[geometry]\nbins = \"powers\"\n")
            .unwrap();
        let preset = choice.preset().unwrap();
        assert_eq!((preset.name.as_str(), preset.profile.as_str()), ("mine", "unoptimised"));
        assert_eq!((preset.feature().as_str(), preset.library().as_str()), ("preset-file", "libhakmem-mine.so"));
        assert_eq!(preset.words.geometry().bins, hakmem::config::Bins::POWERS);

        std::fs::write(&path, "[knobs]\non = [\"fre-keep\"]\n").unwrap();
        let message = choice.preset().unwrap_err().to_string();
        let lines: Vec<_> = message.lines().collect();
        assert!(matches!(lines[..], [_, second] if second.starts_with("hakmem: ")), "{message}");
        assert!(message.contains("summary: it is missing") && message.contains("write `free-keep`"), "{message}");
    }
}

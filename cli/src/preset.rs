//! The presets that this command can run under and build.

/// One preset, as this command sees it.
pub struct Preset {
    /// What follows `preset-` in the feature of hakmem-alloc, and `libhakmem-` in the library's name.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub summary: &'static str,
}

/// Every preset: one per `preset-*` feature of hakmem-alloc.
pub const PRESETS: &[Preset] = &[Preset { name: "mixed", summary: "Blocks of 16 to 1024 bytes, the standard" }];

/// The preset of `run` when none is named.
pub const DEFAULT: &str = "mixed";

/// File name of a preset's library, which is its soname as well.
pub fn library_name(preset: &str) -> String {
    format!("libhakmem-{preset}.so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_the_features_of_the_core() {
        let manifest = include_str!("../../Cargo.toml");
        let mut features: Vec<_> = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("preset-")?.split_once('='))
            .map(|(name, _)| name.trim())
            .collect();
        let mut names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        features.sort_unstable();
        names.sort_unstable();
        assert_eq!(names, features);
        assert!(names.contains(&DEFAULT));
    }
}

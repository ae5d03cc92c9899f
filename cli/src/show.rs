//! A preset in full, as text: what its file says, and all that follows from it.

use hakmem::config::bins::{Large, SMALL_MAX, Shape, Small, Tables};
use hakmem::config::{Bins, Class, Knob, Route, Standing, Words};

use crate::preset::Preset;
use crate::text::{bytes, entry};

/// Columns of the names.
const NAMES: usize = 20;
/// Bins beside each other.
const BINS_PER_LINE: usize = 3;

/// Least and most bytes of the blocks of a class.
pub fn band(class: Class, tables: &Tables) -> (usize, usize) {
    let least = Class::ALL[..class as usize].last().map_or(0, |below| below.most() + 1);
    (least, class.most().min(tables.largest))
}

/// The bins with their numbers; bin 0, which holds nothing, apart.
pub fn bins(tables: &Tables) -> impl Iterator<Item = (usize, &Shape)> {
    tables.shapes[..tables.count].iter().enumerate().skip(1)
}

/// How the bin of a small request is found.
pub fn small_form(words: Words, tables: &Tables) -> Small {
    if words.has(Knob::FrontV3Lut) { Small::Table } else { tables.small_form }
}

/// The preset, for a reader.
pub fn show(preset: &Preset) -> String {
    let tables = Tables::of(&preset.words.geometry());
    [
        origin(preset),
        words(preset.words),
        knobs(preset.words),
        geometry(preset.words),
        classes(preset.words, &tables),
        look_up(preset.words, &tables),
        table_of_bins(&tables),
    ]
    .join("\n")
}

fn line(name: &str, text: &str) -> String {
    entry(name, NAMES, text)
}

fn origin(preset: &Preset) -> String {
    let file = preset.file.as_ref().map(|path| path.display().to_string());
    let or_none = |text: &str| if text.is_empty() { "none".into() } else { text.to_owned() };
    [
        line(&preset.name, &preset.summary),
        file.map(|path| line("file", &path)).unwrap_or_default(),
        line("profile of hakmem", &or_none(&preset.hakmem)),
        preset.type_name.map(|name| line("type", &format!("hakmem::{name}"))).unwrap_or_default(),
        line("feature", &preset.feature()),
        line("profile of cargo", &preset.profile),
        line("library", &preset.library()),
        line("awaits", &or_none(&preset.awaits.join(", "))),
    ]
    .concat()
}

fn words(words: Words) -> String {
    let Words { routes, knobs, bins, numbers } = words;
    [
        line("word of routes", &format!("{routes:#x}")),
        line("word of knobs", &format!("{knobs:#x}")),
        line("word of bins", &format!("{bins:#x}")),
        line("word of numbers", &format!("{numbers:#x}")),
    ]
    .concat()
}

fn knobs(words: Words) -> String {
    let on: Vec<_> = Knob::ALL.iter().filter(|&&knob| words.has(knob)).collect();
    let column = on.iter().map(|knob| knob.name().len() + 4).fold(NAMES, usize::max);
    let listed = |standing: Standing| {
        let knobs = on.iter().filter(|knob| knob.standing() == standing);
        knobs.map(|knob| entry(&format!("  {}", knob.name()), column, knob.summary())).collect::<String>()
    };
    let chosen = Some(listed(Standing::Ready)).filter(|knobs| !knobs.is_empty()).unwrap_or("  none\n".into());
    format!("Knobs chosen\n{chosen}\nKnobs on in every preset\n{}", listed(Standing::BuiltIn))
}

fn geometry(words: Words) -> String {
    let geometry = words.geometry();
    let bins = match geometry.bins {
        Bins::STEPS => ", the table `steps`",
        Bins::POWERS => ", the table `powers`",
        _ => "",
    };
    [
        line("page", &bytes(geometry.page)),
        line("segment", &format!("{}, {} pages", bytes(geometry.segment), geometry.segment / geometry.page)),
        line("magazine", &format!("{} of blocks, but 2 blocks at least", bytes(geometry.magazine_bytes))),
        line("first magazine", &format!("{} of blocks, 2 to 8", bytes(geometry.first_bytes))),
        line("bins", &format!("{}{bins}", geometry.bins.count())),
    ]
    .concat()
}

fn classes(words: Words, tables: &Tables) -> String {
    let geometry = words.geometry();
    let mut out = "class  block size in bytes  route     most blocks of a magazine  preallocated\n".to_owned();
    for class in Class::ALL {
        let (least, most) = band(class, tables);
        let band = if class == Class::C0 { format!("up to {most}, as C1") } else { format!("{least} to {most}") };
        let route = words.routes().of(class).map_or("", Route::name);
        let preallocated = if geometry.preallocated.has(class) { "yes" } else { "no" };
        let magazine = geometry.magazine[class as usize];
        out += &format!("{:<5}  {band:<19}  {route:<8}  {magazine:<25}  {preallocated}\n", class.name());
    }
    out
}

fn look_up(words: Words, tables: &Tables) -> String {
    let small = match small_form(words, tables) {
        Small::Steps(log) => format!("(size + {}) >> {log}", (1 << log) - 1),
        Small::Log2 => "the highest bit of size - 1".into(),
        Small::Table => format!("a table of {} bytes", tables.small.len()),
    };
    let large = match tables.large_form {
        Large::Quarters => "the highest bit of size - 1 and the two below it".into(),
        Large::Table => format!("a table of {} bytes", tables.all.len()),
    };
    let above = match tables.largest > SMALL_MAX {
        true => line(&format!("to {} bytes", tables.largest), &large),
        false => String::new(),
    };
    format!("Look-up from a request to its bin\n{}{above}", line(&format!("to {SMALL_MAX} bytes"), &small))
}

/// One below the other, in a few columns.
fn table_of_bins(tables: &Tables) -> String {
    let cell = |(bin, shape): (usize, &Shape)| {
        let Shape { size, blocks, capacity, first, class, .. } = shape;
        format!("{bin:>3} {size:>6}  {} {blocks:>6} {capacity:>4} {first:>5}", class.name())
    };
    let cells: Vec<_> = bins(tables).map(cell).collect();
    let lines = cells.len().div_ceil(BINS_PER_LINE);
    let beside = |cells: Vec<&str>| format!("{}\n", cells.join("  "));
    let titles = vec!["bin  bytes  cl blocks  mag first"; cells.len().div_ceil(lines)];
    let mut out = "Bins: class, blocks of a page, of a full magazine and of a thread's first one\n".to_owned();
    out += &beside(titles);
    for line in 0..lines {
        out += &beside(cells.iter().skip(line).step_by(lines).map(String::as_str).collect());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::{Choice, tests::mixed};
    use crate::text::WIDTH;
    use hakmem::config::{Classes, Geometry, Routes};

    /// The lines of `text` that begin with `start`, spaces counting as one.
    fn lines(text: &str, start: &str) -> Vec<String> {
        let plain = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        plain.filter(|line| line.starts_with(start)).collect()
    }

    #[test]
    fn every_preset_fits_the_width() {
        for choice in Choice::all() {
            let text = show(&choice.preset().unwrap());
            assert!(text.lines().all(|line| line.len() <= WIDTH && line.trim_end() == line), "{text}");
        }
    }

    #[test]
    fn the_standard_is_shown_in_full() {
        let text = show(&mixed());
        for line in [
            "mixed Blocks of 16 to 1024 bytes, the standard",
            "profile of hakmem MIXED_TINYV3_C7_SAFE",
            "type hakmem::Mixed",
            "feature preset-mixed",
            "library libhakmem-mixed.so",
            "awaits c7-hot, small-v3 on C7",
            "word of bins 0xaaaaaaaaaaffffffffffffffff",
            "page 64 KiB",
            "segment 2 MiB, 32 pages",
            "bins 84, the table `steps`",
            "C6 257 to 512 legacy 63 no",
            "C7 513 to 32768 legacy 63 no",
            "to 1024 bytes (size + 15) >> 4",
            // 65536 / 16 blocks, the bins number 1, 29 and 57 beside each other.
            "1 16 C1 4096 63 8 29 464 C6 141 63 8 57 912 C7 71 35 8",
        ] {
            assert_eq!(lines(&text, line).len(), 1, "{line}\n{text}");
        }
        // What was chosen, apart from what every preset has.
        let (chosen, built_in) = text.split_once("Knobs on in every preset").unwrap();
        assert!(chosen.contains("  free-dualhot ") && !chosen.contains("  static-route "), "{text}");
        assert!(built_in.contains("  static-route ") && !built_in.contains("  free-dualhot "), "{text}");
        for absent in ["file ", "prefetch"] {
            assert!(lines(&text, absent).is_empty(), "{text}");
        }
    }

    #[test]
    fn what_differs_from_the_standard_shows() {
        let bins = Bins(Bins::POWERS.0 | 1 << 2);
        let geometry = Geometry { bins, page: 128 << 10, preallocated: Classes(0x40), ..Geometry::STANDARD };
        let geometry = Geometry { magazine: [63, 63, 63, 63, 63, 63, 20, 63], ..geometry };
        let words = Words::new(Routes::all(Route::Legacy), geometry);
        let text = show(&Preset { words, file: Some("mine.toml".into()), type_name: None, ..mixed() });
        for line in [
            "file mine.toml",
            "feature preset-file",
            "none",
            "segment 2 MiB, 16 pages",
            "C6 257 to 512 legacy 20 yes",
            "to 1024 bytes a table of 65 bytes",
            "to 32768 bytes the highest bit",
        ] {
            assert_eq!(lines(&text, line).len(), 1, "{line}\n{text}");
        }
        assert_eq!(lines(&text, "bins "), ["bins 28"]);
        assert!(lines(&text, "type ").is_empty());
        assert_eq!(small_form(mixed().words.with(Knob::FrontV3Lut), &Tables::of(&Geometry::STANDARD)), Small::Table);
    }

    #[test]
    fn every_bin_is_in_the_table() {
        for geometry in [Geometry::STANDARD, Geometry { bins: Bins(1 << 63 | 1), ..Geometry::STANDARD }] {
            let tables = Tables::of(&geometry);
            let text = table_of_bins(&tables);
            let cells = text.lines().skip(2).flat_map(|line| line.split_whitespace().collect::<Vec<_>>());
            let numbers: Vec<_> = cells.collect::<Vec<_>>().chunks(6).map(|cell| cell[0].parse().unwrap()).collect();
            assert!((1..tables.count).all(|bin| numbers.contains(&bin)), "{text}");
            assert_eq!(numbers.len(), tables.count - 1);
        }
    }
}

//! The table [geometry] of a preset file.

use crate::config::{Bins, Class, Geometry};
use crate::section::{Section, clamped};
use toml::Value;

/// The keys of [geometry].
pub const KEYS: &[&str] = &["bins", "page", "segment", "magazine", "magazine-bytes", "first-bytes", "preallocated"];

/// The geometry that `section` describes; what it leaves out is as in the standard.
pub fn read(section: &Section<'_>) -> Geometry {
    let standard = Geometry::STANDARD;
    let blocks = |number: i64| u8::try_from(clamped(number)).unwrap_or(u8::MAX);
    let magazine = match section.value("magazine") {
        None => standard.magazine,
        Some(Value::Integer(number)) => [blocks(*number); 8],
        Some(Value::Table(_)) => {
            let by_class = section.section("magazine", &[]);
            let given = by_class.by_class(|key, value| match value {
                Value::Integer(number) => Some(blocks(*number)),
                other => by_class.unlike(key, other, "an integer", &format!("{key} = 32")),
            });
            Class::ALL
                .map(|class| given[class as usize].map_or(standard.magazine[class as usize], |(_, number)| number))
        }
        Some(other) => {
            section.unlike("magazine", other, "an integer or a table", "magazine = 63").unwrap_or(standard.magazine)
        }
    };
    Geometry {
        bins: bins(section).unwrap_or(standard.bins),
        page: section.number("page", standard.page).unwrap_or(standard.page),
        segment: section.number("segment", standard.segment).unwrap_or(standard.segment),
        magazine,
        magazine_bytes: section.number("magazine-bytes", standard.magazine_bytes).unwrap_or(standard.magazine_bytes),
        first_bytes: section.number("first-bytes", standard.first_bytes).unwrap_or(standard.first_bytes),
        preallocated: section
            .text("preallocated")
            .and_then(|mask| section.classes("preallocated", mask))
            .unwrap_or(standard.preallocated),
    }
}

fn bins(section: &Section<'_>) -> Option<Bins> {
    let example = "bins = \"steps\"";
    let sizes = match section.value("bins")? {
        Value::String(name) if name == "steps" => return Some(Bins::STEPS),
        Value::String(name) if name == "powers" => return Some(Bins::POWERS),
        Value::String(name) => {
            let remedy = "write `steps`, `powers` or a list of sizes in bytes";
            section.wrong("bins", format!("there is no table of bins `{name}`"), remedy);
            return None;
        }
        Value::Array(sizes) => sizes,
        other => return section.unlike("bins", other, "a string or a list of integers", example),
    };
    let mut bins = Bins::NONE;
    for size in sizes {
        let Value::Integer(size) = size else {
            return section.unlike("bins", size, "an integer", "bins = [16, 32, 1024]");
        };
        match bins.with(clamped(*size)) {
            Some(more) if more == bins => section.wrong("bins", format!("{size} is named twice"), "name it once"),
            Some(more) => bins = more,
            None => section.wrong("bins", format!("no block can have {size} bytes"), neighbours(clamped(*size))),
        }
    }
    Some(bins)
}

/// The remedy for a size that is not possible: the possible ones beside it.
fn neighbours(size: usize) -> String {
    let sizes: Vec<_> = (0..Bins::POSSIBLE).map(Bins::size_at).collect();
    let (below, above) = sizes.split_at(sizes.partition_point(|&possible| possible < size));
    let beside: Vec<_> = below.last().into_iter().chain(above.first()).map(ToString::to_string).collect();
    format!("take {}", beside.join(" or "))
}

//! Where everything is in the drawing of `bench`: groups of bars, one for each workload, and names below them.

use plotters::style::RGBColor;

use crate::bench::report::Row;

/// The bars' colours, which differ for the colour-blind too (Okabe and Ito).
pub const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(150, 150, 150),
];
/// Left and right of the bars.
pub const LEFT: u32 = 60;
pub const RIGHT: u32 = 20;
/// Between two groups.
const BETWEEN: i32 = 20;
/// Width of a bar where there are few, and of one where there are many, if the group has no room for more.
const WIDE: i32 = 30;
const NARROW: i32 = 14;
/// So many bars are few.
const FEW: usize = 40;
/// What a group needs for its name, and the drawing for its legend.
const LEAST_GROUP: i32 = 84;
const LEAST_WIDTH: i32 = 560;
/// Pixels that the legend's square or whisker needs, and a letter.
const MARK: i32 = 44;
const LETTER: i32 = 7;
/// Letters of a line of a workload's name.
const LINE: usize = 10;

/// What the legend says of whiskers.
pub const WHISKER: &str = "95 % interval";

/// What is drawn, in order.
pub struct Layout<'a> {
    pub workloads: Vec<&'a str>,
    /// All but libc's, which is the line at 1.
    pub allocators: Vec<&'a str>,
    /// Pixels of a group, if the drawing is not wider than it need be.
    group: i32,
    /// Pixels of a bar.
    pub bar: i32,
}

impl<'a> Layout<'a> {
    /// Of all rows that have bars.
    pub fn of(rows: &[&'a Row]) -> Self {
        let (mut workloads, mut allocators) = (Vec::new(), Vec::new());
        for row in rows {
            for (names, name) in [(&mut workloads, row.workload), (&mut allocators, row.allocator.as_str())] {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let bars = allocators.len().max(1) as i32;
        let group = (bars * if rows.len() > FEW { NARROW } else { WIDE } + BETWEEN).max(LEAST_GROUP);
        let bar = ((group - BETWEEN) / bars).min(WIDE);
        Self { workloads, allocators, group, bar }
    }

    /// Pixels of the drawing.
    pub fn width(&self) -> i32 {
        let groups = self.workloads.len() as i32 * self.group + (LEFT + RIGHT) as i32;
        let names = self.allocators.iter().copied().chain([WHISKER]);
        let legend = names.map(legend_entry).sum::<i32>() + (LEFT + RIGHT) as i32;
        groups.max(legend).max(LEAST_WIDTH)
    }

    /// Where the bar of a row is, from left to right, in groups; only what was laid out is asked for.
    pub fn bar(&self, row: &Row) -> (f64, f64) {
        let place = |names: &[&str], name: &str| names.iter().position(|&known| known == name).unwrap_or(0) as f64;
        let group = place(&self.workloads, row.workload) + 0.5;
        let bar = f64::from(self.bar) / self.group_width();
        let first = group - bar * self.allocators.len() as f64 / 2.0;
        let left = first + bar * place(&self.allocators, &row.allocator);
        (left, left + bar)
    }

    /// Pixels of a group, in a drawing that may have been widened.
    fn group_width(&self) -> f64 {
        f64::from(self.width() - (LEFT + RIGHT) as i32) / self.workloads.len().max(1) as f64
    }

    /// The colour of an allocator's bars.
    pub fn colour(&self, allocator: &str) -> RGBColor {
        let index = self.allocators.iter().position(|&known| known == allocator).unwrap_or(0);
        COLOURS[index % COLOURS.len()]
    }
}

/// Pixels of an allocator's entry in the legend.
pub fn legend_entry(name: &str) -> i32 {
    MARK + LETTER * name.len() as i32
}

/// A name on lines of a few letters, broken behind dashes.
pub fn lines(name: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in name.split_inclusive('-') {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.len() + part.len() <= LINE => line.push_str(part),
            _ => lines.push(part.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_broken_behind_dashes() {
        assert_eq!(lines("mixed"), ["mixed"]);
        assert_eq!(lines("c6-heavy"), ["c6-heavy"]);
        assert_eq!(lines("producer-consumer"), ["producer-", "consumer"]);
        assert_eq!(lines("cross-thread-100"), ["cross-", "thread-100"]);
        assert_eq!(lines("mid-large-mt"), ["mid-large-", "mt"]);
    }
}

//! One line that a counting library prints: which process counted what.
//!
//! The lines come in order: whole pages, the bins by size, the paths as in [`Path::ALL`]. What they say is the sum since
//! the process started, or since the process that it was forked from did.

use hakmem::Path;
use hakmem::config::Class;

/// What every such line begins with.
pub const MARK: &[u8] = b"hakmem[";
/// Bytes that such a line has at most, its end included.
pub const LONGEST: usize = 192;

/// A line that was understood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counter {
    pub process: u32,
    pub count: Count,
}

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Count {
    /// Blocks of whole pages.
    Pages(Blocks),
    /// Blocks of a bin, whose size tells the class.
    Bin { size: usize, blocks: Blocks },
    /// Calls that took a path.
    Calls { path: Path, calls: u64 },
}

/// Blocks that came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Blocks {
    pub allocated: u64,
    pub freed: u64,
}

impl Blocks {
    /// Blocks that are there. Negative where others are freed than were counted.
    pub fn left(self) -> i64 {
        self.allocated.wrapping_sub(self.freed).cast_signed()
    }

    /// Both sums.
    pub fn plus(self, other: Self) -> Self {
        let (allocated, freed) =
            (self.allocated.saturating_add(other.allocated), self.freed.saturating_add(other.freed));
        Self { allocated, freed }
    }
}

impl Count {
    /// Its place in a report.
    pub fn rank(self) -> (u8, usize) {
        match self {
            Self::Pages(_) => (0, 0),
            Self::Bin { size, .. } => (1, size),
            Self::Calls { path, .. } => (2, path as usize),
        }
    }
}

/// Reads a line, without its end. None: a program printed it.
pub fn parse(line: &[u8]) -> Option<Counter> {
    let line = str::from_utf8(line).ok()?.strip_prefix(str::from_utf8(MARK).ok()?)?;
    let (process, text) = line.split_once("]: ")?;
    let process = u32::try_from(number(process)?).ok()?;
    let count = match text.split_once(": ") {
        Some(("whole pages", blocks)) => Count::Pages(self::blocks(blocks)?),
        Some((bin, blocks)) => {
            let (class, size) = bin.strip_suffix(" bytes")?.split_once(' ')?;
            let size = usize::try_from(number(size)?).ok()?;
            let known = size > 0 && Class::of(size).name() == class;
            Count::Bin { size: known.then_some(size)?, blocks: self::blocks(blocks)? }
        }
        None => {
            let (name, calls) = text.rsplit_once(' ')?;
            let path = Path::ALL.into_iter().find(|path| path.name() == name)?;
            Count::Calls { path, calls: number(calls)? }
        }
    };
    Some(Counter { process, count })
}

/// `100 allocated, 40 freed`.
fn blocks(text: &str) -> Option<Blocks> {
    let (allocated, freed) = text.strip_suffix(" freed")?.split_once(" allocated, ")?;
    Some(Blocks { allocated: number(allocated)?, freed: number(freed)? })
}

/// Digits and nothing else: `parse` would take a sign, too.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> Option<Count> {
        let counter = parse(text.as_bytes())?;
        assert_eq!(counter.process, 71);
        Some(counter.count)
    }

    #[test]
    fn what_the_library_prints_is_understood() {
        let blocks = Blocks { allocated: 100, freed: 40 };
        let bin = Some(Count::Bin { size: 208, blocks });
        assert_eq!(count("hakmem[71]: C5 208 bytes: 100 allocated, 40 freed"), bin);
        assert_eq!(count("hakmem[71]: whole pages: 100 allocated, 40 freed"), Some(Count::Pages(blocks)));
        for path in Path::ALL {
            let calls = Count::Calls { path, calls: u64::MAX };
            assert_eq!(count(&format!("hakmem[71]: {} {}", path.name(), u64::MAX)), Some(calls));
        }
        let longest = format!("hakmem[{0}]: C7 32768 bytes: {1} allocated, {1} freed\n", u32::MAX, u64::MAX);
        assert!(longest.len() <= LONGEST && parse(longest.trim_end().as_bytes()).is_some());
    }

    #[test]
    fn what_a_program_prints_is_not() {
        for line in [
            "",
            "hakmem[",
            "hakmem: free(): double free of 0x10",
            "hakmem[71]: ",
            "hakmem[71]: hello",
            "hakmem[x]: free hit 40",
            "hakmem[+71]: free hit 40",
            "hakmem[]: free hit 40",
            "hakmem[99999999999]: free hit 40",
            "hakmem[71] free hit 40",
            "hakmem[71]: free hit",
            "hakmem[71]: free hit 40 ",
            "hakmem[71]: free hit -1",
            "hakmem[71]: free hit 18446744073709551616",
            "hakmem[71]: free hot 40",
            "hakmem[71]: C5 208 bytes: 100 allocated, 40 freed.",
            "hakmem[71]: C5 208 bytes: 100 allocated",
            "hakmem[71]: C4 208 bytes: 100 allocated, 40 freed",
            "hakmem[71]: C0 0 bytes: 100 allocated, 40 freed",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
        assert_eq!(parse(b"hakmem[71]: free hit 40\xff"), None);
    }

    #[test]
    fn what_is_left_may_be_negative() {
        assert_eq!(Blocks { allocated: 1, freed: 3 }.left(), -2);
        assert_eq!(Blocks { allocated: 3, freed: 1 }.left(), 2);
    }
}

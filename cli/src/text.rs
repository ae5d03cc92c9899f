//! Text for people: columns within a width that every terminal has room for, on stdout.

use std::io::{self, ErrorKind, Write};

use textwrap::{Options, WordSplitter};

use crate::remedy::OrRemedy;

/// Columns of a line.
pub const WIDTH: usize = 100;

/// Prints `text`. That its reader has seen enough and gone is no error: `hakmem presets | head`.
pub fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.or_remedy(|| "cannot write to stdout", "see where it leads"),
    }
}

/// A line that starts with `head`; `text` is in a column that begins `at` columns from the left, on as many lines as it
/// needs.
pub fn entry(head: &str, at: usize, text: &str) -> String {
    let indent = " ".repeat(at);
    let options = Options::new(WIDTH)
        .initial_indent(&indent)
        .subsequent_indent(&indent)
        // Names with dashes stay whole.
        .word_splitter(WordSplitter::NoHyphenation);
    let text = textwrap::fill(text, options);
    format!("{}\n", format!("{head:<at$}{}", text.trim_start()).trim_end())
}

/// Bytes in the largest unit that divides them.
pub fn bytes(count: usize) -> String {
    match count {
        0 => "0 bytes".into(),
        _ if count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        _ if count.is_multiple_of(1 << 10) => format!("{} KiB", count >> 10),
        _ => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_stays_in_its_column() {
        assert_eq!(entry("  a", 8, "b c"), "  a     b c\n");
        assert_eq!(entry("  a", 8, ""), "  a\n");
        let long = entry("name", 10, &"small-v3 ".repeat(30));
        let lines: Vec<_> = long.lines().collect();
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= WIDTH), "{long}");
        assert!(lines[1..].iter().all(|line| line.starts_with("          small-v3 ")), "{long}");
        assert!(lines.iter().all(|line| line.ends_with("small-v3")), "{long}");
    }

    #[test]
    fn bytes_are_shown_in_round_units() {
        assert_eq!(bytes(65536), "64 KiB");
        assert_eq!(bytes(2 << 20), "2 MiB");
        assert_eq!(bytes(100), "100 bytes");
        assert_eq!(bytes(1536 << 10), "1536 KiB");
    }
}

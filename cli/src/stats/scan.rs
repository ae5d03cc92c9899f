//! Takes the counter lines out of what a program writes to stderr, and leaves every other byte as it was.
//!
//! The library writes a line in one piece, so a counter line may follow what the program wrote without an end of line, and
//! only the end of a read can cut it in two. What might become one is held until the next read, or until whoever reads has
//! waited long enough and takes it as it is.

use super::counter::{self, Counter, LONGEST, MARK};

/// A part of the stream.
#[derive(Debug, PartialEq)]
pub enum Piece {
    /// Bytes of the program.
    Text(Vec<u8>),
    /// A line of the library.
    Counter(Counter),
}

/// The stream, and what is held of it.
#[derive(Default)]
pub struct Scanner {
    held: Vec<u8>,
}

impl Scanner {
    /// Takes the next bytes and returns what is certain by now.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Piece> {
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut pieces = Vec::new();
        // `text` to `at` are the program's; `at` is where a line may begin.
        let (mut text, mut at) = (0, 0);
        let pass = |pieces: &mut Vec<Piece>, text: &[u8]| {
            if !text.is_empty() {
                pieces.push(Piece::Text(text.into()));
            }
        };
        while let Some(start) = mark(&held, at) {
            let line = &held[start..];
            let end = line.iter().take(LONGEST).position(|&byte| byte == b'\n');
            match end {
                Some(end) => match counter::parse(&line[..end]) {
                    Some(counter) => {
                        pass(&mut pieces, &held[text..start]);
                        pieces.push(Piece::Counter(counter));
                        (text, at) = (start + end + 1, start + end + 1);
                    }
                    None => at = start + 1,
                },
                None if line.len() < LONGEST => {
                    pass(&mut pieces, &held[text..start]);
                    self.held = line.into();
                    return pieces;
                }
                None => at = start + 1,
            }
        }
        pass(&mut pieces, &held[text..]);
        pieces
    }

    /// Whether something is held.
    pub fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Gives up what is held: it is the program's.
    pub fn release(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// Where the mark begins, from `from` on; at the end of the bytes, a part of it will do.
fn mark(bytes: &[u8], from: usize) -> Option<usize> {
    let begins = |rest: &[u8]| rest.starts_with(MARK) || MARK.starts_with(rest);
    (from..bytes.len()).find(|&start| bytes[start] == MARK[0] && begins(&bytes[start..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &[u8] = b"hakmem[7]: free hit 3\nhakmem[7]: free null 4\n";

    /// All text, and how many counters there were, when the stream comes in parts of `size` bytes.
    fn scan(stream: &[u8], size: usize) -> (Vec<u8>, usize) {
        let mut scanner = Scanner::default();
        let (mut text, mut counters) = (Vec::new(), 0);
        for part in stream.chunks(size) {
            for piece in scanner.feed(part) {
                match piece {
                    Piece::Text(more) => text.extend(more),
                    Piece::Counter(_) => counters += 1,
                }
            }
        }
        text.extend(scanner.release());
        (text, counters)
    }

    #[test]
    fn counters_are_taken_out_wherever_a_read_ends() {
        let texts: [&[u8]; 6] = [
            b"",
            b"one\n",
            b"no end",
            b"not UTF-8: \xff\xfe\0\n",
            b"hakmem: free(): double free of 0x10\nhakmem[x]: free hit 3\n",
            b"hakmem[7]: free hot 3\nhakhakmem[hakmem[7]\n",
        ];
        for before in texts {
            for after in texts {
                let stream = [before, LINES, after, LINES].concat();
                let expected = ([before, after].concat(), 4);
                for size in 1..=stream.len() {
                    assert_eq!(scan(&stream, size), expected, "{:?} by {size}", String::from_utf8_lossy(&stream));
                }
            }
        }
    }

    #[test]
    fn only_what_may_become_a_counter_is_held() {
        let mut scanner = Scanner::default();
        let text = |text: &[u8]| vec![Piece::Text(text.into())];
        assert_eq!(scanner.feed(b"a prompt> "), text(b"a prompt> "));
        assert!(!scanner.holds());
        assert_eq!(scanner.feed(b"hah"), text(b"ha"));
        assert!(scanner.holds());
        assert_eq!(scanner.feed(b"akmem: x"), text(b"hakmem: x"));
        assert!(!scanner.holds());
        assert_eq!(scanner.feed(b"hakmem[7]: f"), vec![]);
        assert_eq!(scanner.release(), b"hakmem[7]: f");
        // The rest of a line that was given up is text.
        assert_eq!(scanner.feed(b"ree hit 3\n"), text(b"ree hit 3\n"));
        assert_eq!(scanner.release(), b"");
    }

    #[test]
    fn a_line_too_long_is_not_held() {
        let long = [MARK, &[b'7'; 300]].concat();
        assert_eq!(Scanner::default().feed(&long), [Piece::Text(long)]);
    }
}

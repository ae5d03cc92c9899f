//! The last words of a process whose heap was misused: one line on stderr, then abort. Allocates nothing.

/// Ends the process with SIGABRT.
pub fn abort() -> ! {
    // SAFETY: abort takes no arguments and may be called in any state.
    unsafe { libc::abort() }
}

/// Prints `hakmem: FUNCTION(): PROBLEM 0xADDRESS` on stderr and aborts.
#[cold]
#[inline(never)]
pub fn fatal(function: &str, problem: &str, address: usize) -> ! {
    let mut line = Line::new();
    line.text("hakmem: ").text(function).text("(): ").text(problem).text(" 0x").hex(address).text("\n");
    line.print();
    abort()
}

/// A line of text assembled on the stack; what does not fit is left out.
pub struct Line {
    bytes: [u8; 192],
    len: usize,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: [0; 192], len: 0 }
    }

    /// Appends `text`.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for &byte in text.as_bytes() {
            self.push(byte);
        }
        self
    }

    /// Appends `number` in lower-case hexadecimal digits.
    pub fn hex(&mut self, number: usize) -> &mut Self {
        self.digits(number, 16)
    }

    /// Appends `number` in decimal digits.
    pub fn decimal(&mut self, number: usize) -> &mut Self {
        self.digits(number, 10)
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    fn digits(&mut self, mut number: usize, base: usize) -> &mut Self {
        let mut reversed = [0u8; 20];
        let mut count = 0;
        for place in &mut reversed {
            let digit = (number % base) as u8;
            *place = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            number /= base;
            count += 1;
            if number == 0 {
                break;
            }
        }
        for &digit in reversed.iter().take(count).rev() {
            self.push(digit);
        }
        self
    }

    /// What was appended.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    /// Writes the line to stderr.
    pub fn print(&self) {
        let mut done = 0;
        while let Some(rest) = self.bytes().get(done..).filter(|rest| !rest.is_empty()) {
            // SAFETY: `rest` is readable for its length.
            let written = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            if written <= 0 {
                return;
            }
            done += written as usize;
        }
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

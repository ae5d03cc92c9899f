//! A small generator of pseudo-random numbers and words, the same in every run.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    /// A generator whose sequence `seed` decides.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number below `limit`, which is not 0. Small numbers are a little likelier, by less than `limit` in 2^64.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A number below `limit` where small ones are much likelier: more than half of them lie below a tenth of it.
    pub fn skewed(&mut self, limit: usize) -> usize {
        let bound = self.below(limit) + 1;
        let bound = self.below(bound) + 1;
        self.below(bound)
    }

    /// Appends a word of 1 to `longest` lower-case letters, which is not 0.
    pub fn word(&mut self, text: &mut String, longest: usize) {
        for _ in 0..=self.below(longest) {
            text.push(char::from(b'a' + self.below(26) as u8));
        }
    }
}

/// SplitMix64's finaliser: every bit of `value` changes about half of the bits of the result.
pub fn mixed(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

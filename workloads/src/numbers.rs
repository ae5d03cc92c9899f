//! Random numbers that cost a few instructions, so that what a workload measures is the allocator.

/// The sizes from `low` to `high`, both included and equally likely.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The smallest size.
    pub low: u32,
    /// The largest size.
    pub high: u32,
}

/// A fixed sequence that looks random (xorshift, 32 bits): the one of the C drivers in `benches/workloads`.
pub(crate) struct Numbers(u32);

impl Numbers {
    /// The sequence of thread `index`. Thread 0 walks the sequence that `random_mixed` walks with the seed 1.
    pub fn of_thread(index: usize) -> Self {
        // The state is odd at first, hence never 0, which would be followed by 0 for ever.
        Self((index as u32 + 1).wrapping_mul(2_654_435_761) | 1)
    }

    /// The next number.
    #[inline(always)]
    fn next(&mut self) -> u32 {
        let mut state = self.0;
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        self.0 = state;
        state
    }

    /// A number below `limit`, by a multiplication instead of a division.
    #[inline(always)]
    pub fn below(&mut self, limit: usize) -> usize {
        debug_assert!(u32::try_from(limit).is_ok());
        ((u64::from(self.next()) * limit as u64) >> 32) as usize
    }

    /// One of the sizes.
    #[inline(always)]
    pub fn size(&mut self, sizes: Sizes) -> u32 {
        sizes.low + self.below((sizes.high - sizes.low + 1) as usize) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_c_drivers() {
        let mut numbers = Numbers::of_thread(0);
        // From random_mixed.c with the seed 1.
        assert_eq!([numbers.next(), numbers.next(), numbers.next()], [1_361_921_809, 3_224_134_966, 3_722_112_275]);
    }

    #[test]
    fn threads_have_sequences_of_their_own() {
        let first = |index| Numbers::of_thread(index).next();
        assert!(first(0) != first(1) && first(1) != first(2) && first(2) != first(0));
    }

    #[test]
    fn sizes_are_spread_over_their_range() {
        let sizes = Sizes { low: 16, high: 31 };
        let mut numbers = Numbers::of_thread(3);
        let mut seen = [0; 48];
        for _ in 0..16_000 {
            seen[numbers.size(sizes) as usize] += 1;
        }
        assert_eq!(seen.iter().filter(|&&count| count > 0).count(), 16);
        assert!(seen[16..32].iter().all(|count| (800..1200).contains(count)), "{seen:?}");
    }
}

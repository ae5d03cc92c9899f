//! Steps in groups.

/// Calls `work` with `group` as often as it fits into `steps`, and once with the rest.
#[inline(always)]
pub(crate) fn for_each_group(steps: u64, group: usize, mut work: impl FnMut(usize)) {
    let mut left = steps;
    while left > 0 {
        let count = left.min(group as u64);
        work(count as usize);
        left -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_a_group_too() {
        let groups = |steps| {
            let mut groups = Vec::new();
            for_each_group(steps, 10, |count| groups.push(count));
            groups
        };
        assert_eq!((groups(0), groups(20), groups(23)), (vec![], vec![10, 10], vec![10, 10, 3]));
    }
}

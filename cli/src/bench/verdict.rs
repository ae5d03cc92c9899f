//! hakmem's rule for a change: it goes in, it stays out, or it makes no difference.

use crate::bench::summary::Estimate;

/// What the mean has to gain, in percent, for a change to go in; what it has to lose to stay out.
const LIMIT: f64 = 1.0;

/// The rule's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The mean gains at least 1 %, and the median does not lose.
    Go,
    /// Neither of the others.
    Neutral,
    /// The mean loses at least 1 %.
    NoGo,
}

impl Verdict {
    /// By the mean and the median of the gains, in percent.
    pub fn of(mean: f64, median: f64) -> Self {
        if mean >= LIMIT && median >= 0.0 {
            Self::Go
        } else if mean <= -LIMIT {
            Self::NoGo
        } else {
            Self::Neutral
        }
    }

    /// As hakmem writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Go => "GO",
            Self::Neutral => "NEUTRAL",
            Self::NoGo => "NO-GO",
        }
    }

    /// The part of the rule that decided.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Go => "the mean gains 1.0 % or more, and the median does not lose",
            Self::Neutral => "the mean moves by less than 1.0 %, or the median contradicts its gain",
            Self::NoGo => "the mean loses 1.0 % or more",
        }
    }
}

/// Whether more runs could well change the verdict: a limit lies within what the mean may be, or mean and median
/// contradict each other.
pub fn is_close(mean: &Estimate, median: &Estimate) -> bool {
    mean.contains(LIMIT) || mean.contains(-LIMIT) || (mean.value >= LIMIT && median.value < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_belong_to_go_and_no_go() {
        assert_eq!(Verdict::of(1.0, 0.0), Verdict::Go);
        assert_eq!(Verdict::of(1.0_f64.next_down(), 5.0), Verdict::Neutral);
        assert_eq!(Verdict::of(1.0, 0.0_f64.next_down()), Verdict::Neutral);
        assert_eq!(Verdict::of(0.0, 0.0), Verdict::Neutral);
        assert_eq!(Verdict::of((-1.0_f64).next_up(), -5.0), Verdict::Neutral);
        assert_eq!(Verdict::of(-1.0, 5.0), Verdict::NoGo);
        assert_eq!(Verdict::of(-1.0, -1.0), Verdict::NoGo);
        // hakmem's own: the first ten runs of FREE_STATIC_ROUTE.
        assert_eq!(Verdict::of(1.06, -0.77), Verdict::Neutral);
    }

    #[test]
    fn what_could_fall_either_way_is_close() {
        let close = |value: f64, spread: f64, median: f64| {
            let mean = Estimate { value, low: value - spread, high: value + spread };
            is_close(&mean, &Estimate { value: median, low: median, high: median })
        };
        assert!(!close(0.0, 0.9, 0.0));
        assert!(close(0.0, 1.0, 0.0));
        assert!(!close(3.0, 1.9, 3.0));
        assert!(close(3.0, 2.0, 3.0));
        assert!(close(-1.5, 0.5, -1.5));
        assert!(!close(-1.5, 0.4, -1.5));
        assert!(close(3.0, 0.1, -0.1));
        assert!(!close(3.0, 0.1, 0.0));
    }
}

//! Statistics of a few samples: medians, means, and how far they can be trusted.

use statrs::statistics::{Data, OrderStatistics, Statistics};

/// How often a sample is drawn anew for an interval.
const RESAMPLES: usize = 10_000;
/// What the drawing starts from: the same samples give the same interval.
const SEED: u64 = 0x5eed;
/// How much of the resamples' distribution an interval covers.
const COVERED: f64 = 0.95;

/// A figure, and the interval that it lies in with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What the samples say.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Estimate {
    /// The median of `samples`, of which there is at least one.
    pub fn of_median(samples: &[f64]) -> Self {
        Self::of(samples, median)
    }

    /// Their mean.
    pub fn of_mean(samples: &[f64]) -> Self {
        Self::of(samples, mean)
    }

    /// The percentile bootstrap: as many values are drawn from the samples as there are, over and over, and the interval
    /// leaves out as many of the results at either end.
    fn of(samples: &[f64], statistic: fn(&[f64]) -> f64) -> Self {
        let mut random = fastrand::Rng::with_seed(SEED);
        let mut drawn = vec![0.0; samples.len()];
        let results = (0..RESAMPLES).map(|_| {
            drawn.fill_with(|| samples[random.usize(..samples.len())]);
            statistic(&drawn)
        });
        let mut results = Data::new(results.collect::<Vec<_>>());
        let tail = (1.0 - COVERED) / 2.0;
        Self { value: statistic(samples), low: results.quantile(tail), high: results.quantile(1.0 - tail) }
    }

    /// Whether `value` lies in the interval.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The middle one of the samples, or the mean of the two in the middle.
pub fn median(samples: &[f64]) -> f64 {
    Data::new(samples.to_vec()).median()
}

/// The arithmetic mean.
pub fn mean(samples: &[f64]) -> f64 {
    samples.mean()
}

/// The mean of ratios.
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    ratios.geometric_mean()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_few_and_of_many() {
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert!((geometric_mean(&[0.5, 8.0]) - 2.0).abs() < 1e-12);
    }

    /// Of nine different samples, the median of a resample is at most the k-th if at least five draws are: with
    /// probability 0.0015 for the first, 0.030 for the second. So 2.5 % end at the second, and likewise from above.
    #[test]
    fn the_interval_of_a_known_sample() {
        let samples = [5.0, 1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.0];
        assert_eq!(Estimate::of_median(&samples), Estimate { value: 5.0, low: 2.0, high: 8.0 });
    }

    /// The mean of n resampled values has the samples' standard deviation over the root of n, and is nearly normal.
    #[test]
    fn the_interval_of_a_mean_is_that_of_the_normal_distribution() {
        let samples: Vec<f64> = (1..=100).map(f64::from).collect();
        let estimate = Estimate::of_mean(&samples);
        let half = 1.96 * ((100.0 * 100.0 - 1.0) / 12.0_f64).sqrt() / 10.0;
        assert_eq!(estimate.value, 50.5);
        assert!((estimate.low - (50.5 - half)).abs() < 0.25, "{estimate:?}");
        assert!((estimate.high - (50.5 + half)).abs() < 0.25, "{estimate:?}");
    }

    #[test]
    fn samples_without_spread_leave_no_doubt() {
        for samples in [&[1.25][..], &[1.25; 10]] {
            let estimate = Estimate::of_median(samples);
            assert_eq!(estimate, Estimate { value: 1.25, low: 1.25, high: 1.25 });
            assert!(estimate.contains(1.25) && !estimate.contains(1.26));
        }
    }
}

//! Whether a series of samples grows: the Mann-Kendall test with the Theil-Sen slope.
//!
//! Both use ranks or medians, so one outlier does not decide. A series grows if
//!
//! 1. later samples exceed earlier ones far more often than chance allows ([`SIGNIFICANT`]), and
//! 2. the growth over the window exceeds the scatter of the samples around the slope, and
//! 3. that growth also exceeds what caches may add after the warm-up ([`Limits::caches`]), and
//! 4. the slope exceeds the threshold that the caller derives from the load ([`Limits::slope`]).
//!
//! A cache holds the largest number of objects that were ever in use at a time. Such a maximum of
//! random loads rises for many phases, in ever rarer steps. Only the third condition distinguishes
//! it from a leak, so a leak below that size needs a longer run.
//!
//! The second half of the run must grow by itself as well: a cache that fills up once has a trend
//! in the whole run, but none in its second half.

/// Fewest samples that are judged: fewer cannot reach the score of [`SIGNIFICANT`].
pub(crate) const FEWEST: usize = 11;

/// The normal score above which a trend counts as real. A series without a trend has it by chance
/// once in 30,000 times. A run judges its series after every phase, so the other conditions count.
const SIGNIFICANT: f64 = 4.0;

/// The growth of a series that is not reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Growth from one sample to the next.
    pub(crate) slope: f64,
    /// Growth over all samples.
    pub(crate) caches: f64,
}

/// Growth of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growth {
    /// Median growth from one sample to the next.
    pub(crate) slope: f64,
    /// Normal score of the Mann-Kendall test.
    pub(crate) score: f64,
    /// Median distance of a sample from the line.
    pub(crate) scatter: f64,
}

/// Returns the growth of `samples` if their trend is real and beyond `limits`.
pub(crate) fn growing(samples: &[f64], limits: Limits) -> Option<Growth> {
    if samples.len() < FEWEST {
        return None;
    }
    let whole = measure(samples);
    let half = &samples[samples.len() / 2..];
    let recent = measure(half);
    let grows = whole.score > SIGNIFICANT
        && whole.slope > limits.slope
        && whole.slope * (samples.len() - 1) as f64 > limits.caches.max(2.0 * whole.scatter)
        && recent.slope > limits.slope.max(whole.slope / 2.0);
    grows.then_some(whole)
}

/// Measures the trend of at least two samples.
fn measure(samples: &[f64]) -> Growth {
    let mut slopes = Vec::new();
    let mut balance = 0.0;
    for (i, early) in samples.iter().enumerate() {
        for (j, late) in samples.iter().enumerate().skip(i + 1) {
            slopes.push((late - early) / (j - i) as f64);
            balance += if late > early { 1.0 } else { 0.0 } - if late < early { 1.0 } else { 0.0 };
        }
    }
    let slope = median(&mut slopes);
    let n = samples.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let score = (balance - f64::signum(balance)) / deviation;
    let line = |i: usize| slope * i as f64;
    let mut offsets: Vec<f64> = samples.iter().enumerate().map(|(i, s)| s - line(i)).collect();
    let offset = median(&mut offsets);
    let mut distances: Vec<f64> = offsets.iter().map(|o| (o - offset).abs()).collect();
    Growth { slope, score, scatter: median(&mut distances) }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rand::Rand;

    /// Limits for series without a cache.
    fn slope(slope: f64) -> Limits {
        Limits { slope, caches: 0.0 }
    }

    /// `n` samples of `value` with noise of ±`noise`.
    fn series(n: usize, noise: u64, value: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut rand = Rand::new(7);
        (0..n).map(|i| value(i) + rand.below(2 * noise + 1) as f64 - noise as f64).collect()
    }

    #[test]
    fn a_leak_beneath_noise_is_found() {
        let leak = series(16, 40_000, |i| 5e6 + 30_000.0 * i as f64);
        let growth = growing(&leak, slope(10_000.0)).expect("a leak");
        assert!((20_000.0..40_000.0).contains(&growth.slope), "{growth:?}");
    }

    #[test]
    fn noise_is_no_leak() {
        for seed in 0..2000 {
            let mut rand = Rand::new(seed);
            let noise: Vec<f64> = (0..12).map(|_| 5e6 + rand.below(1_000_000) as f64).collect();
            assert_eq!(growing(&noise, slope(100.0)), None, "seed {seed}: {noise:?}");
        }
    }

    #[test]
    fn a_cache_that_fills_up_is_no_leak() {
        let cache = series(30, 1000, |i| 5e6 + 1e6 * (i.min(12) as f64));
        assert_eq!(growing(&cache, slope(10_000.0)), None);
    }

    /// The first samples are from a run: each step is one more chunk of the goroutine heap.
    #[test]
    fn a_maximum_that_still_rises_is_no_leak_until_it_exceeds_the_caches() {
        let mut chunks = vec![23, 24, 24, 24, 24, 25, 26, 27, 28, 28, 29, 29, 29];
        let bytes = |chunks: &[u32]| -> Vec<f64> {
            chunks.iter().map(|chunks| f64::from(*chunks) * 262_144.0).collect()
        };
        let limits = Limits { slope: 86_000.0, caches: 4e6 };
        assert!(growing(&bytes(&chunks), slope(limits.slope)).is_some());
        assert_eq!(growing(&bytes(&chunks), limits), None);
        chunks.extend(30..45);
        assert!(growing(&bytes(&chunks), limits).is_some(), "it goes on rising");
    }

    #[test]
    fn one_outlier_is_no_leak() {
        let burst = series(12, 1000, |i| if i > 10 { 9e6 } else { 5e6 });
        assert_eq!(growing(&burst, slope(10_000.0)), None);
    }

    #[test]
    fn growth_below_the_threshold_is_not_reported() {
        let slow = series(20, 0, |i| 5e6 + 50.0 * i as f64);
        assert_eq!(growing(&slow, slope(100.0)), None);
        assert!(growing(&slow, slope(10.0)).is_some());
    }

    #[test]
    fn few_samples_are_not_judged() {
        assert_eq!(growing(&series(FEWEST - 1, 0, |i| i as f64 * 1e6), slope(1.0)), None);
    }
}

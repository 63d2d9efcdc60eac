//! Samples and their statistics.

use std::time::Duration;

/// Measured values of one quantity, in one unit.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn push_ms(&mut self, time: Duration) {
        self.push(ms(time));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the smallest value that at least a share `p` (0 to 1) of the samples does not exceed (nearest rank).
    pub fn percentile(&self, p: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (p * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    pub fn p50(&self) -> f64 {
        self.percentile(0.5)
    }

    pub fn p95(&self) -> f64 {
        self.percentile(0.95)
    }

    pub fn p99(&self) -> f64 {
        self.percentile(0.99)
    }

    /// Returns the samples minus `base`.
    pub fn beyond(&self, base: f64) -> Samples {
        Samples(self.0.iter().map(|value| value - base).collect())
    }

    /// Returns half the interquartile range, which shows how much the machine's other load moves the median.
    pub fn spread(&self) -> f64 {
        (self.percentile(0.75) - self.percentile(0.25)) / 2.0
    }
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

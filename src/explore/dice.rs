//! Random choices from a named stream.

use windtunnel_core::rng::{Stream, Streams};

/// A source of random choices, which depend only on a seed and a name.
pub(super) struct Dice(Stream);

impl Dice {
    pub(super) fn new(seed: u64, name: &str) -> Self {
        Self(Streams::new(seed).stream(name))
    }

    /// A number in `low..=high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high)
    }

    /// Whether something happens that happens in this percentage of cases.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.0.between(0, 99) < percent
    }

    /// Returns one of the items. There must be at least one.
    pub(super) fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        let last = (items.len() as u64).saturating_sub(1);
        &items[usize::try_from(self.0.between(0, last)).unwrap_or(0)]
    }

    /// The index of a weight, drawn in proportion to the weights. `None` if all are zero.
    pub(super) fn weighted(&mut self, weights: &[f64]) -> Option<usize> {
        let total: f64 = weights.iter().sum();
        let mut rest = self.0.fraction() * total;
        let found = weights.iter().position(|weight| {
            rest -= weight;
            rest < 0.0
        });
        found.filter(|_| total > 0.0)
    }
}

//! Choices of the generator: always the first, or random ones of a named stream.

use windtunnel_core::rng::{Stream, Streams};

/// Makes choices.
#[derive(Debug, Clone)]
pub(crate) struct Dice {
    stream: Stream,
    /// Whether every choice is the smallest.
    is_minimal: bool,
}

impl Dice {
    /// The choices of a stream of this seed.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self { stream: Streams::new(seed).stream(name), is_minimal: true }
    }

    /// Chooses at random from now on, or the smallest.
    pub(crate) fn set_minimal(&mut self, is_minimal: bool) {
        self.is_minimal = is_minimal;
    }

    /// Whether every choice is the smallest.
    pub(crate) fn is_minimal(&self) -> bool {
        self.is_minimal
    }

    /// An index below `count`; 0 if every choice is the smallest.
    pub(crate) fn index(&mut self, count: usize) -> usize {
        if self.is_minimal { 0 } else { self.any_index(count) }
    }

    /// A random index below `count`, in any case.
    pub(crate) fn any_index(&mut self, count: usize) -> usize {
        let last = u64::try_from(count.saturating_sub(1)).unwrap_or(0);
        usize::try_from(self.stream.between(0, last)).unwrap_or(0)
    }

    /// Whether to do something optional, with this chance in a hundred.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        !self.is_minimal && self.stream.between(1, 100) <= percent
    }
}

//! The clock of the machine, by which real processes are tortured.
#![expect(clippy::disallowed_methods, reason = "real processes run in real time")]

use std::time::{Duration, Instant};

/// Measures time from its start.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// A moment at which something must end.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    start: Stopwatch,
    span: Duration,
}

impl Deadline {
    /// The moment after this span.
    pub fn after(span: Duration) -> Self {
        Self { start: Stopwatch::start(), span }
    }

    /// The time until the moment; zero after it.
    pub fn left(self) -> Duration {
        self.span.saturating_sub(self.start.elapsed())
    }
}

/// Blocks the thread.
pub(crate) fn pause(span: Duration) {
    std::thread::sleep(span);
}

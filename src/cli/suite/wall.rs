//! Wall time. It is for terminals and CI only, and in no record.

use std::time::{Duration, Instant};

use crate::report::WallTime;

/// Measures the wall time of a scenario.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) struct Stopwatch {
    started: jiff::Timestamp,
    start: Instant,
}

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "the command line reports the wall time of a run")]
    pub(in crate::cli) fn start() -> Self {
        Self { started: jiff::Timestamp::now(), start: Instant::now() }
    }

    /// Returns the time since the start.
    pub(in crate::cli) fn read(&self) -> WallTime {
        WallTime { started: self.started, took: self.start.elapsed() }
    }
}

/// Returns the result with the wall time that it took.
pub(in crate::cli) fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let watch = Stopwatch::start();
    let result = work();
    (result, watch.read().took)
}

//! A clock that the server of programs gets after the installation of its cluster.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use windtunnel_core::clock::{Clock, Time};

/// A clock that shows another one's time once it has it, and stands still before.
pub(super) struct LateClock {
    before: Time,
    clock: OnceLock<Arc<dyn Clock>>,
}

impl LateClock {
    /// Creates a clock that stands at `before`.
    pub(super) fn standing_at(before: Time) -> Arc<Self> {
        Arc::new(Self { before, clock: OnceLock::new() })
    }

    /// Follows `clock` from now on.
    pub(super) fn follow(&self, clock: Arc<dyn Clock>) {
        // It is called once.
        let _ = self.clock.set(clock);
    }
}

impl Clock for LateClock {
    fn now(&self) -> Time {
        self.clock.get().map_or(self.before, |clock| clock.now())
    }

    fn speed(&self) -> f64 {
        self.clock.get().map_or(0.0, |clock| clock.speed())
    }

    fn until(&self, at: Time) -> Duration {
        self.clock.get().map_or(Duration::MAX, |clock| clock.until(at))
    }
}

//! The clock of a served cluster as the pace of a timeline.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::watch;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::clock::{Clock as _, Time};

use super::ClusterClock;
use super::steer::AT_LEAST_EVERY;
use crate::backends::Pace;

/// Lets a timeline run up to the time of the clients, which stands still meanwhile.
pub(in crate::cli::serve) struct ClockPace {
    clock: Arc<ClusterClock>,
    changes: Mutex<watch::Receiver<u64>>,
    stopping: Arc<AtomicBool>,
    runtime: Handle,
}

impl ClockPace {
    /// Creates the pace of a clock. It ends the timeline once `stopping` is set.
    pub(in crate::cli::serve) fn new(
        clock: Arc<ClusterClock>,
        shared: &Shared,
        stopping: Arc<AtomicBool>,
        runtime: Handle,
    ) -> Self {
        Self { clock, changes: Mutex::new(shared.subscribe()), stopping, runtime }
    }
}

impl Pace for ClockPace {
    fn advance(&self, now: Time, until: Time) -> Time {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        self.clock.release(until);
        let wait = self.clock.until(until).min(AT_LEAST_EVERY);
        if !wait.is_zero() && !self.is_stopped() {
            self.runtime.block_on(async {
                let _ = tokio::time::timeout(wait, changes.changed()).await;
            });
        }
        // Writes from here on end the next wait.
        changes.borrow_and_update();
        self.clock.hold().min(until).max(now)
    }

    fn is_stopped(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

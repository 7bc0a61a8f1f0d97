//! Limits the number of writes per second.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A rate limiter that allows a burst of one second of unused writes.
pub(super) struct RateLimit {
    pause: Option<Duration>,
    next: Mutex<Option<Instant>>,
}

impl RateLimit {
    /// `None` is unlimited.
    pub(super) fn new(per_second: Option<u32>) -> Self {
        Self { pause: per_second.map(|count| Duration::from_secs(1) / count.max(1)), next: Mutex::new(None) }
    }

    pub(super) async fn take(&self) {
        let Some(pause) = self.pause else { return };
        let now = Instant::now();
        let turn = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let earliest = now.checked_sub(Duration::from_secs(1)).unwrap_or(now);
            let turn = next.map_or(earliest, |next| next.max(earliest));
            *next = Some(turn + pause);
            turn
        };
        tokio::time::sleep_until(turn).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn limits_writes_after_a_burst_of_one_second() {
        let limit = RateLimit::new(Some(10));
        let start = Instant::now();
        for _ in 0..11 {
            limit.take().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..10 {
            limit.take().await;
        }
        assert_eq!(start.elapsed().as_millis(), 1000);
    }
}

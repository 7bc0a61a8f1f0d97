//! The work queue of the ClusterVersion worker: immediate runs on triggers, back-off after errors, and a rate
//! limit for progress notifications.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

/// Failed runs in a row after which the error is written to the status.
const RETRIES_MAX: u32 = 15;
const BACKOFF_FIRST: SignedDuration = SignedDuration::from_millis(5);
const BACKOFF_MAX: SignedDuration = SignedDuration::from_secs(1000);
/// One progress notification per 15 seconds, with a burst of two.
const NOTIFICATION_INTERVAL: SignedDuration = SignedDuration::from_secs(15);
const NOTIFICATION_BURST: i32 = 2;

/// The work queue for the only key, with its error back-off.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    due_at: Option<Time>,
    retries: u32,
    next_notification_at: Time,
    resync_every: SignedDuration,
    resync_at: Time,
}

impl Queue {
    /// An empty queue whose key is due every `resync_every` even if nothing happens.
    pub(super) fn new(resync_every: SignedDuration, now: Time) -> Self {
        Self {
            due_at: None,
            retries: 0,
            next_notification_at: now - NOTIFICATION_INTERVAL * NOTIFICATION_BURST,
            resync_every,
            resync_at: now + resync_every,
        }
    }

    /// Makes the key due now.
    pub(super) fn trigger(&mut self, now: Time) {
        self.due_at = Some(self.due_at.map_or(now, |at| at.min(now)));
    }

    /// Makes the key due as soon as the rate limit of progress notifications allows.
    pub(super) fn notify_progress(&mut self, now: Time) {
        let floor = now - NOTIFICATION_INTERVAL * (NOTIFICATION_BURST - 1);
        let token = self.next_notification_at.max(floor);
        let at = token.max(now);
        // An earlier run also reports this progress, so it costs no token.
        if self.due_at.is_none_or(|due| due > at) {
            self.next_notification_at = token + NOTIFICATION_INTERVAL;
            self.due_at = Some(at);
        }
    }

    /// The time at which the key is due next.
    pub(super) fn wake_at(&self) -> Time {
        self.due_at.map_or(self.resync_at, |at| at.min(self.resync_at))
    }

    /// Takes the key if it is due.
    pub(super) fn take(&mut self, now: Time) -> bool {
        if self.wake_at() > now {
            return false;
        }
        self.due_at = None;
        self.resync_at = now + self.resync_every;
        true
    }

    /// Resets the back-off after a successful run.
    pub(super) fn succeeded(&mut self) {
        self.retries = 0;
    }

    /// Backs off after a failed run. Returns true after too many failures: the key is dropped and the caller
    /// writes the error to the status.
    pub(super) fn failed(&mut self, now: Time) -> bool {
        if self.retries >= RETRIES_MAX {
            self.retries = 0;
            return true;
        }
        let backoff = BACKOFF_FIRST.saturating_mul(1 << self.retries.min(18)).min(BACKOFF_MAX);
        self.retries += 1;
        let at = now + backoff;
        self.due_at = Some(self.due_at.map_or(at, |due| due.min(at)));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_second(1_700_000_000 + seconds).unwrap()
    }

    #[test]
    fn allows_two_progress_notifications_and_then_one_per_fifteen_seconds() {
        let mut queue = Queue::new(SignedDuration::from_hours(1), at(0));
        let mut taken = Vec::new();
        for second in 0..40 {
            queue.notify_progress(at(second));
            if queue.take(at(second)) {
                taken.push(second);
            }
        }
        assert_eq!(taken, [0, 1, 15, 30]);
    }

    #[test]
    fn the_sixteenth_failure_in_a_row_drops_the_key() {
        let mut queue = Queue::new(SignedDuration::from_hours(1), at(0));
        let dropped: Vec<bool> = (0..17).map(|_| queue.failed(at(0))).collect();
        assert_eq!(dropped.iter().position(|dropped| *dropped), Some(15));
        assert!(!dropped[16], "the count restarts");
    }
}

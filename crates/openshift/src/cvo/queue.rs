//! When the ClusterVersion worker runs: at once on a trigger, again after an error, and not too often for mere news.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

/// Failed tries after which the error itself is written to the status.
const RETRIES_MAX: u32 = 15;
const BACKOFF_FIRST: SignedDuration = SignedDuration::from_millis(5);
const BACKOFF_MAX: SignedDuration = SignedDuration::from_secs(1000);
/// One notification of progress each 15 seconds, two at the most in a row.
const NEWS_INTERVAL: SignedDuration = SignedDuration::from_secs(15);
const NEWS_BURST: i32 = 2;

/// The one-key work queue of the worker, with its error back-off.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    due_at: Option<Time>,
    retries: u32,
    next_news_at: Time,
    resync_every: SignedDuration,
    resync_at: Time,
}

impl Queue {
    /// An empty queue whose key comes up each `resync_every` even when nothing happens.
    pub(super) fn new(resync_every: SignedDuration, now: Time) -> Self {
        Self {
            due_at: None,
            retries: 0,
            next_news_at: now - NEWS_INTERVAL * NEWS_BURST,
            resync_every,
            resync_at: now + resync_every,
        }
    }

    /// The worker is to run now.
    pub(super) fn trigger(&mut self, now: Time) {
        self.due_at = Some(self.due_at.map_or(now, |at| at.min(now)));
    }

    /// There is news of progress: the worker is to run when the token bucket allows.
    pub(super) fn news(&mut self, now: Time) {
        let floor = now - NEWS_INTERVAL * (NEWS_BURST - 1);
        let token = self.next_news_at.max(floor);
        let at = token.max(now);
        // Whatever lets the worker run before then will tell the news as well.
        if self.due_at.is_none_or(|due| due > at) {
            self.next_news_at = token + NEWS_INTERVAL;
            self.due_at = Some(at);
        }
    }

    /// When the worker is to run next.
    pub(super) fn wake_at(&self) -> Time {
        self.due_at.map_or(self.resync_at, |at| at.min(self.resync_at))
    }

    /// Takes the key, if it is due.
    pub(super) fn take(&mut self, now: Time) -> bool {
        if self.wake_at() > now {
            return false;
        }
        self.due_at = None;
        self.resync_at = now + self.resync_every;
        true
    }

    /// The run succeeded.
    pub(super) fn succeeded(&mut self) {
        self.retries = 0;
    }

    /// The run failed. True when it failed too often: the key is dropped and the error is to be written.
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
    fn two_news_pass_at_once_and_then_one_each_fifteen_seconds() {
        let mut queue = Queue::new(SignedDuration::from_hours(1), at(0));
        let mut taken = Vec::new();
        for second in 0..40 {
            queue.news(at(second));
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
        assert!(!dropped[16], "counting begins anew");
    }
}

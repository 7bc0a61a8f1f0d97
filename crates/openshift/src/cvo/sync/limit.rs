//! Rate limit of the operator's requests to the API server: a token bucket (`flowcontrol` of client-go).

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::graph::ApplyMode;

/// The duration of a request that is not delayed.
const REQUEST: SignedDuration = SignedDuration::from_millis(10);

#[derive(Debug, Clone, Copy)]
struct Rate {
    interval: SignedDuration,
    burst: i32,
}

/// 20 requests a second, with a burst of 40.
const USUAL: Rate = Rate { interval: SignedDuration::from_millis(50), burst: 40 };
/// 40 requests a second, with a burst of 80, while the cluster is being installed.
const INITIALIZING: Rate = Rate { interval: SignedDuration::from_millis(25), burst: 80 };

/// The token bucket of one client.
#[derive(Debug, Clone, Copy)]
pub(in crate::cvo) struct Limit {
    full_at: Time,
}

impl Limit {
    /// A full bucket.
    pub(in crate::cvo) fn new(now: Time) -> Self {
        Self { full_at: now }
    }

    /// Takes the tokens of consecutive requests. Returns when the last one is answered.
    pub(in crate::cvo) fn take(&mut self, requests: u32, mode: ApplyMode, now: Time) -> Time {
        let rate = if mode == ApplyMode::Initializing { INITIALIZING } else { USUAL };
        let count = i32::try_from(requests).unwrap_or(i32::MAX);
        self.full_at = self.full_at.max(now) + rate.interval.saturating_mul(count);
        let last = self.full_at - rate.interval * rate.burst;
        (now + REQUEST.saturating_mul(count)).max(last + REQUEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Time {
        Time::from_millisecond(1_700_000_000_000 + millis).unwrap()
    }

    #[test]
    fn allows_a_burst_and_then_twenty_requests_a_second() {
        let mut limit = Limit::new(at(0));
        let mut now = at(0);
        let mut answered = Vec::new();
        for _ in 0..100 {
            now = limit.take(1, ApplyMode::Updating, now);
            answered.push(now);
        }
        assert_eq!((answered[0], answered[39]), (at(10), at(400)));
        assert_eq!(answered[99].duration_since(answered[79]), SignedDuration::from_secs(1));
        // Two seconds later the bucket is full again.
        let later = now + SignedDuration::from_secs(2);
        assert_eq!(limit.take(40, ApplyMode::Updating, later), later + REQUEST * 40);
    }

    #[test]
    fn requests_in_batches_take_as_long_as_single_requests() {
        let last = |step: u32, mode| {
            let (mut limit, mut now) = (Limit::new(at(0)), at(0));
            for _ in 0..800 / step {
                now = limit.take(step, mode, now);
            }
            now.duration_since(at(0)).as_millis()
        };
        // (800 - 40) / 20 seconds, and (800 - 80) / 40 seconds.
        assert_eq!((last(1, ApplyMode::Updating), last(200, ApplyMode::Updating)), (38_010, 38_010));
        assert_eq!((last(1, ApplyMode::Initializing), last(200, ApplyMode::Initializing)), (18_010, 18_010));
    }
}

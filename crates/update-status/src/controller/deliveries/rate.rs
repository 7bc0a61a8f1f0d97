//! Rate limits: a bucket of tokens per key.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Maximum number of keys. Beyond it, keys that used little are forgotten.
const KEYS_MAX: usize = 1024;

/// A limit: `burst` at once, and one more after each `every`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) burst: u32,
    pub(super) every: Duration,
}

/// The time at which each key has all of its tokens again.
#[derive(Debug)]
pub(super) struct Buckets<K> {
    rate: Rate,
    full_at: BTreeMap<K, Instant>,
}

impl<K: Ord + Clone> Buckets<K> {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, full_at: BTreeMap::new() }
    }

    /// Takes a token. Returns how long to wait if there is none.
    pub(super) fn take(&mut self, key: K, now: Instant) -> Option<Duration> {
        if self.full_at.len() >= KEYS_MAX {
            self.forget(now);
        }
        let Rate { burst, every } = self.rate;
        let full_at = self.full_at.get(&key).copied().unwrap_or(now).max(now) + every;
        let missing = full_at.duration_since(now);
        let wait = missing.saturating_sub(every * burst);
        if wait.is_zero() {
            self.full_at.insert(key, full_at);
            return None;
        }
        Some(wait)
    }

    /// Forgets full buckets, and if that is not enough the fullest half of the others.
    fn forget(&mut self, now: Instant) {
        self.full_at.retain(|_, full_at| *full_at > now);
        if self.full_at.len() >= KEYS_MAX {
            let mut times: Vec<Instant> = self.full_at.values().copied().collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            self.full_at.retain(|_, full_at| *full_at > middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_burst_and_then_one_token_at_a_time() {
        let mut buckets = Buckets::new(Rate { burst: 2, every: Duration::from_secs(10) });
        let start = Instant::now();
        let mut take = |key: &'static str, seconds: u64| {
            buckets.take(key, start + Duration::from_secs(seconds)).map(|wait| wait.as_secs())
        };
        assert_eq!([take("a", 0), take("a", 0), take("a", 0)], [None, None, Some(10)]);
        assert_eq!(take("b", 0), None);
        assert_eq!([take("a", 4), take("a", 10), take("a", 10)], [Some(6), None, Some(10)]);
        assert_eq!([take("a", 60), take("a", 60), take("a", 60)], [None, None, Some(10)]);
    }

    #[test]
    fn many_keys_take_no_more_memory() {
        let mut buckets = Buckets::new(Rate { burst: 2, every: Duration::from_secs(10) });
        let now = Instant::now();
        for key in 0..10 * KEYS_MAX {
            buckets.take(key, now);
        }
        assert!(buckets.full_at.len() <= KEYS_MAX);
    }
}

//! How long a Job waits before it makes a pod in the place of a failed one.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::tally::Tally;

/// The pause after the first failure; each later one is twice as long.
const FIRST_SECONDS: i64 = 10;
/// The longest pause.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// How pods of one Job have failed since one last succeeded. It is forgotten when the controller is restarted.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    seen: [i64; 2],
    in_a_row: i64,
    last: Option<Time>,
}

impl Failures {
    /// When a pod may follow the failed ones; `None`: at once.
    pub(super) fn retry_at(&mut self, tally: &Tally<'_>, now: Time) -> Option<Time> {
        let totals = tally.totals();
        let more = totals[1] - self.seen[1];
        if totals[0] > self.seen[0] {
            self.in_a_row = 0;
        }
        if more > 0 {
            self.in_a_row += more;
            self.last = Some(now);
        }
        self.seen = totals;
        let doublings = u32::try_from(self.in_a_row - 1).ok()?.min(6);
        Some(self.last? + SignedDuration::from_secs(FIRST_SECONDS << doublings).min(LONGEST))
    }
}

//! The back-off of a Job after failed pods.

use jiff::SignedDuration;
use windtunnel_core::clock::Time;

use super::tally::Tally;

/// The back-off after the first failure in seconds. It doubles with each further one.
const FIRST_SECONDS: i64 = 10;
/// The maximum back-off.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// The failures of a Job's pods since the last success. They are lost when the controller restarts.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    seen: [i64; 2],
    in_a_row: i64,
    last: Option<Time>,
}

impl Failures {
    /// The time at which a replacement may be created; `None` for immediately.
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

//! Which start of a CronJob is due (`mostRecentScheduleTime` of kube-controller-manager).

use jiff::SignedDuration;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, after};

use super::schedule::Schedule;

/// A controller that missed more starts than this reports it.
const MISSED_MAX: i64 = 100;
/// The error about a schedule whose starts are at the same time.
const TOO_CLOSE: &str = "time difference between two schedules is less than 1 second";
/// How long after a start the controller looks at the CronJob again, so that the start is in the past.
const DELTA: SignedDuration = SignedDuration::from_millis(100);

/// The last start that is due, and whether too many were missed before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DueStart {
    pub(super) at: Option<Time>,
    pub(super) missed_many: bool,
}

/// Returns the due start of a CronJob, which its deadline limits.
///
/// # Errors
/// Two starts are at the same time.
pub(super) fn due_start(cron_job: &Object, schedule: &Schedule, now: Time) -> Result<DueStart, String> {
    let deadline = cron_job.number("/spec/startingDeadlineSeconds");
    let limit = deadline.map(|seconds| after(now, SignedDuration::from_secs(-seconds)));
    let earliest = last_handled(cron_job, now);
    most_recent(limit.map_or(earliest, |limit| limit.max(earliest)), schedule, now)
}

/// Returns when the controller has to look at the CronJob again; `None` if its schedule has no further time.
pub(super) fn next_look(cron_job: &Object, schedule: &Schedule, now: Time) -> Option<Time> {
    let earliest = last_handled(cron_job, now);
    let from = match most_recent(earliest, schedule, now) {
        Ok(DueStart { at: Some(at), .. }) => at,
        Ok(DueStart { at: None, .. }) if schedule.next(earliest).is_none_or(|first| first > now) => earliest,
        _ => now,
    };
    schedule.next(from).map(|at| after(at, DELTA))
}

/// The last start that the controller handled, or else the creation.
fn last_handled(cron_job: &Object, now: Time) -> Time {
    let last = cron_job.time("/status/lastScheduleTime");
    last.or_else(|| cron_job.time("/metadata/creationTimestamp")).unwrap_or(now)
}

fn most_recent(earliest: Time, schedule: &Schedule, now: Time) -> Result<DueStart, String> {
    // The real controller takes a start that never comes for one at the beginning of time, and so for two at once.
    let Some(first) = schedule.next(earliest) else { return Err(TOO_CLOSE.to_owned()) };
    if first > now {
        return Ok(DueStart { at: None, missed_many: false });
    }
    let Some(second) = schedule.next(first) else { return Err(TOO_CLOSE.to_owned()) };
    if second > now {
        return Ok(DueStart { at: Some(first), missed_many: false });
    }
    let between = second.duration_since(first).as_secs();
    if between < 1 {
        return Err(TOO_CLOSE.to_owned());
    }
    let missed = now.duration_since(first).as_secs() / between + 1;
    // An estimate for schedules whose starts are not equally far apart: the loop finds the exact start.
    let mut at = None;
    let mut next = schedule.next(after(first, SignedDuration::from_secs((missed - 2) * between)));
    while let Some(found) = next.filter(|found| *found <= now) {
        at = Some(found);
        next = schedule.next(found);
    }
    Ok(DueStart { at, missed_many: missed > MISSED_MAX })
}

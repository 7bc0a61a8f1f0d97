//! The time at which a served cluster starts.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use crate::cli::args::ClockStart;
use crate::engine;

/// How far in the past a cluster starts whose time passes faster than that of this machine.
const PAST: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Returns the start time of a cluster: the requested one. By default it is now, or, at a speed above 1, early enough
/// that clients see no event in the future for a while.
///
/// # Errors
/// The time is before [`engine::EPOCH`], which the dates in the objects of a release match, or it is after `now`.
pub(in crate::cli::serve) fn start_time(
    start: Option<ClockStart>,
    now: Time,
    speed: f64,
) -> Result<Time, String> {
    let start = match start {
        Some(ClockStart::Ago(span)) => after(now, -span),
        Some(ClockStart::At(at)) => at,
        None if speed > 1.0 => return Ok(after(now, -PAST).max(engine::EPOCH).min(now)),
        None => return Ok(now),
    };
    if start < engine::EPOCH {
        return Err(format!("--clock: {start} is before {}, the earliest time of a cluster", engine::EPOCH));
    }
    if start > now {
        return Err(format!("--clock: {start} is in the future; clients would print negative ages"));
    }
    Ok(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-06-01T12:00:00Z";

    fn start(flag: Option<&str>, speed: f64) -> Result<String, String> {
        let flag = flag.map(|text| ClockStart::parse(text).unwrap());
        start_time(flag, NOW.parse().unwrap(), speed).map(|time| time.to_string())
    }

    #[test]
    fn a_fast_cluster_starts_thirty_days_ago() {
        for (speed, expected) in [(0.5, NOW), (1.0, NOW), (2.0, "2026-05-02T12:00:00Z")] {
            assert_eq!(start(None, speed).as_deref(), Ok(expected), "{speed}");
        }
        let early: Time = "2024-01-20T00:00:00Z".parse().unwrap();
        assert_eq!(start_time(None, early, 60.0), Ok(engine::EPOCH));
        let wrong: Time = "2020-01-20T00:00:00Z".parse().unwrap();
        assert_eq!(start_time(None, wrong, 60.0), Ok(wrong), "the clock of this machine is wrong");
    }

    #[test]
    fn a_start_is_a_time_or_a_distance_from_now() {
        assert_eq!(start(Some("now"), 60.0).as_deref(), Ok(NOW));
        assert_eq!(start(Some("1d12h-ago"), 1.0).as_deref(), Ok("2026-05-31T00:00:00Z"));
        assert_eq!(start(Some("2024-02-03T04:05:06Z"), 1.0).as_deref(), Ok("2024-02-03T04:05:06Z"));
        let error = start(Some("2023-02-03T04:05:06Z"), 1.0).unwrap_err();
        assert!(error.ends_with("is before 2024-01-15T08:00:00Z, the earliest time of a cluster"), "{error}");
        assert!(start(Some("2027-01-01T00:00:00Z"), 1.0).unwrap_err().contains("is in the future"));
    }
}

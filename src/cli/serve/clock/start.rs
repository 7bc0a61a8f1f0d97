//! The time at which a served cluster starts.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::short_duration;

use crate::cli::args::ClockStart;
use crate::engine;

/// How far in the past a cluster starts whose time passes faster than that of this machine: at least, and at most.
const PAST: [SignedDuration; 2] = [SignedDuration::from_hours(24), SignedDuration::from_hours(30 * 24)];
/// How long the time of a cluster passes faster than that of this machine, by the clock of this machine, within these bounds.
const FAST: SignedDuration = SignedDuration::from_mins(10);
/// The start that a notice recommends to users of clients with a clock of their own.
const SHORTLY: SignedDuration = SignedDuration::from_hours(2);

/// Returns the start time of a cluster: the requested one. By default it is now, or, at a speed above 1, early enough
/// that clients see no event in the future for a while, and no earlier: until the clocks meet, clients that use their own one
/// see durations that are too long by the difference.
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
        None if speed > 1.0 => {
            let [least, most] = PAST;
            let past = SignedDuration::try_from_secs_f64(FAST.as_secs_f64() * speed).unwrap_or(most);
            return Ok(after(now, -past.clamp(least, most)).max(engine::EPOCH).min(now));
        }
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

/// Returns the notice about a clock that shows `start` at `now`; `None` if clients with a clock of their own show right
/// durations.
pub(in crate::cli::serve) fn notice(start: Time, now: Time, speed: f64) -> Option<String> {
    let behind = now.duration_since(start);
    if behind < SignedDuration::from_mins(1) {
        return None;
    }
    let meets = |behind: SignedDuration| {
        let wait = SignedDuration::try_from_secs_f64((behind.as_secs_f64() / (speed - 1.0)).ceil());
        short_duration(wait.unwrap_or(SignedDuration::MAX))
    };
    let until = if speed > 1.0 {
        format!("until it catches up in {}, and at 1x from then on. Until then", meets(behind))
    } else {
        "and never catches up. So".to_owned()
    };
    let sooner = if speed > 1.0 && behind > SHORTLY {
        format!(", or start with `--clock 2h-ago`, which catches up in {}", meets(SHORTLY))
    } else {
        String::new()
    };
    Some(format!(
        "the cluster's clock starts {} behind this machine's, and passes at {speed}x {until} clients that use their own clock, \
         such as `oc adm upgrade status`, show durations that are too long by the difference, and call an update stalled: use \
         `windtunnel adm upgrade status`{sooner}",
        short_duration(behind)
    ))
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
    fn a_fast_cluster_starts_a_day_ago_or_earlier() {
        let cases = [
            (0.5, NOW),
            (1.0, NOW),
            (2.0, "2026-05-31T12:00:00Z"),
            (60.0, "2026-05-31T12:00:00Z"),
            (600.0, "2026-05-28T08:00:00Z"),
            (1e5, "2026-05-02T12:00:00Z"),
        ];
        for (speed, expected) in cases {
            assert_eq!(start(None, speed).as_deref(), Ok(expected), "{speed}");
        }
        let early: Time = "2024-01-15T20:00:00Z".parse().unwrap();
        assert_eq!(start_time(None, early, 60.0), Ok(engine::EPOCH));
        let wrong: Time = "2020-01-20T00:00:00Z".parse().unwrap();
        assert_eq!(start_time(None, wrong, 60.0), Ok(wrong), "the clock of this machine is wrong");
    }

    #[test]
    fn a_notice_says_how_long_durations_are_wrong() {
        let now: Time = NOW.parse().unwrap();
        let at = |hours, speed| notice(now - SignedDuration::from_hours(hours), now, speed);
        let fast = at(24, 60.0).unwrap();
        for part in [
            "starts 24h behind",
            "at 60x until it catches up in 24m25s",
            "`--clock 2h-ago`, which catches up in 2m3s",
        ] {
            assert!(fast.contains(part), "{fast}");
        }
        let slow = at(24, 1.0).unwrap();
        assert!(
            slow.contains("at 1x and never catches up. So clients") && !slow.contains("2h-ago"),
            "{slow}"
        );
        assert_eq!(at(0, 60.0), None);
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

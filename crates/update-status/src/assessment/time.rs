//! Times and durations, computed like Go programs do: whole nanoseconds in 64 bits.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use windtunnel_core::clock::{Time, parse_rfc3339};

/// Go's zero `time.Time`, the first moment of the year 1. `oc` uses it for missing times.
pub(crate) const ZERO_TIME: Time = Timestamp::constant(-62_135_596_800, 0);

pub(crate) const SECOND: SignedDuration = SignedDuration::from_secs(1);

pub(crate) const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// Parses the time in a field; `None` if it is missing or invalid.
pub(crate) fn time_field(value: &Value, field: &str) -> Option<Time> {
    value[field].as_str().and_then(parse_rfc3339)
}

/// Returns `later - earlier`, limited to the range of a Go `time.Duration` (some 292 years).
pub(crate) fn duration_between(earlier: Time, later: Time) -> SignedDuration {
    from_nanos(later.duration_since(earlier).as_nanos())
}

/// Creates a duration, limited to the range of a Go `time.Duration`.
pub(crate) fn from_nanos(nanos: i128) -> SignedDuration {
    let limit = if nanos < 0 { i64::MIN } else { i64::MAX };
    SignedDuration::from_nanos(i64::try_from(nanos).unwrap_or(limit))
}

/// Rounds to the nearest multiple of a unit, halves away from zero (Go's `Duration.Round`).
pub(crate) fn round(span: SignedDuration, unit: SignedDuration) -> SignedDuration {
    let (nanos, unit) = (span.as_nanos(), unit.as_nanos());
    let half = unit / 2 * nanos.signum();
    from_nanos((nanos + half) / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_since_the_zero_time_is_limited_to_the_range_of_go() {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(duration_between(ZERO_TIME, now).as_nanos(), i128::from(i64::MAX));
        assert_eq!(time_field(&serde_json::json!({}), "lastTransitionTime"), None);
    }

    #[test]
    fn rounds_halves_away_from_zero() {
        for (seconds, rounded) in [(89, 60), (90, 120), (-89, -60), (-90, -120), (29, 0), (-31, -60)] {
            let span = SignedDuration::from_secs(seconds);
            assert_eq!(round(span, MINUTE).as_secs(), rounded, "{seconds} s rounded");
        }
    }
}

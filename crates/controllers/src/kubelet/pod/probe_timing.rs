//! The times of probes, by their fields.

use jiff::SignedDuration;
use serde_json::Value;

/// The defaults of `periodSeconds` and `failureThreshold`.
const PERIOD_SECONDS: i64 = 10;
pub(super) const FAILURES: i64 = 3;

/// A number in a probe, or its default.
pub(super) fn number(probe: &Value, field: &str, otherwise: i64) -> i64 {
    probe[field].as_i64().unwrap_or(otherwise)
}

/// The time from the first failure of a probe until the threshold is reached.
pub(super) fn time_to_threshold(probe: &Value) -> SignedDuration {
    let (period, failures) =
        (number(probe, "periodSeconds", PERIOD_SECONDS), number(probe, "failureThreshold", FAILURES));
    SignedDuration::from_secs(period.saturating_mul(failures))
}

/// The time between two attempts of a probe.
pub(super) fn period(probe: &Value) -> SignedDuration {
    SignedDuration::from_secs(number(probe, "periodSeconds", PERIOD_SECONDS).max(1))
}

/// The time from the start of a container to its first probe: the first multiple of the period that is not
/// before the initial delay.
pub(super) fn first_success(probe: &Value) -> SignedDuration {
    let delay = number(probe, "initialDelaySeconds", 0).max(0);
    let period = number(probe, "periodSeconds", PERIOD_SECONDS).max(1);
    let periods = delay / period + i64::from(delay % period != 0);
    SignedDuration::from_secs(period.saturating_mul(periods))
}

//! Estimates the remaining time of an update from the fraction of updated operators.

use jiff::SignedDuration;

use super::time::{MINUTE, round};

/// Durations above this are shown in whole minutes. An update whose estimated delay is above this is stalled.
pub(crate) const TEN_MINUTES: SignedDuration = SignedDuration::from_mins(10);

/// Progress is extrapolated only if it was observed for longer than this.
const TOO_EARLY: SignedDuration = SignedDuration::from_mins(5);

/// Safety factor of estimates, so that they are rather too long than too short.
const OVERESTIMATE: f64 = 1.2;

/// The longest estimate, in seconds, that fits into 64-bit nanoseconds.
const LONGEST: f64 = 9e9;

/// Returns the estimated remaining time, negative if the update is late; in whole seconds, above ten minutes
/// in whole minutes.
///
/// `baseline` is the duration of an earlier update, `to_last_progress` the time from the start to the last
/// observed progress, `updating_for` the time since the start, `share` the fraction of updated operators,
/// from 0 to 1.
pub(crate) fn remaining(
    baseline: SignedDuration,
    to_last_progress: SignedDuration,
    updating_for: SignedDuration,
    share: f64,
) -> SignedDuration {
    let time_share = share_of_time(share);
    let extrapolates = share > 0.0 && time_share > 0.0 && to_last_progress > TOO_EARLY;
    let total =
        if extrapolates { to_last_progress.as_secs_f64() / time_share } else { baseline.as_secs_f64() };
    let rest = total - updating_for.as_secs_f64();
    let factor = if rest < 0.0 { 1.0 / OVERESTIMATE } else { OVERESTIMATE };
    let seconds = (rest * factor).trunc().clamp(-LONGEST, LONGEST);
    let estimate = SignedDuration::try_from_secs_f64(seconds).unwrap_or_default();
    if estimate > TEN_MINUTES { round(estimate, MINUTE) } else { estimate }
}

/// Returns the fraction of an update's time that has passed when fraction `x` of the operators is updated:
/// the client's polynomials, with their jumps at 0.25 and 0.9.
fn share_of_time(x: f64) -> f64 {
    // Multiplies in the client's order, since a different rounding can change the displayed seconds.
    let x2 = x * x;
    let x3 = x * x2;
    let x4 = x2 * x2;
    if x < 0.25 {
        -0.030_787_88 + 2.62886 * x - 3.823_954 * x2
    } else if x < 0.9 {
        0.185_121_5 + 1.64994 * x - 4.676_898 * x2 + 5.451_824 * x3 - 2.125_286 * x4
    } else {
        25053.32 - 107_394.3 * x + 172_527.2 * x2 - 123_107.0 * x3 + 32921.81 * x4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(baseline: &str, to_last: &str, updating_for: &str, share: f64, expected: &str) {
        let span = |text: &str| text.parse::<SignedDuration>().unwrap();
        let rest = remaining(span(baseline), span(to_last), span(updating_for), share);
        assert_eq!(rest, span(expected), "{baseline} {to_last} {updating_for} {share}");
    }

    #[test]
    fn uses_the_baseline_before_progress_was_observed() {
        check("60m", "30m", "30m", 0.0, "36m");
        check("80m", "4m", "10m", 0.05, "1h24m");
        check("60m", "300s", "300s", 1.0 / 33.0, "1h6m");
        check("60m", "0s", "60m", 0.0, "0s");
    }

    #[test]
    fn extrapolates_observed_progress() {
        check("60m", "30m", "30m", 0.2, "1h9m");
        check("60m", "30m", "35m", 0.2, "1h3m");
        check("60m", "30m", "30m", 0.75, "50m");
        check("60m", "20m", "20m", 0.99, "4m50s");
        check("60m", "301s", "301s", 1.0 / 33.0, "2h7m");
        check("60m", "40m", "45m", 32.0 / 33.0, "15m");
    }

    #[test]
    fn a_late_update_has_a_negative_remaining_time() {
        check("60m", "40m", "60m", 32.0 / 33.0, "-2m13s");
        check("60m", "40m", "90m", 32.0 / 33.0, "-27m13s");
    }

    #[test]
    fn the_time_fraction_jumps_at_a_quarter_and_at_nine_tenths() {
        for (updated, total, expected) in [
            (1.0, 33.0, ".04536"),
            (8.0, 33.0, ".38178"),
            (9.0, 33.0, ".38607"),
            (25.0, 33.0, ".42126"),
            (30.0, 33.0, ".52900"),
            (32.0, 33.0, ".69764"),
            (33.0, 34.0, ".69922"),
        ] {
            assert_eq!(format!("{:.5}", share_of_time(updated / total)), format!("0{expected}"));
        }
    }
}

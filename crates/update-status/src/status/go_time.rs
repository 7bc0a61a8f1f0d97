//! Durations as the Go client prints them.

use jiff::SignedDuration;

use crate::assessment::time::from_nanos;

/// Rounds towards zero to a multiple of a unit (Go's `Duration.Truncate`).
pub(super) fn truncate(span: SignedDuration, unit: SignedDuration) -> SignedDuration {
    let (nanos, unit) = (span.as_nanos(), unit.as_nanos());
    from_nanos(nanos / unit * unit)
}

/// Formats a duration as the status shows it: `now`, `45s`, `10m`, `1h10m`, `25h1m1s`.
///
/// Like the client, this cuts the fraction and the unit after it from Go's text, whatever the unit, so
/// `368.975µs` is printed as 368 seconds.
pub(super) fn short(span: SignedDuration) -> String {
    let text = canonical(span);
    if text == "0s" {
        return "now".to_owned();
    }
    if let Some(hours) = text.strip_suffix("h0m0s") {
        return format!("{hours}h");
    }
    if let Some(minutes) = text.strip_suffix("m0s") {
        return format!("{minutes}m");
    }
    match text.split_once('.') {
        Some((whole, _)) => short(SignedDuration::from_secs(as_seconds(whole))),
        None => text,
    }
}

/// Formats a duration like Go's `Duration.String`.
fn canonical(span: SignedDuration) -> String {
    let nanos = span.as_nanos();
    let (sign, size) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let (seconds, below) = (size / 1_000_000_000, size % 1_000_000_000);
    let text = match size {
        0 => "0s".to_owned(),
        1..1_000 => format!("{size}ns"),
        1_000..1_000_000 => decimal(size / 1_000, size % 1_000, 3) + "µs",
        1_000_000..1_000_000_000 => decimal(size / 1_000_000, size % 1_000_000, 6) + "ms",
        _ => {
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            let rest = decimal(seconds % 60, below, 9);
            match (hours, minutes) {
                (0, 0) => format!("{rest}s"),
                (0, _) => format!("{minutes}m{rest}s"),
                _ => format!("{hours}h{minutes}m{rest}s"),
            }
        }
    };
    format!("{sign}{text}")
}

/// Formats `whole.fraction` without trailing zeros. The fraction has `digits` digits.
fn decimal(whole: u128, fraction: u128, digits: usize) -> String {
    if fraction == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{fraction:0digits$}");
    text.trim_end_matches('0').to_owned()
}

/// Parses the start of a [`canonical`] text into seconds. The last number, which has lost its unit, counts as
/// seconds.
fn as_seconds(text: &str) -> i64 {
    let (mut total, mut number) = (0_i64, 0_i64);
    for letter in text.chars() {
        match letter {
            'h' => total += std::mem::take(&mut number) * 3600,
            'm' => total += std::mem::take(&mut number) * 60,
            _ => number = number * 10 + i64::from(letter.to_digit(10).unwrap_or(0)),
        }
    }
    let size = total + number;
    if text.starts_with('-') { -size } else { size }
}

#[cfg(test)]
mod tests {
    use windtunnel_core::clock::Time;

    use super::*;
    use crate::assessment::time::{MINUTE, SECOND, ZERO_TIME, duration_between, round};

    fn check_short(nanos: i64, expected: &str) {
        assert_eq!(short(SignedDuration::from_nanos(nanos)), expected, "{nanos} ns");
    }

    #[test]
    fn formats_durations_without_zero_parts_and_reads_fractions_as_seconds() {
        for (nanos, expected) in [
            (0, "now"),
            (1_500, "1s"),
            (368_975, "6m8s"),
            (500_000_000, "500ms"),
            (523_123_456, "8m43s"),
            (1_000_000_001, "1s"),
            (120_000_368_975, "2m"),
            (600_000_000_000, "10m"),
            (4_200_000_000_000, "1h10m"),
            (3_600_000_000_000, "1h"),
            (3_601_000_000_000, "1h0m1s"),
            (3_610_500_000_000, "1h0m10s"),
            (3_660_000_000_000, "1h1m"),
            (36_600_000_000_000, "10h10m"),
            (90_061_000_000_000, "25h1m1s"),
            (-5_000_000_000, "-5s"),
            (-5_300_000_000, "-5s"),
            (999, "999ns"),
        ] {
            check_short(nanos, expected);
        }
    }

    #[test]
    fn formats_the_longest_duration() {
        let now: Time = "2024-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(short(duration_between(ZERO_TIME, now)), "2562047h47m16s");
        assert_eq!(short(round(duration_between(ZERO_TIME, now), SECOND)), "2562047h47m16s");
    }

    #[test]
    fn truncates_towards_zero() {
        for (seconds, truncated) in [(89, 60), (90, 60), (-89, -60), (-90, -60), (29, 0), (-31, 0)] {
            let span = SignedDuration::from_secs(seconds);
            assert_eq!(truncate(span, MINUTE).as_secs(), truncated, "{seconds} s truncated");
        }
    }
}

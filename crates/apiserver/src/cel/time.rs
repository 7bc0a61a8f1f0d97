//! Text forms of timestamps and durations.

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

/// Units of Go durations in nanoseconds.
const UNITS: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];
/// Units that the format `duration` accepts in addition.
const WORDS: [(&str, f64); 20] = [
    ("nano", 1.0),
    ("micro", 1e3),
    ("milli", 1e6),
    ("sec", 1e9),
    ("secs", 1e9),
    ("second", 1e9),
    ("seconds", 1e9),
    ("min", 60e9),
    ("minute", 60e9),
    ("minutes", 60e9),
    ("hr", 3600e9),
    ("hrs", 3600e9),
    ("hour", 3600e9),
    ("hours", 3600e9),
    ("d", 86_400e9),
    ("day", 86_400e9),
    ("days", 86_400e9),
    ("w", 604_800e9),
    ("week", 604_800e9),
    ("weeks", 604_800e9),
];

/// Parses a Go duration to nanoseconds (`time.ParseDuration`).
pub(crate) fn go_duration(text: &str) -> Option<i64> {
    parse_units(text, &UNITS)
}

/// Parses a text of format `duration` to nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    go_duration(text).or_else(|| parse_units(&text.replace(' ', ""), &WORDS))
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn parse_units(text: &str, units: &[(&str, f64)]) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, after) = tail.split_at(end);
        let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
        total += format!("0{number}").parse::<f64>().ok()? * factor;
        rest = after;
    }
    (total < 9.223_372_036_854_775e18).then_some((sign * total).round() as i64)
}

/// Parses an RFC 3339 timestamp.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let separated = matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' '));
    if separated { text.parse().ok() } else { None }
}

/// Parses a date as midnight UTC.
pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
    let date: civil::Date = text.parse().ok()?;
    date.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

pub(crate) fn show_timestamp(at: Timestamp) -> String {
    at.to_string()
}

/// Formats a duration in seconds, as CEL prints it.
#[expect(clippy::cast_precision_loss, reason = "seconds of a duration are a float in Go too")]
pub(crate) fn show_duration(nanoseconds: i64) -> String {
    format!("{}s", nanoseconds as f64 / 1e9)
}

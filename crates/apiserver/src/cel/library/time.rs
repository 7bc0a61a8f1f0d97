//! Timestamps and durations.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned, civil};

use super::{Row, text};
use crate::cel::value::{EvalError, Outcome, Value};

pub(super) const ROWS: &[Row] = &[
    (0, "timestamp: getFullYear() -> int", full_year),
    (0, "timestamp: getFullYear(string) -> int", full_year),
    (0, "timestamp: getMonth() -> int", month),
    (0, "timestamp: getMonth(string) -> int", month),
    (0, "timestamp: getDayOfYear() -> int", day_of_year),
    (0, "timestamp: getDayOfYear(string) -> int", day_of_year),
    (0, "timestamp: getDayOfMonth() -> int", day_of_month),
    (0, "timestamp: getDayOfMonth(string) -> int", day_of_month),
    (0, "timestamp: getDate() -> int", date),
    (0, "timestamp: getDate(string) -> int", date),
    (0, "timestamp: getDayOfWeek() -> int", day_of_week),
    (0, "timestamp: getDayOfWeek(string) -> int", day_of_week),
    (0, "timestamp: getHours() -> int", hours),
    (0, "timestamp: getHours(string) -> int", hours),
    (0, "duration: getHours() -> int", hours),
    (0, "timestamp: getMinutes() -> int", minutes),
    (0, "timestamp: getMinutes(string) -> int", minutes),
    (0, "duration: getMinutes() -> int", minutes),
    (0, "timestamp: getSeconds() -> int", seconds),
    (0, "timestamp: getSeconds(string) -> int", seconds),
    (0, "duration: getSeconds() -> int", seconds),
    (0, "timestamp: getMilliseconds() -> int", milliseconds),
    (0, "timestamp: getMilliseconds(string) -> int", milliseconds),
    (0, "duration: getMilliseconds() -> int", milliseconds),
];

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

/// Adds nanoseconds to a timestamp.
pub(super) fn shift<'a>(at: Timestamp, nanoseconds: i64) -> Outcome<'a> {
    Timestamp::from_nanosecond(at.as_nanosecond() + i128::from(nanoseconds))
        .map(Value::Timestamp)
        .map_err(|_| EvalError::new("timestamp overflow"))
}

/// The receiver in the time zone of the argument; UTC without one.
fn zoned(args: &[Value<'_>]) -> Result<Zoned, EvalError> {
    let Some(Value::Timestamp(at)) = args.first() else { return Err(EvalError::no_overload()) };
    let zone = text(args, 1);
    if zone.is_empty() || zone == "UTC" {
        return Ok(at.to_zoned(TimeZone::UTC));
    }
    let unknown = || EvalError::new(format!("unknown time zone {zone}"));
    let fixed = zone.split_once(':').and_then(|(hours, minutes)| {
        let negative = hours.starts_with('-');
        let (hours, minutes) = (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?);
        let seconds = hours * 3600 + if negative { -minutes } else { minutes } * 60;
        Offset::from_seconds(seconds).ok()
    });
    let zone = match fixed {
        Some(offset) => offset.to_time_zone(),
        None => TimeZone::get(zone).map_err(|_| unknown())?,
    };
    Ok(at.to_zoned(zone))
}

fn full_year<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(zoned(args)?.year())))
}

fn month<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(zoned(args)?.month()) - 1))
}

fn day_of_year<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(zoned(args)?.day_of_year()) - 1))
}

fn day_of_month<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(zoned(args)?.day()) - 1))
}

fn date<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(zoned(args)?.day())))
}

fn day_of_week<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Int(i64::from(zoned(args)?.weekday().to_sunday_zero_offset())))
}

/// A duration in whole units, or a component of a timestamp.
fn part<'a>(args: &[Value<'a>], unit: i64, component: fn(&Zoned) -> i64) -> Outcome<'a> {
    match args.first() {
        Some(Value::Duration(nanoseconds)) => Ok(Value::Int(nanoseconds / unit)),
        _ => Ok(Value::Int(component(&zoned(args)?))),
    }
}

fn hours<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    part(args, 3_600_000_000_000, |at| i64::from(at.hour()))
}

fn minutes<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    part(args, 60_000_000_000, |at| i64::from(at.minute()))
}

fn seconds<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    part(args, 1_000_000_000, |at| i64::from(at.second()))
}

fn milliseconds<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    part(args, 1_000_000, |at| i64::from(at.millisecond()))
}

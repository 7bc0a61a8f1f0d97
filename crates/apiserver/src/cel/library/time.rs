//! Timestamps and durations.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

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

/// The first second of the year 1, the earliest time.
pub(in crate::cel) const FIRST_SECOND: i64 = -62_135_596_800;

/// Adds nanoseconds to a timestamp.
pub(super) fn shift<'a>(at: Timestamp, nanoseconds: i64) -> Outcome<'a> {
    Timestamp::from_nanosecond(at.as_nanosecond() + i128::from(nanoseconds))
        .ok()
        .filter(|at| at.as_nanosecond() >= i128::from(FIRST_SECOND) * 1_000_000_000)
        .map(Value::Timestamp)
        .ok_or_else(|| EvalError::new("timestamp overflow"))
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

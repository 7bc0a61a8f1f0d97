//! Schedules of CronJobs, as robfig/cron parses them (`ParseStandard`): five fields, `@hourly` and the like, and
//! `@every`. No library has its rules for days and for the hours that a change to summer time skips or repeats.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use windtunnel_core::clock::{Time, after};

/// A schedule that matches nothing in this many years has no next time.
const YEARS_MAX: i16 = 5;

/// When the Jobs of a CronJob start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Schedule {
    /// At the times that the fields match.
    At(Box<Fields>),
    /// Always after this span.
    Every(SignedDuration),
}

/// The values that match, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: u64,
    hours: u64,
    days: Days,
    months: u64,
    time_zone: TimeZone,
}

/// The days of the month and of the week. If both are restricted, a day that matches one of them matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Days {
    of_month: Bits,
    of_week: Bits,
}

/// The values that a field matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bits {
    values: u64,
    /// Whether the field has `*` or `?` without a step.
    is_any: bool,
}

/// The lowest and the highest value of a field, and its names, which begin with the lowest value.
struct Bounds {
    lowest: u32,
    highest: u32,
    names: &'static [&'static str],
}

const MINUTES: Bounds = Bounds { lowest: 0, highest: 59, names: &[] };
const HOURS: Bounds = Bounds { lowest: 0, highest: 23, names: &[] };
const DAYS: Bounds = Bounds { lowest: 1, highest: 31, names: &[] };
const MONTHS: Bounds = Bounds {
    lowest: 1,
    highest: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAYS: Bounds =
    Bounds { lowest: 0, highest: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

impl Schedule {
    /// Parses a schedule for a time zone.
    ///
    /// # Errors
    /// robfig/cron's message.
    pub(super) fn parse(text: &str, time_zone: TimeZone) -> Result<Self, String> {
        let fields = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => match other.strip_prefix("@every ") {
                Some(span) => return every(span, other),
                None if other.starts_with('@') => return Err(format!("unrecognized descriptor: {other}")),
                None => other,
            },
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            let (count, found) = (fields.len(), fields.join(" "));
            return Err(format!("expected exactly 5 fields, found {count}: [{found}]"));
        };
        Ok(Self::At(Box::new(Fields {
            minutes: field(minute, &MINUTES)?.values,
            hours: field(hour, &HOURS)?.values,
            days: Days { of_month: field(day, &DAYS)?, of_week: field(weekday, &WEEKDAYS)? },
            months: field(month, &MONTHS)?.values,
            time_zone,
        })))
    }

    /// The first time after `at`; `None` if there is none within five years.
    pub(super) fn next(&self, at: Time) -> Option<Time> {
        match self {
            Self::Every(span) => {
                let whole = Time::from_second(at.as_second()).unwrap_or(at);
                Some(after(whole, *span))
            }
            Self::At(fields) => fields.next(at),
        }
    }
}

fn every(span: &str, text: &str) -> Result<Schedule, String> {
    let invalid = || format!("failed to parse duration {text}: time: invalid duration \"{span}\"");
    let parsed = windtunnel_core::text::parse_duration(span).ok_or_else(invalid)?;
    Ok(Schedule::Every(SignedDuration::from_secs(parsed.as_secs().max(1))))
}

/// Parses a list of ranges.
fn field(text: &str, bounds: &Bounds) -> Result<Bits, String> {
    let mut bits = Bits { values: 0, is_any: false };
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let found = range(part, bounds)?;
        bits = Bits { values: bits.values | found.values, is_any: bits.is_any || found.is_any };
    }
    Ok(bits)
}

/// Parses `*`, `?`, `N`, `N-M`, each with `/STEP` or without.
fn range(text: &str, bounds: &Bounds) -> Result<Bits, String> {
    let mut parts = text.split('/');
    let (span, step) = (parts.next().unwrap_or_default(), parts.next());
    if parts.next().is_some() {
        return Err(format!("too many slashes: {text}"));
    }
    let mut ends = span.split('-');
    let (first, last) = (ends.next().unwrap_or_default(), ends.next());
    if ends.next().is_some() {
        return Err(format!("too many hyphens: {text}"));
    }
    let is_any = first == "*" || first == "?";
    let (start, mut end) = if is_any {
        (bounds.lowest, bounds.highest)
    } else {
        let start = value(first, bounds)?;
        (start, last.map_or(Ok(start), |last| value(last, bounds))?)
    };
    let step = step.map(number).transpose()?;
    if step.is_some() && !is_any && last.is_none() {
        end = bounds.highest;
    }
    let (Bounds { lowest, highest, .. }, by) = (bounds, step.unwrap_or(1));
    if start < *lowest {
        return Err(format!("beginning of range ({start}) below minimum ({lowest}): {text}"));
    }
    if end > *highest {
        return Err(format!("end of range ({end}) above maximum ({highest}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if by == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    let values = (start..=end).step_by(by as usize).fold(0, |bits, value| bits | (1 << value));
    Ok(Bits { values, is_any: is_any && by == 1 })
}

fn value(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let lower = text.to_lowercase();
    match (bounds.lowest..).zip(bounds.names).find(|(_, name)| **name == lower) {
        Some((value, _)) => Ok(value),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing \"{text}\": invalid syntax")
    })
}

impl Fields {
    fn next(&self, at: Time) -> Option<Time> {
        let from = after(Time::from_second(at.as_second()).ok()?, SignedDuration::from_secs(1));
        let from = from.to_zoned(self.time_zone.clone());
        let last_year = from.year().saturating_add(YEARS_MAX);
        let mut day = from.date();
        while day.year() <= last_year {
            if self.matches_day(day) {
                let start = if day == from.date() { from.clone() } else { start_of(day, &self.time_zone)? };
                if let Some(found) = self.next_on_day(&start) {
                    return Some(found);
                }
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    fn matches_day(&self, day: Date) -> bool {
        let has = |bits: u64, value: i8| u32::try_from(value).is_ok_and(|value| bits & (1 << value) != 0);
        let Days { of_month, of_week } = self.days;
        let in_month = has(of_month.values, day.day());
        let in_week = has(of_week.values, day.weekday().to_sunday_zero_offset());
        let is_day =
            if of_month.is_any || of_week.is_any { in_month && in_week } else { in_month || in_week };
        has(self.months, day.month()) && is_day
    }

    /// The first match from `start` on, on its day. It follows the time itself and not the clock on the wall, so skipped
    /// hours match nothing, and repeated ones match twice.
    fn next_on_day(&self, start: &Zoned) -> Option<Time> {
        let day = start.date();
        let mut at = start.timestamp();
        // A match is at the start of a minute.
        at = after(at, SignedDuration::from_secs((60 - at.as_second().rem_euclid(60)) % 60));
        loop {
            let local = at.to_zoned(self.time_zone.clone());
            if local.date() != day {
                return None;
            }
            if self.hours & (1 << local.hour()) == 0 {
                let minutes = 60 - i64::from(local.minute());
                at = after(at, SignedDuration::from_mins(minutes));
            } else if self.minutes & (1 << local.minute()) == 0 {
                at = after(at, SignedDuration::from_mins(1));
            } else {
                return Some(at);
            }
        }
    }
}

fn start_of(day: Date, time_zone: &TimeZone) -> Option<Zoned> {
    day.to_zoned(time_zone.clone()).and_then(|zoned| zoned.start_of_day()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules of Berlin, so that the test needs no database of time zones.
    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

    fn next_times(schedule: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::parse(schedule, TimeZone::posix(zone).unwrap()).unwrap();
        let mut at: Time = from.parse().unwrap();
        let mut found = Vec::new();
        for _ in 0..count {
            at = schedule.next(at).unwrap();
            found.push(at.to_string());
        }
        found
    }

    #[test]
    fn finds_the_next_times() {
        let check = |schedule: &str, from: &str, expected: &[&str]| {
            assert_eq!(next_times(schedule, "UTC0", from, expected.len()), expected, "{schedule}");
        };
        let monday = "2024-01-01T00:00:00Z";
        check("*/20 * * * *", "2024-01-01T00:20:00.5Z", &["2024-01-01T00:40:00Z", "2024-01-01T01:00:00Z"]);
        check("30 4 * * *", monday, &["2024-01-01T04:30:00Z", "2024-01-02T04:30:00Z"]);
        check("@hourly", "2024-12-31T23:00:00Z", &["2025-01-01T00:00:00Z"]);
        check("@every 1h30m", "2024-01-01T00:00:10Z", &["2024-01-01T01:30:10Z", "2024-01-01T03:00:10Z"]);
        check("0 0 29 feb ?", monday, &["2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"]);
        check(
            "5/20 1-3/2 * * *",
            monday,
            &["2024-01-01T01:05:00Z", "2024-01-01T01:25:00Z", "2024-01-01T01:45:00Z", "2024-01-01T03:05:00Z"],
        );
        // Restricted days of month and week: one of them is enough. A step restricts.
        check("0 0 3 * sun", monday, &["2024-01-03T00:00:00Z", "2024-01-07T00:00:00Z"]);
        check("0 0 */10 * mon", monday, &["2024-01-08T00:00:00Z", "2024-01-11T00:00:00Z"]);
        check("0 0 */1 * mon", monday, &["2024-01-08T00:00:00Z", "2024-01-15T00:00:00Z"]);
    }

    #[test]
    fn a_date_that_never_comes_has_no_next_time() {
        let schedule = Schedule::parse("0 0 30 2 *", TimeZone::UTC).unwrap();
        assert_eq!(schedule.next("2024-01-01T00:00:00Z".parse().unwrap()), None);
    }

    #[test]
    fn summer_time_skips_and_repeats_hours() {
        let spring = next_times("30 2 * * *", BERLIN, "2024-03-30T00:00:00Z", 2);
        assert_eq!(spring, ["2024-03-30T01:30:00Z", "2024-04-01T00:30:00Z"]);
        let autumn = next_times("30 2 * * *", BERLIN, "2024-10-26T12:00:00Z", 3);
        assert_eq!(autumn, ["2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z", "2024-10-28T01:30:00Z"]);
    }

    #[test]
    fn invalid_schedules_have_the_messages_of_robfig() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Schedule::parse(text, TimeZone::UTC).unwrap_err(), expected, "{text}");
        };
        check("* * * *", "expected exactly 5 fields, found 4: [* * * *]");
        check("@often", "unrecognized descriptor: @often");
        check("60 * * * *", "end of range (60) above maximum (59): 60");
        check("* * 0 * *", "beginning of range (0) below minimum (1): 0");
        check("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1");
        check("*/0 * * * *", "step of range should be a positive number: */0");
        check("1-2-3 * * * *", "too many hyphens: 1-2-3");
        check("1/2/3 * * * *", "too many slashes: 1/2/3");
        check("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
    }
}

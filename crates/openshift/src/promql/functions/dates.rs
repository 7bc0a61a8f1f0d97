//! Parts of dates, in UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::seconds;
use crate::promql::sample::{nameless, vector};
use crate::promql::{Labels, Sample, Value};

/// The names of the functions.
pub(super) const PARTS: [&str; 8] =
    ["day_of_month", "day_of_week", "day_of_year", "days_in_month", "hour", "minute", "month", "year"];

/// Returns the part of the time in seconds that each sample has, or of the evaluation time.
pub(super) fn call(name: &str, of: Option<Value>, now: i64) -> Result<Vec<Sample>, String> {
    let samples = match of {
        Some(of) => vector(of)?,
        None => vec![Sample { labels: Labels::new(), value: seconds(now) }],
    };
    nameless(samples, |value| part(name, value))
}

/// NaN if the time is out of range.
fn part(name: &str, value: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "`from_second` rejects times out of range")]
    let time = Timestamp::from_second(value.floor() as i64).ok().filter(|_| value.is_finite());
    let Some(time) = time else { return f64::NAN };
    let date = time.to_zoned(TimeZone::UTC).datetime();
    f64::from(match name {
        "day_of_month" => i16::from(date.day()),
        "day_of_week" => i16::from(date.weekday().to_sunday_zero_offset()),
        "day_of_year" => date.day_of_year(),
        "days_in_month" => i16::from(date.days_in_month()),
        "hour" => i16::from(date.hour()),
        "minute" => i16::from(date.minute()),
        "month" => i16::from(date.month()),
        _ => date.year(),
    })
}

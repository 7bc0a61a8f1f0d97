//! Formats of dates, times and durations.

use std::sync::LazyLock;

use regex::Regex;

use crate::gotext::duration;

/// A time of day with its zone; captures the hour, the minute and the second.
static TIME_OF_DAY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$").ok()
});

/// A number and a unit.
static AMOUNT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"([0-9]+)[\t\n\x0C\r ]*([A-Za-zµ]+)").ok());

/// Units with their aliases. A word that begins with the last alias counts as well.
const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// Whether a text is a calendar date of ten characters.
pub(super) fn is_date(text: &str) -> bool {
    let shaped = text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, b)| if matches!(at, 4 | 7) { b == b'-' } else { b.is_ascii_digit() });
    shaped && text.parse::<jiff::civil::Date>().is_ok()
}

/// Whether a text is a date and a time with its zone (`strfmt.IsDateTime`). The zone may have any digits;
/// leap seconds are rejected.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = TIME_OF_DAY.as_ref().and_then(|pattern| pattern.captures(time)) else { return false };
    is_date(date) && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

/// Whether a text is a Go duration, or amounts with units in words (`strfmt.ParseDuration`): one known unit
/// anywhere in the text suffices.
pub(super) fn is_duration(text: &str) -> bool {
    if duration::parse(text).is_ok() {
        return true;
    }
    let Some(amount) = AMOUNT.as_ref() else { return false };
    let mut known = false;
    for found in amount.captures_iter(text) {
        if found[1].parse::<i64>().is_err() {
            return false;
        }
        let word = found[2].to_lowercase();
        known |= UNITS.iter().any(|names| {
            names.contains(&word.as_str()) || names.last().is_some_and(|last| word.starts_with(last))
        });
    }
    known
}

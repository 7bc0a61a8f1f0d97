//! Go's `time.Duration` as text: `1h15m30.918s`.

use super::quote;

/// Units with their length in nanoseconds.
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Parses a duration like `time.ParseDuration`, to nanoseconds.
///
/// # Errors
/// Go's message for an invalid duration.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(text));
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(format!("time: missing unit in duration {}", quote(text)));
        }
        let Some((_, length)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("time: unknown unit {} in duration {}", quote(unit), quote(text)));
        };
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        total = whole
            .checked_mul(i128::from(*length))
            .and_then(|span| total.checked_add(span))
            .and_then(|sum| sum.checked_add(part(fraction, *length)))
            .filter(|sum| *sum <= i128::from(i64::MAX) + i128::from(negative))
            .ok_or_else(invalid)?;
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| invalid())
}

/// The digits at the start of a text, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Nanoseconds of the decimal places of a unit.
fn part(fraction: &str, unit: i64) -> i128 {
    let (mut sum, mut unit) = (0, i128::from(unit));
    let mut scale: i128 = 1;
    // Further digits are less than a nanosecond of the longest unit.
    for digit in fraction.bytes().take(18) {
        sum = sum * 10 + i128::from(digit - b'0');
        scale *= 10;
    }
    unit *= sum;
    unit / scale
}

/// Formats nanoseconds like `Duration.String`.
pub(crate) fn format(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    if size == 0 {
        return "0s".to_owned();
    }
    let small = [(1_000, 1, "ns"), (1_000_000, 1_000, "µs"), (1_000_000_000, 1_000_000, "ms")];
    if let Some((_, unit, name)) = small.into_iter().find(|(limit, ..)| size < *limit) {
        return format!("{sign}{}{name}", decimal(size, unit));
    }
    let (seconds, rest) = (size / 1_000_000_000, size % 1_000_000_000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let mut text = sign.to_owned();
    if hours > 0 {
        text += &format!("{hours}h");
    }
    if hours > 0 || minutes > 0 {
        text += &format!("{minutes}m");
    }
    text + &decimal(seconds % 60 * 1_000_000_000 + rest, 1_000_000_000) + "s"
}

/// A quotient as a decimal fraction without trailing zeros; `unit` is a power of ten.
fn decimal(value: u64, unit: u64) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    format!("{whole}.{rest:0width$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_durations_like_go() {
        for (nanoseconds, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (-1_500_000_000, "-1.5s"),
            (300_000_000_000, "5m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (4_530_918_000_000, "1h15m30.918s"),
            (i64::MAX, "2562047h47m16.854775807s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(format(nanoseconds), text);
            assert_eq!(parse(text), Ok(nanoseconds), "{text}");
        }
    }

    #[test]
    fn parses_durations_with_any_units_and_rejects_others_with_gos_messages() {
        assert_eq!(parse("1.5h-"), Err("time: unknown unit \"h-\" in duration \"1.5h-\"".to_owned()));
        assert_eq!(parse("+90m"), Ok(5_400_000_000_000));
        assert_eq!(parse(".5s"), Ok(500_000_000));
        assert_eq!(parse("0"), Ok(0));
        for text in
            ["", "-", "abc", ".s", "9223372036854775808ns", "99999999999999999999999999999999999999999h"]
        {
            assert_eq!(parse(text), Err(format!("time: invalid duration \"{text}\"")));
        }
        assert_eq!(parse("10"), Err("time: missing unit in duration \"10\"".to_owned()));
        assert_eq!(parse("1d"), Err("time: unknown unit \"d\" in duration \"1d\"".to_owned()));
    }
}

//! Numbers as Prometheus shows them to people.

use windtunnel_core::clock::Time;

/// A number with four digits, as Go's `%.4g` prints it.
fn four_digits(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return match number {
            _ if number.is_nan() => "NaN".to_owned(),
            _ if number.is_infinite() => if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
            _ => "0".to_owned(),
        };
    }
    let scientific = format!("{number:.3e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let trimmed = |text: &str| {
        let trimmed =
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
        trimmed.to_owned()
    };
    match exponent.parse::<i32>().unwrap_or_default() {
        exponent @ -4..=3 => {
            let places = usize::try_from(3 - exponent).unwrap_or_default();
            trimmed(&format!("{number:.places$}"))
        }
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
        }
    }
}

const SMALL: [&str; 8] = ["m", "u", "n", "p", "f", "a", "z", "y"];
const LARGE: [&str; 8] = ["k", "M", "G", "T", "P", "E", "Z", "Y"];

/// Divides or multiplies a number until it is between 1 and `step`, with the prefix for that.
fn scaled(mut number: f64, step: f64) -> (f64, &'static str) {
    let mut prefix = "";
    if number.abs() >= 1.0 {
        for next in LARGE {
            if number.abs() < step {
                break;
            }
            (number, prefix) = (number / step, next);
        }
    } else {
        for next in SMALL {
            if number.abs() >= 1.0 {
                break;
            }
            (number, prefix) = (number * step, next);
        }
    }
    (number, prefix)
}

/// A number with a metric prefix: `1.234k`.
pub(super) fn metric(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return four_digits(number);
    }
    let (number, prefix) = scaled(number, 1000.0);
    four_digits(number) + prefix
}

/// A number with a binary prefix: `1.206ki`.
pub(super) fn metric_1024(number: f64) -> String {
    if number.abs() <= 1.0 || !number.is_finite() {
        return four_digits(number);
    }
    let (number, prefix) = scaled(number, 1024.0);
    let binary = if prefix.is_empty() { "" } else { "i" };
    format!("{}{prefix}{binary}", four_digits(number))
}

/// A fraction as a percentage.
pub(super) fn percentage(number: f64) -> String {
    four_digits(number * 100.0) + "%"
}

/// Seconds as `1d 2h 3m 4s`.
pub(super) fn duration(seconds: f64) -> String {
    if seconds == 0.0 || !seconds.is_finite() {
        let unit = if seconds == 0.0 { "s" } else { "" };
        return four_digits(seconds) + unit;
    }
    if seconds.abs() < 1.0 {
        let (number, prefix) = scaled(seconds, 1000.0);
        return format!("{}{prefix}s", four_digits(number));
    }
    let sign = if seconds < 0.0 { "-" } else { "" };
    let seconds = seconds.abs();
    #[expect(clippy::cast_possible_truncation, reason = "only the whole seconds are shown")]
    let whole = seconds as i64;
    let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60);
    let rest = whole % 60;
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{sign}{}s", four_digits(seconds)),
        (0, 0, _) => format!("{sign}{minutes}m {rest}s"),
        (0, ..) => format!("{sign}{hours}h {minutes}m {rest}s"),
        _ => format!("{sign}{days}d {hours}h {minutes}m {rest}s"),
    }
}

/// Seconds since the epoch as a time.
pub(super) fn timestamp(seconds: f64) -> Option<String> {
    #[expect(clippy::cast_possible_truncation, reason = "only the whole seconds are shown")]
    let at = Time::from_second(seconds as i64).ok()?;
    Some(at.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string())
}

//! Times as Go parses them (`time.Parse`) and as the API writes them: in UTC, with seconds or with
//! microseconds.

use std::borrow::Cow;

use windtunnel_core::clock::{Time, rfc3339, rfc3339_micro};

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";
/// The parts of both layouts: Go's layout text, number of digits, minimum, maximum, and name in messages.
const PARTS: [(&str, usize, u32, u32, &str); 6] = [
    ("2006", 4, 0, 9999, "year"),
    ("01", 2, 1, 12, "month"),
    ("02", 2, 1, 31, "day"),
    ("15", 2, 0, 23, "hour"),
    ("04", 2, 0, 59, "minute"),
    ("05", 2, 0, 59, "second"),
];
const SEPARATORS: [&str; 5] = ["-", "-", "T", ":", ":"];

/// The form that the API writes.
///
/// # Errors
/// Go's message for a malformed time.
pub(super) fn canonical(text: &str, micro: bool) -> Result<Cow<'_, str>, String> {
    let layout = if micro { MICROSECONDS } else { SECONDS };
    let fail = |rest: &str, part: &str| {
        format!("parsing time {text:?} as \"{layout}\": cannot parse {rest:?} as \"{part}\"")
    };
    let mut rest = text;
    for (index, (part, digits, least, most, name)) in PARTS.into_iter().enumerate() {
        if index > 0 {
            let separator = SEPARATORS[index - 1];
            rest = rest.strip_prefix(separator).ok_or_else(|| fail(rest, separator))?;
        }
        let number = rest.get(..digits).filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
        let number = number.ok_or_else(|| fail(rest, part))?;
        if number.parse().is_ok_and(|n: u32| n < least || n > most) {
            return Err(format!("parsing time {text:?}: {name} out of range"));
        }
        rest = &rest[digits..];
    }
    // Most times are canonical already, and every month has at least 28 days.
    if rest == "Z" && !micro && text[8..10] <= *"28" {
        return Ok(Cow::Borrowed(text));
    }
    let fraction = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    if rest.starts_with('.') && fraction > 0 {
        if micro && fraction != 6 {
            return Err(fail(rest, ".000000"));
        }
        rest = &rest[fraction + 1..];
    } else if micro {
        return Err(fail(rest, ".000000"));
    }
    if let Some(extra) = rest.strip_prefix('Z') {
        if !extra.is_empty() {
            return Err(format!("parsing time {text:?}: extra text: {extra:?}"));
        }
    } else if !is_offset(rest) {
        return Err(fail(rest, "Z07:00"));
    }
    let time: Time = text.parse().map_err(|_| format!("parsing time {text:?}: day out of range"))?;
    Ok(Cow::Owned(if micro { rfc3339_micro(time) } else { rfc3339(time) }))
}

/// Whether a text is an offset such as `+02:00`.
fn is_offset(text: &str) -> bool {
    let digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    text.len() == 6
        && text.starts_with(['+', '-'])
        && text.as_bytes().get(3) == Some(&b':')
        && [1, 2, 4, 5].into_iter().all(digit)
}

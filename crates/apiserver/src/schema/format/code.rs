//! Formats of identifiers, book numbers, card numbers and colours.

use std::sync::LazyLock;

use regex::Regex;

use super::Format;

/// Card numbers of known issuers, by prefix and number of digits.
static CARD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const ISSUERS: [&str; 9] = [
        "4[0-9]{12}(?:[0-9]{3})?",
        "5[1-5][0-9]{14}",
        "(?:222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}",
        "6(?:011|5[0-9]{2})[0-9]{12}",
        "3[47][0-9]{13}",
        "3(?:0[0-5]|[68][0-9])[0-9]{11}",
        "(?:2131|1800)[0-9]{11}",
        "35[0-9]{14}",
        "6[27][0-9]{14}",
    ];
    Regex::new(&format!("^(?:{})$", ISSUERS.join("|"))).ok()
});

/// Whether a text is padded base64; the empty text is not (`govalidator.IsBase64`).
pub(super) fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let letters = body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/');
    !text.is_empty() && letters && text.len().is_multiple_of(4) && text.len() - body.len() <= 2
}

/// Whether a text is a UUID, in which each dash is optional. The third group begins with the version;
/// versions 4 and 5 also require a variant in the fourth group.
pub(super) fn is_uuid(text: &str, format: Format) -> bool {
    let mut rest = text;
    let mut hex = String::with_capacity(32);
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((part, tail)) = rest.split_at_checked(length) else { return false };
        hex.push_str(part);
        rest = tail;
    }
    let digits = hex.as_bytes();
    let version = |wanted: u8| digits.get(12) == Some(&wanted);
    let variant = || matches!(digits.get(16), Some(b'8' | b'9' | b'a' | b'b' | b'A' | b'B'));
    rest.is_empty()
        && digits.iter().all(u8::is_ascii_hexdigit)
        && match format {
            Format::Uuid3 => version(b'3'),
            Format::Uuid4 => version(b'4') && variant(),
            Format::Uuid5 => version(b'5') && variant(),
            _ => true,
        }
}

/// The characters of a book number, without blanks and dashes.
fn book(text: &str) -> Vec<u8> {
    text.bytes().filter(|b| !matches!(b, b'-' | b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')).collect()
}

/// Whether a text is an ISBN of nine digits and a check digit, which may be `X`.
pub(super) fn is_isbn10(text: &str) -> bool {
    let number = book(text);
    let Some((check, digits)) = number.split_last().filter(|(_, digits)| digits.len() == 9) else {
        return false;
    };
    if !digits.iter().all(u8::is_ascii_digit) || !(check.is_ascii_digit() || *check == b'X') {
        return false;
    }
    let last = if *check == b'X' { 10 } else { u32::from(check - b'0') };
    let sum: u32 = (1..).zip(digits).map(|(weight, digit)| weight * u32::from(digit - b'0')).sum();
    (sum + 10 * last).is_multiple_of(11)
}

/// Whether a text is an ISBN of thirteen digits: every second digit has the weight 3.
pub(super) fn is_isbn13(text: &str) -> bool {
    let number = book(text);
    let weights = [1, 3].into_iter().cycle();
    number.len() == 13
        && number.iter().all(u8::is_ascii_digit)
        && weights
            .zip(&number)
            .map(|(weight, digit)| weight * u32::from(digit - b'0'))
            .sum::<u32>()
            .is_multiple_of(10)
}

/// Whether a text is the card number of a known issuer with a valid check digit (Luhn). Other characters are
/// ignored.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let doubled = [false, true].into_iter().cycle();
    let sum: u32 = doubled
        .zip(digits.bytes().rev())
        .map(|(doubled, digit)| {
            let value = u32::from(digit - b'0') * if doubled { 2 } else { 1 };
            value / 10 + value % 10
        })
        .sum();
    CARD.as_ref().is_some_and(|card| card.is_match(&digits)) && sum.is_multiple_of(10)
}

/// Whether a text is `ddd-dd-dddd`. The separators may be blanks, but not absent.
pub(super) fn is_social_security(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(at, b)| match at {
            3 | 6 => matches!(b, b'-' | b' '),
            _ => b.is_ascii_digit(),
        })
}

/// Whether a text is three or six hexadecimal digits, optionally after `#`.
pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether a text is `rgb(r, g, b)` with numbers up to 255 without leading zeros.
pub(super) fn is_rgb_color(text: &str) -> bool {
    let blank: &[char] = &['\t', '\n', '\x0c', '\r', ' '];
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<&str> = inner.split(',').map(|part| part.trim_matches(blank)).collect();
    let plain = |part: &&str| {
        part.bytes().all(|b| b.is_ascii_digit())
            && (part.len() == 1 || !part.starts_with('0'))
            && part.parse::<u8>().is_ok()
    };
    parts.len() == 3 && parts.iter().all(plain)
}

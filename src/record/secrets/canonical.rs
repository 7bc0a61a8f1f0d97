//! The canonical form of texts: however a value was written into a text, both have the same bytes.
//!
//! It has no line breaks and no indentation, so that YAML blocks and wrapped base64 do not matter. Escapes of JSON at any depth
//! and of URLs are resolved. The two alphabets of base64 are one.

use std::ops::Range;

/// Returns the canonical form of a text.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    fill(&mut bytes, text);
    bytes
}

/// Replaces the content of `bytes` by the canonical form of a text.
pub(super) fn fill(bytes: &mut Vec<u8>, text: &str) {
    bytes.clear();
    let is_special = |byte: u8| matches!(byte, b'\n' | b'\r' | b'\\' | b'%');
    // Most texts are short words. The loop looks at all bytes, so that the compiler can vectorize it.
    if text.bytes().fold(false, |found, byte| found | is_special(byte)) {
        bytes.reserve(text.len());
        visit(text, |byte, _| bytes.push(byte));
    } else {
        bytes.extend(text.bytes().map(standard_alphabet));
    }
}

/// Returns the place of each byte of the canonical form in the text.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::with_capacity(text.len());
    visit(text, |_, place| places.push(place));
    places
}

/// A character or an escape.
enum Unit {
    Byte(u8),
    Char(char),
    Nothing,
}

fn visit(text: &str, mut emit: impl FnMut(u8, Range<usize>)) {
    let mut rest = text.as_bytes();
    let mut is_indentation = false;
    while !rest.is_empty() {
        let (unit, length) = unit(rest);
        let at = text.len() - rest.len();
        let place = at..at + length;
        rest = rest.get(length..).unwrap_or_default();
        match unit {
            Unit::Nothing => {}
            Unit::Byte(b'\n' | b'\r') => is_indentation = true,
            Unit::Byte(b' ' | b'\t') if is_indentation => {}
            Unit::Byte(byte) => {
                is_indentation = false;
                emit(standard_alphabet(byte), place);
            }
            Unit::Char(char) => {
                is_indentation = false;
                char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| emit(byte, place.clone()));
            }
        }
    }
}

/// The first unit of a text and its length.
fn unit(text: &[u8]) -> (Unit, usize) {
    match text {
        [b'\\', ..] => escape(text),
        [b'%', ..] => percent(text),
        [first, ..] => (Unit::Byte(*first), 1),
        [] => (Unit::Nothing, 1),
    }
}

/// An escape of JSON; each level of JSON in JSON doubles the number of backslashes.
fn escape(text: &[u8]) -> (Unit, usize) {
    let count = text.iter().take_while(|byte| **byte == b'\\').count();
    let escaped = |byte| (Unit::Byte(byte), count + 1);
    match text.get(count) {
        None => (Unit::Nothing, count),
        Some(b'n' | b'r') => escaped(b'\n'),
        Some(b't') => escaped(b'\t'),
        Some(b'b') => escaped(8),
        Some(b'f') => escaped(12),
        Some(b'u') => match code_point(text.get(count + 1..count + 5)) {
            Some(char) if char.is_ascii() => (Unit::Byte(u8::try_from(char).unwrap_or_default()), count + 5),
            Some(char) => (Unit::Char(char), count + 5),
            None => escaped(b'u'),
        },
        Some(b'%') => {
            let (unit, length) = percent(text.get(count..).unwrap_or_default());
            (unit, count + length)
        }
        Some(other) => escaped(*other),
    }
}

fn code_point(digits: Option<&[u8]>) -> Option<char> {
    let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    char::from_u32(u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?)
}

/// An escape of URLs; each level of URL in URL adds a `25` after the percent sign.
fn percent(text: &[u8]) -> (Unit, usize) {
    let mut at = 1;
    while text.get(at..at + 2) == Some(b"25") && hexadecimal(text.get(at + 2..at + 4)).is_some() {
        at += 2;
    }
    hexadecimal(text.get(at..at + 2)).map_or((Unit::Byte(b'%'), 1), |byte| (Unit::Byte(byte), at + 2))
}

fn hexadecimal(digits: Option<&[u8]>) -> Option<u8> {
    let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The character of the standard alphabet of base64 for one of the alphabet for URLs.
fn standard_alphabet(byte: u8) -> u8 {
    match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&bytes(text)), expected, "{text}");
    }

    #[test]
    fn line_breaks_and_indentation_do_not_matter() {
        check("one\ntwo three\n", "onetwo three");
        check("one\r\n    two three", "onetwo three");
        check(r"one\ntwo three\n", "onetwo three");
        check(r"one\\n  \ttwo three", "onetwo three");
    }

    #[test]
    fn escapes_are_resolved_at_any_depth() {
        let text = "say \"a&b\" to C:\\dir é";
        let once = serde_json::to_string(text).unwrap();
        let twice = serde_json::to_string(&once).unwrap();
        let inner = |json: &str, level: usize| bytes(&json[level..json.len() - level]);
        assert_eq!(inner(&once, 1), bytes(text));
        assert_eq!(bytes(&twice), [b"\"\"", &*bytes(text), b"\"\""].concat());
        check(r"a\u0026b\\u00e9\u00e", "a&béu00e");
        check("a%2Bb%252Fc%25", "a+b/c%");
        check("%C3%A9 100% \\%2f", "é 100% /");
        check("a-b_c\\", "a+b/c");
    }

    #[test]
    fn each_byte_has_its_place() {
        let text = "a\\\"\n  %2Bé";
        let found: Vec<&str> = places(text).into_iter().filter_map(|place| text.get(place)).collect();
        assert_eq!(found, ["a", "\\\"", "%2B"]);
        assert_eq!(places(text).len(), bytes(text).len());
    }
}

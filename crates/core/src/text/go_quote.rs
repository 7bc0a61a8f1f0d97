//! Quotes strings like Go.

use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

/// Quotes a string like Go's `%q` (`strconv.Quote`).
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c if c.is_ascii() || is_printable(c) => out.push(c),
            c if u32::from(c) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// The non-ASCII characters that Go considers printable (`strconv.IsPrint`): letters, marks, numbers,
/// punctuation, symbols.
static PRINTABLE: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is a constant")]
    Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").expect("a pattern")
});

fn is_printable(c: char) -> bool {
    PRINTABLE.is_match(c.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_unprintable_characters() {
        for (text, expected) in [
            ("plain", r#""plain""#),
            ("a \"b\" \\ \n\t\r", r#""a \"b\" \\ \n\t\r""#),
            ("\0\u{7}\u{8}\u{b}\u{c}\u{1b}\u{7f}", r#""\x00\a\b\v\f\x1b\x7f""#),
            ("é \u{301} 🦀 ’", "\"é \u{301} 🦀 ’\""),
            ("\u{85}\u{a0}\u{200b}\u{feff}\u{e000}", r#""\u0085\u00a0\u200b\ufeff\ue000""#),
            ("\u{e0001}", r#""\U000e0001""#),
        ] {
            assert_eq!(quote(text), expected);
        }
    }
}

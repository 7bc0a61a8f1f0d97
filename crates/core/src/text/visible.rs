//! Makes characters visible on which a terminal or a CI system acts, in text of unknown origin.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The groups: a control character other than a tab or a line break, an invisible format character such as one that reverses the
/// direction of text, a line separator, or one that XML and YAML forbid; the blanks before `::` at the start of a line (GitHub trims them); and the `#` before
/// `#[`, `#vso[` and such, which GitHub and Azure search in the whole line.
static ACTIVE: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is a constant")]
    Regex::new(
        r"(?m)(?<invisible>[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\x{fffe}\x{ffff}]--[\t\n]])|^(?<blanks>[\t\p{Zs}]*)::|#(?<command>#[A-Za-z]*\[)",
    )
    .expect("a pattern")
});

/// Returns a text in which no character changes a terminal, and no line is a command for a CI system. Each character that does so
/// is replaced by its escape in JSON, such as `\u001b`. Tabs and line breaks stay. Text in JSON keeps its value.
pub fn visible(text: &str) -> Cow<'_, str> {
    ACTIVE.replace_all(text, |found: &Captures<'_>| {
        if let Some(character) = found.name("invisible") {
            return character.as_str().chars().map(escape).collect();
        }
        match (found.name("blanks"), found.name("command")) {
            (Some(blanks), _) => format!("{}{}:", blanks.as_str(), escape(':')),
            (_, Some(command)) => escape('#') + command.as_str(),
            (None, None) => String::new(),
        }
    })
}

/// Returns a text with line breaks written as `\n`: a part of a line that cannot begin a line of its own.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { Cow::Owned(text.replace('\n', "\\n")) } else { Cow::Borrowed(text) }
}

/// Returns the escape of a character in JSON.
fn escape(character: char) -> String {
    let mut text = String::new();
    for unit in character.encode_utf16(&mut [0; 2]) {
        let _ = write!(text, "\\u{unit:04x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_that_act_on_a_terminal_are_escaped() {
        for (text, expected) in [
            ("plain ✓ é 🦀\tx\n", "plain ✓ é 🦀\tx\n"),
            ("\u{1b}[31mred\u{1b}[0m", r"\u001b[31mred\u001b[0m"),
            ("\u{1b}]52;c;cm0=\u{7}", r"\u001b]52;c;cm0=\u0007"),
            ("\u{9b}2J \u{85} \u{7f} \0", r"\u009b2J \u0085 \u007f \u0000"),
            ("PASS\rFAIL\r\n", "PASS\\u000dFAIL\\u000d\n"),
            ("a\u{202e}b\u{2066}c\u{200e}d\u{61c}", r"a\u202eb\u2066c\u200ed\u061c"),
            ("a\u{2028}b\u{200b}c\u{feff}d\u{fffe}", r"a\u2028b\u200bc\ufeffd\ufffe"),
            ("\u{e0041}", r"\udb40\udc41"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn commands_of_ci_systems_are_broken() {
        for (text, expected) in [
            ("::error::x", r"\u003a:error::x"),
            ("a\n \t\u{3000}::set-output name=a::b", "a\n \t\u{3000}\\u003a:set-output name=a::b"),
            ("\u{200d}::error::x", r"\u200d::error::x"),
            ("a ::error::x", "a ::error::x"),
            ("a ##[error]x ##vso[task.x]y ###[z]", r"a \u0023#[error]x \u0023#vso[task.x]y #\u0023#[z]"),
            ("## title\n#[x]\n:x\nfe80::1\n", "## title\n#[x]\n:x\nfe80::1\n"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn one_line_has_no_line_break() {
        assert_eq!(one_line("a\nPASS b\n"), r"a\nPASS b\n");
        assert_eq!(one_line("a b"), "a b");
    }

    proptest! {
        #[test]
        fn visible_text_has_nothing_to_escape_and_json_keeps_its_value(
            text in r"(?s)([ \t\n:#\[\]vso\r\x1b\x{9b}\x{202e}\x{e0001}é]|.){0,20}",
        ) {
            let shown = visible(&text).into_owned();
            prop_assert_eq!(visible(&shown), shown.as_str());
            let json = serde_json::to_string_pretty(&[&text]).unwrap_or_default();
            let parsed: Vec<String> = serde_json::from_str(&visible(&json)).unwrap_or_default();
            prop_assert_eq!(parsed, [text]);
        }
    }
}

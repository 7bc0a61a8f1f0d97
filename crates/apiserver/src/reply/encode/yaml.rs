//! Writes YAML like the real server (`sigs.k8s.io/yaml`): block style, keys in order, lists not indented below their
//! key, and strings without quotes where possible.

use serde_json::Value;

/// The width of a line after which a text continues on the next line.
const WIDTH: usize = 80;

/// Writes a value as one document that ends with a line break.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => block(value, 0, &mut out),
        Value::Array(items) if !items.is_empty() => block(value, 0, &mut out),
        _ => {
            scalar(value, 0, &mut out);
            out.push('\n');
        }
    }
    out
}

/// Writes the entries of a map or a list, each on a new line.
fn block(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) => {
            for (index, (key, value)) in map.iter().enumerate() {
                // The first entry of a map within a list follows the dash.
                if index > 0 || out.is_empty() || out.ends_with('\n') {
                    pad(indent, out);
                }
                quotable(key, None, out);
                out.push(':');
                let inner = if value.is_array() { indent } else { indent + 2 };
                nested(value, inner, out);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 || out.is_empty() || out.ends_with('\n') {
                    pad(indent, out);
                }
                out.push('-');
                if is_block(item) {
                    out.push(' ');
                    block(item, indent + 2, out);
                } else {
                    nested(item, indent + 2, out);
                }
            }
        }
        _ => {}
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Writes the value after a key or a dash.
fn nested(value: &Value, indent: usize, out: &mut String) {
    if is_block(value) {
        out.push('\n');
        block(value, indent, out);
    } else {
        out.push(' ');
        scalar(value, indent, out);
        out.push('\n');
    }
}

fn scalar(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Object(_) => out.push_str("{}"),
        Value::Array(_) => out.push_str("[]"),
        Value::String(given) => text(given, indent, out),
        Value::Number(number) => out.push_str(&crate::gotext::number(number)),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
    }
}

fn text(given: &str, indent: usize, out: &mut String) {
    if given.contains('\n') && !given.starts_with([' ', '\n']) && is_printable(given) {
        lines(given, indent, out);
    } else {
        quotable(given, Some(indent), out);
    }
}

/// Writes a text with quotes if it needs them. A long text continues on more lines with that indent; keys do not.
fn quotable(given: &str, indent: Option<usize>, out: &mut String) {
    let style = if given.contains('\n') || !is_printable(given) || is_ambiguous(given) {
        Style::Double
    } else if is_plain(given) {
        Style::Plain
    } else {
        Style::Single
    };
    out.push_str(style.quote());
    folded(given, style, indent, out);
    out.push_str(style.quote());
}

/// The style of a scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
}

impl Style {
    fn quote(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Single => "'",
            Self::Double => "\"",
        }
    }

    /// Writes a character with its escape.
    fn write(self, letter: char, out: &mut String) {
        match (self, letter) {
            (Self::Single, '\'') => out.push_str("''"),
            (Self::Double, '"') => out.push_str("\\\""),
            // The other escapes of JSON are those of YAML.
            (Self::Double, _) => out.push_str(Value::from(letter.to_string()).to_string().trim_matches('"')),
            _ => out.push(letter),
        }
    }
}

/// Writes a text, and breaks a line at a space once it is wider than [`WIDTH`] (`yaml_emitter_write_plain_scalar`).
fn folded(given: &str, style: Style, indent: Option<usize>, out: &mut String) {
    let mut column = out.rsplit('\n').next().unwrap_or_default().chars().count();
    let last = given.chars().count().saturating_sub(1);
    let mut letters = given.chars().enumerate().peekable();
    let mut is_after_space = false;
    while let Some((at, letter)) = letters.next() {
        let is_space = letter == ' ';
        let is_inside = style == Style::Plain || at > 0 && at < last;
        let is_before_space = letters.peek().is_some_and(|(_, next)| *next == ' ');
        let may_break = is_space && !is_after_space && is_inside && column > WIDTH;
        match indent.filter(|_| may_break && (!is_before_space || style == Style::Double)) {
            Some(indent) => {
                out.push('\n');
                pad(indent, out);
                column = indent;
                if is_before_space {
                    out.push('\\');
                    column += 1;
                }
            }
            None => {
                let start = out.len();
                style.write(letter, out);
                column += out[start..].chars().count();
            }
        }
        is_after_space = is_space;
    }
}

/// Writes a literal block. Its header (`|`, `|-` or `|+`) tells how many line breaks end the text.
fn lines(given: &str, indent: usize, out: &mut String) {
    out.push('|');
    let body = given.strip_suffix('\n');
    match body {
        None => out.push('-'),
        Some(body) if body.ends_with('\n') || body.is_empty() => out.push('+'),
        Some(_) => {}
    }
    for line in body.unwrap_or(given).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(indent.max(2), out);
            out.push_str(line);
        }
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn is_printable(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{feff}')
}

/// Whether YAML would read the plain text as a number, a boolean, a time or null.
fn is_ambiguous(text: &str) -> bool {
    const WORDS: [&str; 12] = ["", "~", "null", "true", "false", "y", "yes", "n", "no", "on", "off", "<<"];
    let lower = text.to_ascii_lowercase();
    if WORDS.contains(&lower.as_str()) {
        return true;
    }
    let bare = lower.trim_start_matches(['+', '-']).replace('_', "");
    let number = !bare.is_empty()
        && bare.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && (bare.parse::<f64>().is_ok()
            || bare.strip_prefix("0x").is_some_and(|hex| u64::from_str_radix(hex, 16).is_ok())
            || bare.strip_prefix("0b").is_some_and(|bits| u64::from_str_radix(bits, 2).is_ok())
            || bare.strip_prefix("0o").is_some_and(|octal| u64::from_str_radix(octal, 8).is_ok()));
    let sexagesimal = bare.starts_with(|c: char| c.is_ascii_digit()) && is_sexagesimal(&bare);
    let date = text.len() >= 8
        && text.as_bytes().get(4) == Some(&b'-')
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '-' | ':' | '.' | 'T' | 't' | 'Z' | 'z' | '+' | ' '));
    number || sexagesimal || date || matches!(bare.as_str(), ".inf" | ".nan")
}

/// Whether a text is digits with groups up to 59, and a fraction: `1:30.5`.
fn is_sexagesimal(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let whole =
        text.split_once('.').map_or(text, |(whole, fraction)| if digits(fraction) { whole } else { "" });
    let mut groups = whole.split(':');
    let first = groups.next().is_some_and(digits);
    let is_group = |group: &str| digits(group) && group.parse::<u32>().is_ok_and(|group| group < 60);
    first && whole.contains(':') && groups.all(is_group)
}

/// Whether a text needs no quotes.
fn is_plain(text: &str) -> bool {
    const FIRST: [char; 17] =
        ['#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '='];
    let mut chars = text.chars();
    let first = chars.next().unwrap_or(' ');
    let dashed = matches!(first, '-' | '?' | ':') && chars.next().is_none_or(char::is_whitespace);
    let document = text.starts_with("---") || text.starts_with("...");
    !(FIRST.contains(&first)
        || dashed
        || document
        || text.starts_with(' ')
        || text.ends_with(' ')
        || text.ends_with(':')
        || text.contains(": ")
        || text.contains(" #"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn document_matches_server_yaml() {
        let object = json!({
            "apiVersion": "v1", "data": { "a": "1", "b": "x: y", "c": "one\ntwo\n", "d": "one\ntwo" },
            "empty": {}, "list": ["p", { "k": 1, "l": [true, null] }, []], "message": "configmaps \"nope\" not found",
        });
        let text = "apiVersion: v1\ndata:\n  a: \"1\"\n  b: 'x: y'\n  c: |\n    one\n    two\n  d: |-\n    one\n    two\n\
                    empty: {}\nlist:\n- p\n- k: 1\n  l:\n  - true\n  - null\n- []\nmessage: configmaps \"nope\" not found\n";
        assert_eq!(document(&object), text);
    }

    #[test]
    fn documents_round_trip() {
        for text in [
            "",
            " ",
            "~",
            "null",
            "Yes",
            "0x1F",
            "1e3",
            "1_000",
            "12:30",
            "2024-01-01",
            "2024-01-01T00:00:00Z",
            "-",
            "- a",
            "?",
            "a: b",
            "a #b",
            "#",
            "@x",
            "'q'",
            "\"q\"",
            "tab\t",
            "\n",
            "\n\n",
            "a\n\nb\n\n",
            " lead\nx",
            "%",
            "=",
            "---",
            "é",
            "a\\b",
            "\u{1}",
            "x\r\ny",
            "!t",
            "*",
            "&a",
            "{}",
            "[a",
            "a,b",
            "<none>",
            "nan",
            ".nan",
            "inf",
        ] {
            let value = json!({ "k": [text], "m": { "n": text }, text: 1 });
            let parsed: Value = windtunnel_core::yaml::from_str(&document(&value)).unwrap();
            assert_eq!(parsed, value, "{text:?} as {}", document(&value));
        }
    }
}

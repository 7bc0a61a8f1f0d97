//! Bodies in YAML, as Go's parser reads them: version 1.1, and keys may occur twice.

use std::fmt::Write as _;

use serde_json::Value;
use windtunnel_core::yaml::{self, Kind, YamlError};

use crate::gotext::quote;

/// Parses the first document of a body. Returns a message for each repeated key, whose last value counts.
///
/// # Errors
/// The message of Go's parser, with `error converting YAML to JSON: ` before it where the server adds that.
pub(crate) fn parse(bytes: &[u8]) -> Result<(Value, Vec<String>), String> {
    let text = String::from_utf8_lossy(bytes);
    let text = first_document(&text);
    if text.trim_start_matches([' ', '\n', '\r']).starts_with('\t') {
        return Err("yaml: found character that cannot start any token".to_owned());
    }
    let (value, repeated) = yaml::parse_lenient(text)
        .or_else(|error| match before(text, &error) {
            // Go's parser stops after the first document, whatever follows.
            Some(start) if error.message.contains("<document start>") => yaml::parse_lenient(start),
            _ => Err(error),
        })
        .map_err(|error| message(&error, text))?;
    let messages = repeated.into_iter().map(|(line, key)| {
        let key = match &key.kind {
            Kind::Text(text) => quote(text),
            _ => key.scalar().unwrap_or_default().to_owned(),
        };
        format!("line {line}: key {key} already set in map")
    });
    Ok((value, messages.collect()))
}

/// The text before the place of an error.
fn before<'a>(text: &'a str, error: &YamlError) -> Option<&'a str> {
    let line = error.line.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..)?;
    let column = rest.char_indices().nth(error.column.checked_sub(1)?).map_or(rest.len(), |(at, _)| at);
    text.get(..start + column)
}

/// The error of strict parsing, from the messages for repeated keys.
pub(crate) fn strict_error(repeated: &[String]) -> String {
    let mut text = "yaml: unmarshal errors:".to_owned();
    for message in repeated {
        // Writing to a text cannot fail.
        let _ = write!(text, "\n  {message}");
    }
    text
}

/// The first of several YAML documents. Go's parser ignores the others.
fn first_document(text: &str) -> &str {
    let mut at = 0;
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        let is_bare_marker = line.trim_end() == "---";
        let is_marker = is_bare_marker || line.starts_with("--- ");
        if is_marker && has_content || line.trim_end() == "..." {
            return &text[..at];
        }
        let is_comment = line.trim_start().starts_with(['#', '%']);
        has_content = has_content || !is_bare_marker && !is_comment && !line.trim().is_empty();
        at += line.len();
    }
    text
}

/// Go's messages for common errors in YAML. Other errors have the message of this parser.
fn message(error: &YamlError, text: &str) -> String {
    if error.message.starts_with("unexpected character: `\\u{") {
        return "yaml: control characters are not allowed".to_owned();
    }
    // The first is of the conversion to JSON, the others of the library; none has a line.
    if error.message.starts_with("unsupported map key") || error.message.starts_with("yaml: invalid map key")
    {
        return error.message.clone();
    }
    if error.message == "YAML merge value must be mapping or sequence of mappings" {
        return "yaml: map merge requires map or sequence of maps as the value".to_owned();
    }
    let why = match error.message.as_str() {
        // If the text ends where an element must follow, Go reports the missing element first.
        "unclosed bracket '{'" | "unclosed bracket '['" if text.trim_end().ends_with(['[', '{', ',']) => {
            "did not find expected node content"
        }
        "unclosed bracket '{'" => "did not find expected ',' or '}'",
        "unclosed bracket '['" => "did not find expected ',' or ']'",
        other => other,
    };
    // Go counts lines from zero, and omits a zero. Its parser's errors are a line further than its scanner's.
    if why == "mapping values are not allowed in this context" && error.line == 1 {
        return format!("yaml: {why}");
    }
    format!("yaml: line {}: {why}", error.line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_first_document_counts() {
        for (text, first) in [
            ("a: 1\n", "a: 1\n"),
            ("---\na: 1\n---\nb: 2\n", "---\na: 1\n"),
            ("# c\n---\na: 1\n...\nb", "# c\n---\na: 1\n"),
            ("--- {a: 1}\n---\nb: 2\n", "--- {a: 1}\n"),
        ] {
            assert_eq!(first_document(text), first);
        }
    }

    #[test]
    fn keys_without_quotes_are_converted_as_go_does() {
        let value = |text: &str| parse(text.as_bytes()).map(|(value, _)| value);
        for (text, expected) in [
            ("y: 1\n'n': 2\nOFF: 3\n", json!({ "true": 1, "n": 2, "false": 3 })),
            (
                "0x10: 1\n010: 2\n1e3: 3\n\"4.0\": 4\n1.50: 5\n",
                json!({ "16": 1, "8": 2, "1000": 3, "4.0": 4, "1.5": 5 }),
            ),
            ("a:\n- +1: b\n  -0: c\n", json!({ "a": [{ "1": "b", "0": "c" }] })),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        let null = "unsupported map key of type: %!s(<nil>), key: <nil>, value: \"v\"";
        assert_eq!(value("a: {~: v}\n"), Err(null.to_owned()));
        assert_eq!(
            value("? [a, 1]\n: v\n"),
            Err("yaml: invalid map key: []interface {}{\"a\", 1}".to_owned())
        );
        let map = "yaml: invalid map key: map[interface {}]interface {}{\"a\":interface {}(nil)}";
        assert_eq!(value("{{a: }: v}\n"), Err(map.to_owned()));
        assert_eq!(value(".inf: v\n"), Ok(json!({ ".inf": "v" })));
    }

    #[test]
    fn repeated_keys_and_words_for_booleans_are_those_of_version_1_1() {
        let (value, repeated) = parse(b"a: y\nb: 'no'\na: off\n").unwrap();
        assert_eq!(value, json!({ "a": false, "b": "no" }));
        assert_eq!(repeated, ["line 3: key \"a\" already set in map"]);
        assert_eq!(
            strict_error(&repeated),
            "yaml: unmarshal errors:\n  line 3: key \"a\" already set in map"
        );
    }
}

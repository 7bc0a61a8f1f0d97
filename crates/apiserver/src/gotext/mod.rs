//! Values as Go prints them, for messages that must equal those of a server written in Go.

pub(crate) mod duration;
pub(crate) mod json_syntax;
pub(crate) mod regexp;
pub(crate) mod url;

use serde_json::{Map, Number, Value};
use windtunnel_core::text::go_float::format_g;
pub(crate) use windtunnel_core::text::go_float::format_v as float;
pub(crate) use windtunnel_core::text::go_quote::quote;

/// The address in a pointer that Go syntax shows. Addresses mean nothing, and differ between servers.
pub(crate) const ADDRESS: &str = "0xc000000000";

/// Escapes the characters of JSON text that Go escapes for HTML (`json.HTMLEscape`).
pub(crate) fn escape_html(json: String) -> String {
    String::from_utf8(escape_html_bytes(json.into_bytes())).unwrap_or_default()
}

/// [`escape_html`] for text in bytes. Most texts have no such character and are returned unchanged.
pub(crate) fn escape_html_bytes(json: Vec<u8>) -> Vec<u8> {
    /// U+2028 and U+2029 without their last byte, which is A8 or A9.
    const SEPARATOR: [u8; 2] = [0xe2, 0x80];
    let is_suspect = |byte: &u8| matches!(byte, b'<' | b'>' | b'&' | 0xe2);
    if !json.iter().any(is_suspect) {
        return json;
    }
    let mut text = Vec::with_capacity(json.len() + 16);
    for (at, byte) in json.iter().enumerate() {
        let is_separator = matches!(byte, 0xa8 | 0xa9) && text.ends_with(&SEPARATOR) && at > 1;
        match byte {
            b'<' => text.extend(b"\\u003c"),
            b'>' => text.extend(b"\\u003e"),
            b'&' => text.extend(b"\\u0026"),
            last if is_separator => {
                text.truncate(text.len() - SEPARATOR.len());
                text.extend(if *last == 0xa8 { b"\\u2028" } else { b"\\u2029" });
            }
            other => text.push(*other),
        }
    }
    text
}

/// Formats a time in RFC 3339 and UTC like Go's `Time.String`.
pub(crate) fn time(time: &str) -> String {
    format!("{} +0000 UTC", time.trim_end_matches('Z').replacen('T', " ", 1))
}

/// Formats a number like Go's `%v` of an `int64`, or of a `float64` if it is none.
pub(crate) fn number(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (None, Some(float)) => format_g(float),
        _ => number.to_string(),
    }
}

/// Formats a value like Go's `%#v`, after `encoding/json` decoded it into an `interface{}`.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(found) => number(found),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{}:{}", quote(key), syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
    }
}

/// Formats a value like Go's `%v`, after `encoding/json` decoded it into an `interface{}`.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(found) => number(found),
        Value::String(text) => text.clone(),
        Value::Array(items) => plain_list(items),
        Value::Object(map) => plain_map(map),
    }
}

/// Formats a list like [`plain`].
pub(crate) fn plain_list(items: &[Value]) -> String {
    format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" "))
}

/// Formats a map like [`plain`].
pub(crate) fn plain_map(map: &Map<String, Value>) -> String {
    let entries: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{}", plain(value))).collect();
    format!("map[{}]", entries.join(" "))
}

/// The Go type into which a value is decoded (`%T`). Integers keep their type, unlike in `encoding/json`.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(found) if found.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The name of a value's type in errors of Go's JSON decoder.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_in_go_syntax() {
        for (value, text) in [
            (json!({"b": 1, "a": "x\"y"}), r#"map[string]interface {}{"a":"x\"y", "b":1}"#),
            (json!(["a", 1.5, null, true]), r#"[]interface {}{"a", 1.5, interface {}(nil), true}"#),
            (json!(1e21), "1e+21"),
        ] {
            assert_eq!(syntax(&value), text);
        }
    }
}

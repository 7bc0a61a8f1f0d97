//! Path elements of field sets: `f:` with a field name, `k:` with the keys of a list element, `v:` with the
//! element of a set.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::shape::Keys;
use crate::gotext;

/// The path element of a field.
pub(super) fn field(name: &str) -> String {
    ["f:", name].concat()
}

/// The field name in a path element.
pub(super) fn name(element: &str) -> Option<&str> {
    element.strip_prefix("f:")
}

/// Whether a path element identifies a list element by its keys.
pub(super) fn is_key(element: &str) -> bool {
    element.starts_with("k:")
}

/// The path element of an element of a set.
///
/// # Errors
/// The reason why the element is invalid.
pub(super) fn set_element(item: &Value) -> Result<String, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(format!("v:{scalar}")),
    }
}

/// The path element of an element in a list with keys. Keys with a default may be absent.
///
/// # Errors
/// The reason why the element is invalid.
pub(super) fn keyed_element(item: &Value, keys: Keys<'_>) -> Result<String, String> {
    let map = match item {
        Value::Object(map) => map,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut text = String::with_capacity(64);
    text.push_str("k:{");
    if keys.count() == 1 {
        // Mostly there is one key, so there is nothing to sort.
        for key in keys.names() {
            push_pair(&mut text, key, value_of(map, key, keys)?);
        }
    } else {
        let found = keys.names().map(|key| Ok((key, value_of(map, key, keys)?)));
        let found = found.collect::<Result<BTreeMap<_, _>, String>>()?;
        for (index, (key, value)) in found.into_iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            push_pair(&mut text, key, value);
        }
    }
    text.push('}');
    Ok(text)
}

fn value_of<'a>(map: &'a Map<String, Value>, key: &str, keys: Keys<'a>) -> Result<&'a Value, String> {
    map.get(key).or_else(|| keys.default(key)).ok_or_else(|| {
        format!(
            "associative list with keys has an element that omits key field {} (and doesn't have default value)",
            gotext::quote(key)
        )
    })
}

fn push_pair(text: &mut String, key: &str, value: &Value) {
    push_quoted(text, key);
    text.push(':');
    push_json(text, value);
}

fn push_json(text: &mut String, value: &Value) {
    match value {
        Value::String(value) => push_quoted(text, value),
        value => text.push_str(&value.to_string()),
    }
}

/// Fast path: names seldom need escaping.
fn push_quoted(text: &mut String, value: &str) {
    if value.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        // Serializing a string cannot fail.
        text.push_str(&serde_json::to_string(value).unwrap_or_default());
    } else {
        text.push('"');
        text.push_str(value);
        text.push('"');
    }
}

/// Formats a path element for messages (`PathElement.String`).
pub(super) fn text(element: &str) -> String {
    let (kind, rest) = element.split_at_checked(2).unwrap_or((element, ""));
    let value = || serde_json::from_str(rest).unwrap_or(Value::Null);
    match (kind, rest) {
        ("f:", name) => format!(".{name}"),
        ("v:", _) => format!("[={}]", shown(&value())),
        ("i:", index) => format!("[{index}]"),
        ("k:", _) => {
            let keys = value();
            let keys = keys.as_object().into_iter().flatten();
            let keys: Vec<String> = keys.map(|(key, value)| format!("{key}={}", shown(value))).collect();
            format!("[{}]", keys.join(","))
        }
        _ => String::new(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => gotext::quote(text),
        Value::Null => "null".to_owned(),
        other => gotext::plain(other),
    }
}

/// A path element from a client.
pub(super) enum ParsedElement {
    Known(String),
    /// Of a kind that this server does not know, and ignores.
    Unknown,
    Wrong,
}

/// Converts a client's path element to the form that this server writes.
pub(super) fn canonical(element: &str) -> ParsedElement {
    let Some((kind, rest)) = element.split_at_checked(2).filter(|(kind, _)| kind.ends_with(':')) else {
        return ParsedElement::Wrong;
    };
    match kind {
        "f:" => ParsedElement::Known(element.to_owned()),
        "v:" => serde_json::from_str::<Value>(rest)
            .map_or(ParsedElement::Wrong, |value| ParsedElement::Known(format!("v:{value}"))),
        "k:" => serde_json::from_str::<Map<String, Value>>(rest)
            .map_or(ParsedElement::Wrong, |keys| ParsedElement::Known(format!("k:{}", Value::Object(keys)))),
        "i:" => rest
            .parse::<i64>()
            .map_or(ParsedElement::Wrong, |index| ParsedElement::Known(format!("i:{index}"))),
        _ => ParsedElement::Unknown,
    }
}

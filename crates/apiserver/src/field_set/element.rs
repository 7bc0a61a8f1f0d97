//! Path elements of field sets: `f:` with a field name, `k:` with the keys of a list element, `v:` with the
//! element of a set.

use serde_json::{Map, Value};

use crate::gotext;

/// The path element of a field.
pub(crate) fn field(name: &str) -> String {
    ["f:", name].concat()
}

/// The field name in a path element.
pub(crate) fn name(element: &str) -> Option<&str> {
    element.strip_prefix("f:")
}

/// Whether a path element identifies a list element by its keys.
pub(crate) fn is_key(element: &str) -> bool {
    element.starts_with("k:")
}

/// The path element of an element of a set.
///
/// # Errors
/// The reason why the element is invalid.
pub(crate) fn set_element(item: &Value) -> Result<String, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(format!("v:{scalar}")),
    }
}

/// Formats a path element for messages (`PathElement.String`).
pub(crate) fn text(element: &str) -> String {
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
pub(crate) enum ParsedElement {
    Known(String),
    /// Of a kind that this server does not know, and ignores.
    Unknown,
    Wrong,
}

/// Converts a client's path element to the form that this server writes.
pub(crate) fn canonical(element: &str) -> ParsedElement {
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

//! The path elements of list elements that keys identify.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::shape::Keys;
use crate::gotext;

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

//! The path elements of list elements that keys identify.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shape::Keys;
use crate::gotext;

/// The path element of an element in a list with keys. Keys may be absent, but not all of them, unless they have a default.
///
/// # Errors
/// The reason why the element is invalid.
pub(super) fn keyed_element<'a>(item: &'a Value, keys: Keys<'a>) -> Result<String, String> {
    let map = match item {
        Value::Object(map) => map,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut text = String::with_capacity(64);
    text.push_str("k:{");
    let found = |key: &'a str| Some((key, map.get(key).or_else(|| keys.default(key))?));
    if let (1, Some((key, value))) = (keys.count(), keys.names().find_map(found)) {
        // Mostly there is one key, so there is nothing to sort.
        push_pair(&mut text, key, value);
    } else {
        let found: BTreeMap<_, _> = keys.names().filter_map(found).collect();
        if found.is_empty() {
            return Err(no_keys(keys));
        }
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

fn no_keys(keys: Keys<'_>) -> String {
    let names: Vec<String> = keys.names().map(gotext::quote).collect();
    format!(
        "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for \
         any key fields)",
        names.join(" ")
    )
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

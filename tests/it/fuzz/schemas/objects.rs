//! Random values that more or less fit a schema.

use serde_json::{Map, Value, json};

use super::schema::NAMES;
use crate::fuzz::dice::Dice;

const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "abcd",
    "1",
    "\u{1f980}\u{e9}",
    "2024-01-01T00:00:00Z",
    "2024-01-01",
    "1h",
    "a@b.io",
    "10.0.0.1",
    "::1",
    "10.0.0.0/8",
    "http://a.io/b?c#d",
    "YWJj",
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "#fff",
    "a-b",
    "100m",
    "20%",
];

/// A value that the schema allows in most cases.
pub(super) fn fitting(dice: &mut Dice, schema: &Value, depth: u32) -> Value {
    if dice.one_in(40) {
        return dice.value(2);
    }
    if schema["nullable"] == true && dice.one_in(6) {
        return Value::Null;
    }
    if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty())
        && !dice.one_in(10)
    {
        return values[dice.index(values.len())].clone();
    }
    match schema["type"].as_str() {
        Some("object") => object(dice, schema, depth),
        Some("array") => {
            let count = if depth == 0 { 0 } else { dice.number(0, 3) };
            (0..count).map(|_| fitting(dice, &schema["items"], depth - 1)).collect()
        }
        Some("boolean") => json!(dice.one_in(2)),
        Some("integer") if dice.one_in(8) => json!(dice.integer()),
        Some("number") if dice.one_in(2) => json!(dice.float()),
        Some("integer" | "number") => json!(dice.number(0, 10)),
        Some("string") => json!(dice.pick(TEXTS)),
        _ if dice.one_in(2) => json!(dice.number(0, 100)),
        _ => json!(dice.pick(TEXTS)),
    }
}

fn object(dice: &mut Dice, schema: &Value, depth: u32) -> Value {
    let mut map = Map::new();
    if schema["x-kubernetes-embedded-resource"] == true && !dice.one_in(10) {
        let meta = json!({ "apiVersion": "v1", "kind": "Inner", "metadata": { "name": "inner", "labels": { "a": "b" } } });
        map.extend(meta.as_object().cloned().unwrap_or_default());
    }
    if depth > 0 {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let needed = required.iter().any(|required| required == name);
            if if needed { !dice.one_in(20) } else { dice.one_in(2) } {
                map.insert(name.clone(), fitting(dice, inner, depth - 1));
            }
        }
        if schema["additionalProperties"].is_object() {
            for _ in 0..dice.number(0, 3) {
                let inner = fitting(dice, &schema["additionalProperties"], depth - 1);
                map.insert(dice.pick(NAMES).to_owned(), inner);
            }
        }
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == true || dice.one_in(15) {
        map.insert(dice.pick(NAMES).to_owned(), dice.value(2));
    }
    map.into()
}

//! Values for fields: good and nasty ones, chosen by type and by what the name of the field suggests.

mod pools;

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::oracle::Shape;

/// A random element.
pub(crate) fn pick<'a, T>(rng: &mut Rng, items: &'a [T]) -> &'a T {
    &items[rng.usize(..items.len())]
}

/// A value for a scalar field.
fn scalar(rng: &mut Rng, name: &str, shape: Shape<'_>) -> Value {
    let allowed = shape.allowed();
    if !allowed.is_empty() && rng.u8(..10) < 8 {
        return (*pick(rng, &allowed)).clone();
    }
    match shape.kind() {
        "boolean" => json!(rng.bool()),
        "integer" => pools::integer(rng, name),
        "number" => json!(1.5),
        "quantity" => pools::quantity(rng),
        "int-or-string" => pools::int_or_string(rng, name),
        _ => json!(pools::text(rng, name, shape.format())),
    }
}

/// A value that fits a schema, as far as its names allow: required members, and some of the others.
pub(crate) fn generate(rng: &mut Rng, name: &str, shape: Shape<'_>, depth: u32) -> Value {
    match shape.kind() {
        "array" => {
            let count = *pick(rng, &[0, 1, 1, 1, 2]);
            (0..count).map(|_| generate(rng, singular(name), shape.member(""), depth + 1)).collect()
        }
        "object" if shape.is_map() => {
            let keys = (0..rng.usize(..3)).map(|_| pools::key(rng, name)).collect::<Vec<_>>();
            keys.into_iter().map(|key| (key, generate(rng, name, shape.member(""), depth + 1))).collect()
        }
        "object" => object(rng, shape, depth),
        _ => scalar(rng, name, shape),
    }
}

fn object(rng: &mut Rng, shape: Shape<'_>, depth: u32) -> Value {
    let mut object = Map::new();
    if depth > 6 {
        return Value::Object(object);
    }
    let odds = if depth < 2 { 3 } else { 5 };
    for (name, inner) in shape.properties() {
        if shape.requires(name) && rng.u8(..12) > 0 || rng.u8(..odds) == 0 {
            object.insert(name.clone(), generate(rng, name, inner, depth + 1));
        }
    }
    Value::Object(object)
}

fn singular(name: &str) -> &str {
    name.strip_suffix('s').unwrap_or(name)
}

/// Another value in the place of one: of its type, of another type, empty, or null.
pub(crate) fn instead(rng: &mut Rng, name: &str, shape: Shape<'_>, old: &Value) -> Value {
    match rng.u8(..20) {
        0 => Value::Null,
        1 => pools::empty(old),
        2 => pools::wrong_type(rng, old),
        3 => pools::strange(rng),
        4 => varied(rng, old),
        _ if shape.kind().is_empty() => varied(rng, old),
        _ if shape.kind() == "object" && shape.is_map() && old.is_object() => entry(rng, name, shape, old),
        _ if shape.kind() == "array" && old.is_array() => element(rng, name, shape, old),
        _ => generate(rng, name, shape, 2),
    }
}

/// A map with one more entry.
fn entry(rng: &mut Rng, name: &str, shape: Shape<'_>, old: &Value) -> Value {
    let mut map = old.as_object().cloned().unwrap_or_default();
    let key = pools::key(rng, name);
    let value = generate(rng, name, shape.member(""), 3);
    map.insert(key, value);
    Value::Object(map)
}

/// A list with an element more, fewer, twice, or in another order.
fn element(rng: &mut Rng, name: &str, shape: Shape<'_>, old: &Value) -> Value {
    let mut items = old.as_array().cloned().unwrap_or_default();
    match rng.u8(..5) {
        0 if !items.is_empty() => items.push(pick(rng, &items.clone()).clone()),
        1 => items.reverse(),
        2 if !items.is_empty() => drop(items.remove(0)),
        3 => items = vec![generate(rng, singular(name), shape.member(""), 2); rng.usize(1..3)],
        _ => items.push(generate(rng, singular(name), shape.member(""), 2)),
    }
    Value::Array(items)
}

/// A value close to another.
fn varied(rng: &mut Rng, old: &Value) -> Value {
    match old {
        Value::String(text) => json!(match rng.u8(..8) {
            0 => text.to_uppercase(),
            1 => format!("{text}-"),
            2 => format!(" {text}"),
            3 => format!("{text}{text}"),
            4 => format!("{text}.x"),
            5 => format!("{text}/x"),
            6 => text.chars().skip(1).collect(),
            _ => format!("x{text}"),
        }),
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or(1);
            json!(*pick(
                rng,
                &[
                    number.saturating_neg(),
                    number.saturating_add(1),
                    number.saturating_sub(1),
                    number.saturating_mul(1000)
                ]
            ))
        }
        Value::Bool(value) => json!(!value),
        other => other.clone(),
    }
}

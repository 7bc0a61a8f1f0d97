//! Changes of a valid object.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::corpus::pointer::escaped;
use crate::oracle::Shape;
use crate::values::{generate, instead, pick};

/// A field of an object, present or not.
struct Spot<'a> {
    pointer: String,
    name: &'a str,
    shape: Shape<'a>,
    value: Option<&'a Value>,
}

/// The members `set` and `remove` that change one to three fields of an object below a pointer.
pub(in crate::areas) fn mutation(
    rng: &mut Rng,
    shape: Shape<'_>,
    object: &Value,
    below: &str,
) -> Map<String, Value> {
    let mut spots = Vec::new();
    collect(shape, object, "", "", &mut spots);
    spots.retain(|spot| spot.pointer.starts_with(below));
    let count = *pick(rng, &[1, 1, 1, 1, 2, 3]);
    let (mut sets, mut removes) = (Map::new(), Vec::new());
    for _ in 0..count {
        let Some(spot) = choose(rng, &spots) else { break };
        match spot.value {
            Some(_) if rng.u8(..5) == 0 => removes.push(json!(spot.pointer)),
            Some(Value::Object(_)) if rng.u8(..12) == 0 => {
                let unknown = *pick(rng, &["unknown", "Name", "x-y", "$patch"]);
                sets.insert(format!("{}/{unknown}", spot.pointer), json!("x"));
            }
            Some(old) => drop(sets.insert(spot.pointer.clone(), instead(rng, spot.name, spot.shape, old))),
            None => drop(sets.insert(spot.pointer.clone(), generate(rng, spot.name, spot.shape, 1))),
        }
    }
    Map::from_iter([("set".to_owned(), Value::Object(sets)), ("remove".to_owned(), json!(removes))])
}

/// A random field. Metadata is the same for all kinds and gets few changes.
fn choose<'a, 's>(rng: &mut Rng, spots: &'s [Spot<'a>]) -> Option<&'s Spot<'a>> {
    for _ in 0..20 {
        let spot = spots.get(rng.usize(..spots.len().max(1)))?;
        let common =
            spot.pointer.starts_with("/metadata") || matches!(&*spot.pointer, "/apiVersion" | "/kind");
        // A controller writes the rules of aggregated roles, if the server has one.
        let random = spot.pointer.starts_with("/metadata/managedFields")
            || spot.pointer == "/metadata/generateName"
            || spot.pointer.starts_with("/aggregationRule");
        if !random && (!common || rng.u8(..8) == 0) {
            return Some(spot);
        }
    }
    None
}

fn collect<'a>(shape: Shape<'a>, value: &'a Value, pointer: &str, name: &'a str, spots: &mut Vec<Spot<'a>>) {
    if !pointer.is_empty() {
        spots.push(Spot { pointer: pointer.to_owned(), name, shape, value: Some(value) });
    }
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                collect(shape.member(key), inner, &format!("{pointer}/{}", escaped(key)), key, spots);
            }
            for (key, inner) in shape.properties().filter(|(key, _)| !map.contains_key(*key)) {
                let pointer = format!("{pointer}/{}", escaped(key));
                spots.push(Spot { pointer, name: key, shape: inner, value: None });
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                collect(shape.member(""), inner, &format!("{pointer}/{index}"), name, spots);
            }
        }
        _ => {}
    }
}

//! The smallest form of a witness.

use serde_json::Value;

use super::moves::{Kept, remove};
use crate::schema::{Place, Spot, get};

/// Removes every field without which `is_witness` still holds, except the part that must stay and the values around it.
pub(super) fn shrink(object: Value, kept: &Kept, mut is_witness: impl FnMut(&Value) -> bool) -> Value {
    let mut places = Vec::new();
    for section in object.as_object().into_iter().flatten().map(|(name, _)| name) {
        if !matches!(section.as_str(), "apiVersion" | "kind" | "metadata") {
            collect(&object, Place::default().field(section), &mut places);
        }
    }
    let mut smallest = object;
    for place in places {
        if kept.place.is_within(&place) || get(&smallest, &place).is_none() {
            continue;
        }
        let mut smaller = smallest.clone();
        remove(&mut smaller, &place);
        if is_witness(&smaller) {
            smallest = smaller;
        }
    }
    smallest
}

/// The places of a field and of all fields below it, the outer ones first.
fn collect(object: &Value, place: Place, found: &mut Vec<Place>) {
    let inner: Vec<Place> = match get(object, &place) {
        Some(Value::Object(fields)) => fields.keys().map(|name| place.field(name)).collect(),
        Some(Value::Array(items)) => (0..items.len()).map(|index| place.index(index)).collect(),
        _ => Vec::new(),
    };
    if matches!(place.0.last(), Some(Spot::Field(_))) {
        found.push(place);
    }
    for place in inner {
        collect(object, place, found);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Path;
    use crate::witness::generate::Put;

    #[test]
    fn everything_but_what_is_needed_goes() {
        let object =
            json!({ "kind": "Lamp", "spec": { "a": { "b": 1, "c": 2 }, "d": [{ "e": 1, "f": 2 }] } });
        let kept = Kept { place: Place::parse("spec.d[0].e"), path: Path::default(), put: Put::Present };
        let shrunk = shrink(object, &kept, |object| object["spec"]["a"]["c"] == 2);
        assert_eq!(shrunk, json!({ "kind": "Lamp", "spec": { "a": { "c": 2 }, "d": [{ "e": 1 }] } }));
    }
}

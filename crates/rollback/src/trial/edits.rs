//! Changes of an object that have nothing to do with a difference.

use serde_json::{Value, json};

use crate::schema::{Kind, Node, Place, Spot, get, put};

/// Copies of an object, each with one other value that is neither in `avoided` nor above it. `is_status` selects the
/// fields of the status or all others.
pub(super) fn unrelated(object: &Value, schema: &Node, avoided: &Place, is_status: bool) -> Vec<Value> {
    let mut found = Vec::new();
    for (section, node) in &schema.properties {
        let is_meta = matches!(section.as_str(), "apiVersion" | "kind" | "metadata");
        if is_meta || (section == "status") != is_status {
            continue;
        }
        let place = Place(vec![Spot::Field(section.clone())]);
        for (name, field) in &node.properties {
            let mut place = place.clone();
            place.0.push(Spot::Field(name.clone()));
            let is_related = avoided.is_within(&place) || place.is_within(avoided);
            if let Some(value) = other_value(field, get(object, &place)).filter(|_| !is_related) {
                let mut copy = object.clone();
                put(&mut copy, &place, value);
                found.push(copy);
            }
        }
    }
    found
}

/// Another plain value of a field; `None` for lists, objects and texts with a form.
fn other_value(node: &Node, now: Option<&Value>) -> Option<Value> {
    if let Some(allowed) = node.limits.allowed() {
        return allowed.into_iter().find(|value| Some(*value) != now).cloned();
    }
    let choices = match node.types.first()? {
        Kind::Boolean => vec![json!(true), json!(false)],
        Kind::Integer | Kind::Number => {
            let least = node.limits.minimum.map_or(1, |(bound, _)| to_integer(bound) + 1);
            vec![json!(least), json!(least + 1)]
        }
        Kind::String
            if node.limits.patterns.is_empty() && node.limits.formats.is_empty() && node.rules.is_empty() =>
        {
            let length = usize::try_from(node.limits.min_length.unwrap_or(1)).ok()?.max(1);
            vec![json!("e".repeat(length)), json!("f".repeat(length))]
        }
        _ => return None,
    };
    choices.into_iter().find(|value| Some(value) != now)
}

#[expect(clippy::cast_possible_truncation, reason = "bounds of schemas are small")]
fn to_integer(bound: f64) -> i64 {
    bound as i64
}

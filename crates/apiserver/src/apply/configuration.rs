//! An object with a part of it said by somebody who owns nothing (`ApplyStructuredMergeDiff`).

use serde_json::Value;

use super::shape::{Form, ListMerge, Member, Shape};
use super::typed::{self, Problem};
use crate::kinds::Kind;

/// The object with what the configuration says, in the shape of its kind.
///
/// # Errors
/// The server's words for a configuration that is none, or that would take something as a whole.
pub(crate) fn configured(kind: &Kind, object: &Value, configuration: &Value) -> Result<Value, String> {
    let shape = Shape::of(kind);
    let text = |what: &str, problems: &[Problem]| format!("{what}: {}", Problem::text(problems));
    typed::validate(configuration, shape, false)
        .map_err(|wrong| text("failed to convert patch object to typed object", &wrong))?;
    let mut whole = Vec::new();
    atomics(configuration, shape, "", &mut whole);
    if !whole.is_empty() {
        let whole = whole.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {whole}"
        ));
    }
    typed::validate(object, shape, true)
        .map_err(|wrong| text("failed to convert original object to typed object", &wrong))?;
    typed::merge(object, configuration, shape).map_err(|wrong| text("failed to merge patch", &wrong))
}

/// Where a configuration has something that is taken as a whole.
fn atomics(value: &Value, shape: Shape<'_>, path: &str, found: &mut Vec<String>) {
    match (shape.form(Some(value)), value) {
        (Form::Map { atomic }, Value::Object(map)) => {
            found.extend(atomic.then(|| path.to_owned()));
            for (name, inner) in map {
                // Values of maps are nobody's fields.
                if let Member::Declared(shape) = shape.member(name) {
                    atomics(inner, shape, &format!("{path}.{name}"), found);
                }
            }
        }
        (Form::List(merge, shape), Value::Array(items)) => {
            found.extend(matches!(merge, ListMerge::Atomic).then(|| path.to_owned()));
            for (index, item) in items.iter().enumerate() {
                atomics(item, shape, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

//! Merges an object with a configuration whose applier owns no fields (`ApplyStructuredMergeDiff`).

use serde_json::Value;

use super::shape::{Form, ListMerge, Member, Shape};
use super::typed::{self, ValidationError};
use crate::kinds::Kind;

/// The object merged with the configuration.
///
/// # Errors
/// The server's message for a configuration that is invalid or would replace an atomic value.
pub(crate) fn configured(kind: &Kind, object: &Value, configuration: &Value) -> Result<Value, String> {
    let shape = Shape::for_kind(kind);
    let text = |what: &str, errors: &[ValidationError]| format!("{what}: {}", ValidationError::text(errors));
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

/// Finds the paths of atomic values in a configuration.
fn atomics(value: &Value, shape: Shape<'_>, path: &str, found: &mut Vec<String>) {
    match (shape.form(Some(value)), value) {
        (Form::Map { atomic }, Value::Object(map)) => {
            found.extend(atomic.then(|| path.to_owned()));
            for (name, inner) in map {
                // Values of maps are not fields of a struct.
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

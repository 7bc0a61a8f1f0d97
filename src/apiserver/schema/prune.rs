//! Removes what a schema does not specify.

use std::sync::LazyLock;

use serde_json::Value;

use super::path::Path;
use super::structural::{Additional, Structural};

/// Fields that every whole object has, whatever its schema says.
const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A schema that knows no fields.
static NOTHING: LazyLock<Structural> = LazyLock::new(Structural::default);

/// Prunes a whole object and gives the paths of what was removed, in order.
pub(crate) fn prune(object: &mut Value, schema: &Structural) -> Vec<String> {
    let mut removed = Vec::new();
    walk(object, Some(schema), true, schema.preserve_unknown, &Path::Root, &mut removed);
    removed
}

/// Prunes a value that need not be a whole object, as a default.
pub(crate) fn prune_value(value: &mut Value, schema: &Structural) {
    let mut removed = Vec::new();
    let (whole, keep) = (schema.embedded_resource, schema.preserve_unknown);
    walk(value, Some(schema), whole, keep, &Path::Root, &mut removed);
}

/// One node. `whole`: the node is a whole object; `keep`: unknown fields of this node stay.
fn walk(
    value: &mut Value,
    schema: Option<&Structural>,
    whole: bool,
    keep: bool,
    path: &Path<'_>,
    removed: &mut Vec<String>,
) {
    match value {
        Value::Object(map) => {
            let mut gone: Vec<String> = Vec::new();
            for (name, inner, property) in schema.unwrap_or(&NOTHING).along(map.iter_mut()) {
                // Most fields are known, and have nothing in them that could be unknown.
                let empty = !inner.is_object() && !inner.is_array();
                if empty && property.is_some() || whole && OBJECT_FIELDS.contains(&name.as_str()) {
                    continue;
                }
                let here = path.key(name);
                match (property, schema.and_then(|schema| schema.additional.as_ref())) {
                    (Some(schema), _) => property_of(inner, schema, &here, removed),
                    (None, Some(Additional::Of(schema))) => property_of(inner, schema, &here, removed),
                    (None, Some(Additional::Anything)) => walk(inner, None, false, false, &here, removed),
                    (None, None) if keep => {}
                    (None, None) => {
                        removed.push(here.to_string());
                        gone.push(name.clone());
                    }
                }
            }
            for name in gone {
                map.remove(&name);
            }
        }
        Value::Array(items) => {
            let inner = schema.and_then(|schema| schema.items.as_deref());
            // Below a node that keeps unknown fields, elements without a schema are kept as they are.
            if inner.is_none() && keep {
                return;
            }
            let whole = inner.is_some_and(|schema| schema.embedded_resource);
            let keep = keep || inner.is_some_and(|schema| schema.preserve_unknown);
            for (index, item) in items.iter_mut().enumerate() {
                walk(item, inner, whole, keep, &path.index(index), removed);
            }
        }
        _ => {}
    }
}

fn property_of(value: &mut Value, schema: &Structural, path: &Path<'_>, removed: &mut Vec<String>) {
    // Most values have nothing in them.
    if value.is_object() || value.is_array() {
        walk(value, Some(schema), schema.embedded_resource, schema.preserve_unknown, path, removed);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, mut object: Value, pruned: &Value, removed: &[&str]) {
        assert_eq!(prune(&mut object, &Structural::read(schema)), removed);
        assert_eq!(&object, pruned);
    }

    #[test]
    fn unknown_fields_go_at_every_level_and_the_object_fields_stay() {
        check(
            &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "l": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}}}}}}),
            json!({"apiVersion": "v", "kind": "k", "metadata": {"name": "n"}, "spec": {"l": [{"x": 1, "y": 2}], "z": 1}}),
            &json!({"apiVersion": "v", "kind": "k", "metadata": {"name": "n"}, "spec": {"l": [{"x": 1}]}}),
            &["spec.l[0].y", "spec.z"],
        );
    }

    #[test]
    fn preserving_keeps_all_below_except_what_is_specified_anew() {
        check(
            &json!({"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"b": {"type": "object", "properties": {"k": {"type": "string"}}}}}}}),
            json!({"a": {"u": {"v": 1}, "b": {"k": "x", "z": 2}}}),
            &json!({"a": {"u": {"v": 1}, "b": {"k": "x"}}}),
            &["a.b.z"],
        );
    }
}

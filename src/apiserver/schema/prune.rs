//! Removes what a schema does not specify.

use serde_json::Value;

use super::path::Path;
use super::structural::{Additional, Structural};

/// Fields that every whole object has, whatever its schema says.
const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

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
        Value::Object(map) => map.retain(|name, inner| {
            let here = path.key(name);
            if whole && OBJECT_FIELDS.contains(&name.as_str()) {
                return true;
            }
            match field(schema, name) {
                Field::Of(schema) => {
                    walk(
                        inner,
                        Some(schema),
                        schema.embedded_resource,
                        schema.preserve_unknown,
                        &here,
                        removed,
                    );
                    true
                }
                Field::Anything => {
                    walk(inner, None, false, false, &here, removed);
                    true
                }
                Field::Unknown if keep => true,
                Field::Unknown => {
                    removed.push(here.to_string());
                    false
                }
            }
        }),
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

enum Field<'a> {
    Of(&'a Structural),
    Anything,
    Unknown,
}

fn field<'a>(schema: Option<&'a Structural>, name: &str) -> Field<'a> {
    let Some(schema) = schema else { return Field::Unknown };
    match (schema.properties.get(name), &schema.additional) {
        (Some(property), _) => Field::Of(property),
        (None, Some(Additional::Of(values))) => Field::Of(values),
        (None, Some(Additional::Anything)) => Field::Anything,
        (None, None) => Field::Unknown,
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

//! Pruning: removes fields that a schema does not specify.

use std::sync::LazyLock;

use serde_json::Value;

use super::path::Path;
use super::structural::Structural;
use crate::delta::Delta;

/// Fields that every whole object has, regardless of its schema.
const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A schema without any fields.
static NOTHING: LazyLock<Structural> = LazyLock::new(Structural::default);

/// Prunes a whole object and returns the paths of the removed fields, in order.
pub(crate) fn prune(object: &mut Value, schema: &Structural) -> Vec<String> {
    prune_changes(object, schema, &Delta::Other)
}

/// Prunes an object that differs by `delta` from an object that was pruned with this schema.
pub(crate) fn prune_changes(object: &mut Value, schema: &Structural, delta: &Delta) -> Vec<String> {
    let mut walk = Walk { removed: Vec::new() };
    walk.node(
        object,
        Some(schema),
        Unknown { whole: true, preserved: schema.preserve_unknown },
        &Path::Root,
        delta,
    );
    walk.removed
}

/// Prunes a value that need not be a whole object, such as a default.
pub(crate) fn prune_value(value: &mut Value, schema: &Structural) {
    let mut walk = Walk { removed: Vec::new() };
    walk.node(value, Some(schema), Unknown::from_schema(schema), &Path::Root, &Delta::Other);
}

/// The unknown fields of a node that stay.
#[derive(Clone, Copy)]
struct Unknown {
    /// The fields of every whole object.
    whole: bool,
    /// All unknown fields.
    preserved: bool,
}

impl Unknown {
    fn from_schema(schema: &Structural) -> Self {
        Self { whole: schema.embedded_resource, preserved: schema.preserve_unknown }
    }
}

struct Walk {
    removed: Vec<String>,
}

impl Walk {
    fn node(
        &mut self,
        value: &mut Value,
        schema: Option<&Structural>,
        unknown: Unknown,
        path: &Path<'_>,
        delta: &Delta,
    ) {
        if delta.is_same() {
            return;
        }
        match value {
            Value::Object(map) => {
                let mut removed_names: Vec<String> = Vec::new();
                let along = schema.unwrap_or(&NOTHING).along(map.iter_mut());
                for (place, (name, inner, property)) in along.enumerate() {
                    // Most fields are known scalars, with nothing to prune.
                    let empty = !inner.is_object() && !inner.is_array();
                    if empty && property.is_some() || unknown.whole && OBJECT_FIELDS.contains(&name.as_str())
                    {
                        continue;
                    }
                    let (here, delta) = (path.key(name), delta.inner(place));
                    let known = property.or_else(|| schema?.additional());
                    match (known, schema.and_then(|schema| schema.additional.as_ref())) {
                        (Some(schema), _) => {
                            self.node(inner, Some(schema), Unknown::from_schema(schema), &here, delta);
                        }
                        (None, Some(_)) => {
                            self.node(inner, None, Unknown { whole: false, preserved: false }, &here, delta);
                        }
                        (None, None) if unknown.preserved => {}
                        (None, None) => {
                            self.removed.push(here.to_string());
                            removed_names.push(name.clone());
                        }
                    }
                }
                for name in removed_names {
                    map.remove(&name);
                }
            }
            Value::Array(items) => {
                let inner = schema.and_then(|schema| schema.items.as_deref());
                // Below a node that keeps unknown fields, elements without a schema stay unchanged.
                if inner.is_none() && unknown.preserved {
                    return;
                }
                let own = inner.map_or(Unknown { whole: false, preserved: false }, Unknown::from_schema);
                let below = Unknown { preserved: unknown.preserved || own.preserved, ..own };
                for (index, item) in items.iter_mut().enumerate() {
                    self.node(item, inner, below, &path.index(index), delta.inner(index));
                }
            }
            _ => {}
        }
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
    fn prunes_unknown_fields_at_every_level_but_not_those_of_every_object() {
        check(
            &json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                "l": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}}}}}}),
            json!({"apiVersion": "v", "kind": "k", "metadata": {"name": "n"}, "spec": {"l": [{"x": 1, "y": 2}], "z": 1}}),
            &json!({"apiVersion": "v", "kind": "k", "metadata": {"name": "n"}, "spec": {"l": [{"x": 1}]}}),
            &["spec.l[0].y", "spec.z"],
        );
    }

    #[test]
    fn preserving_keeps_unknown_fields_except_below_specified_properties() {
        check(
            &json!({"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"b": {"type": "object", "properties": {"k": {"type": "string"}}}}}}}),
            json!({"a": {"u": {"v": 1}, "b": {"k": "x", "z": 2}}}),
            &json!({"a": {"u": {"v": 1}, "b": {"k": "x"}}}),
            &["a.b.z"],
        );
    }
}

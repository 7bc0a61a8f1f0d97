//! The text of a patched object in errors. A real server patches the encoded object: the maps that the patch opens are
//! sorted afterwards, while the rest keeps the order of fields in Go's structs.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::facts::{FieldKind, types};
use crate::gotext;
use crate::kinds::Kind;
use crate::request::options::PatchType;

/// The effect of a patch on a value.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// The patch changes or reads values inside, by name or index.
    Opened(BTreeMap<String, Part>),
    /// The value is from the patch.
    Given,
}

/// The JSON text of `object`, the result of a JSON patch or a merge patch of `old`.
pub(crate) fn printed(
    patch_type: PatchType,
    patch: &Value,
    old: &Value,
    object: &Value,
    kind: &Kind,
) -> String {
    let part = match patch_type {
        PatchType::Json => Part::of_operations(patch),
        _ => Part::of_merge(patch, old),
    };
    let resource = &kind.resource;
    let id = types().find(&resource.group, &resource.version, &resource.kind);
    let root = id.filter(|_| kind.custom.is_none()).map(FieldKind::Struct);
    let mut text = String::new();
    write(&mut text, object, root.as_ref(), Some(&part));
    gotext::escape_html(text)
}

fn write(text: &mut String, value: &Value, kind: Option<&FieldKind>, part: Option<&Part>) {
    match value {
        Value::Object(map) => {
            text.push('{');
            for (index, name) in names(map, kind, part).into_iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                text.push_str(&json!(name).to_string());
                text.push(':');
                write(text, &map[name], member(kind, name), part.and_then(|part| part.inner(name)));
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                let part = part.and_then(|part| part.inner(&index.to_string()));
                write(text, item, element(kind), part);
            }
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

/// The names of the members of a map in their order.
fn names<'a>(map: &'a Map<String, Value>, kind: Option<&FieldKind>, part: Option<&Part>) -> Vec<&'a str> {
    let mut names: Vec<&str> = map.keys().map(String::as_str).collect();
    names.sort_unstable();
    if let (Some(FieldKind::Struct(id)), None) = (kind, part) {
        let declared = types().fields(*id);
        // The type of an object is before its own fields.
        let before: &[&str] = if types().get(*id).is_kind { &["kind", "apiVersion"] } else { &[] };
        let order: Vec<&str> =
            before.iter().copied().chain(declared.iter().map(|field| field.name)).collect();
        names.sort_by_key(|name| order.iter().position(|field| field == name));
    }
    names
}

fn member<'k>(kind: Option<&'k FieldKind>, name: &str) -> Option<&'k FieldKind> {
    match kind? {
        FieldKind::Struct(id) => types().field(*id, name).map(|field| &field.kind),
        FieldKind::Map(inside) => Some(inside),
        FieldKind::List(_) | FieldKind::Scalar(_) => None,
    }
}

fn element(kind: Option<&FieldKind>) -> Option<&FieldKind> {
    match kind? {
        FieldKind::List(inside) => Some(inside),
        _ => None,
    }
}

impl Part {
    /// The effect of a merge patch on a value.
    fn of_merge(patch: &Value, old: &Value) -> Self {
        let (Value::Object(patch), Value::Object(old)) = (patch, old) else { return Self::Given };
        let members = patch.iter().filter(|(_, value)| !value.is_null());
        let inner =
            |name: &str, value: &Value| old.get(name).map_or(Self::Given, |old| Self::of_merge(value, old));
        Self::Opened(members.map(|(name, value)| (name.clone(), inner(name, value))).collect())
    }

    /// The effect of the operations of a JSON patch on an object.
    fn of_operations(patch: &Value) -> Self {
        let mut root = Self::Opened(BTreeMap::new());
        for operation in patch.as_array().into_iter().flatten() {
            let gives = matches!(operation["op"].as_str(), Some("add" | "replace"));
            for member in ["from", "path"] {
                let tokens = operation[member].as_str().unwrap_or_default().split('/').skip(1);
                let tokens: Vec<String> =
                    tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
                root.open(&tokens, gives && member == "path");
            }
        }
        root
    }

    /// Opens the values on the way to the place of an operation.
    fn open(&mut self, path: &[String], gives: bool) {
        let Self::Opened(inner) = self else { return };
        match path {
            [] => {}
            [last] => {
                if gives {
                    inner.insert(last.clone(), Self::Given);
                }
            }
            [first, rest @ ..] => {
                let inside = inner.entry(first.clone()).or_insert_with(|| Self::Opened(BTreeMap::new()));
                inside.open(rest, gives);
            }
        }
    }

    fn inner(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Opened(inner) => inner.get(name),
            Self::Given => Some(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::builtin;

    #[test]
    fn maps_that_a_patch_opens_are_sorted_and_others_have_the_order_of_go() {
        let kinds = builtin::all(|| 0);
        let kind = kinds.iter().find(|kind| kind.resource.plural == "configmaps").unwrap();
        let old = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "<" },
            "metadata": { "labels": { "b": "1" }, "name": "n", "ownerReferences": [{ "kind": "k", "apiVersion": "v" }] } });
        let untouched =
            r#""metadata":{"name":"n","labels":{"b":"1"},"ownerReferences":[{"apiVersion":"v","kind":"k"}]}"#;
        let data = r#""data":{"a":"\u003c"}"#;
        let patch = json!({ "immutable": true });
        assert_eq!(
            printed(PatchType::Merge, &patch, &old, &old, kind),
            format!(r#"{{"apiVersion":"v1",{data},"kind":"ConfigMap",{untouched}}}"#)
        );
        let opened =
            r#""metadata":{"labels":{"b":"1"},"name":"n","ownerReferences":[{"apiVersion":"v","kind":"k"}]}"#;
        let merge = json!({ "metadata": { "labels": { "c": "2" } } });
        let operations = json!([{ "op": "test", "path": "/metadata/name", "value": "n" }]);
        for (patch_type, patch) in [(PatchType::Merge, merge), (PatchType::Json, operations)] {
            assert_eq!(
                printed(patch_type, &patch, &old, &old, kind),
                format!(r#"{{"apiVersion":"v1",{data},"kind":"ConfigMap",{opened}}}"#)
            );
        }
    }
}

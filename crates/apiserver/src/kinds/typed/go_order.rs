//! Objects as Go's JSON encoder writes them: `kind` and `apiVersion`, then the fields of a struct in the order of its
//! declaration. The keys of maps are sorted, and so are all keys of custom resources, which are maps in a real server.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};

use super::plan::{Plan, Shape, plan};
use crate::discovery::is_builtin_group;
use crate::facts::Scalar;

/// The metadata field with the owners of fields.
const OWNERS: &str = "managedFields";
/// The group of the types that documents about the API have.
const DOCUMENTS: &str = "documents";

/// A value of the API, to be serialized in the order of Go.
#[derive(Clone, Copy)]
pub(crate) struct GoOrder<'a> {
    value: &'a Value,
    form: Form,
    owners: Owners<'a>,
    /// Whether `kind` and `apiVersion` are left out.
    untyped: bool,
}

/// The type of a value.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// A struct of the plan.
    Struct(usize),
    List(&'static Shape),
    Map(&'static Shape),
    /// An object of any kind.
    Any,
    /// A value whose keys are sorted.
    Sorted,
}

/// The owners of fields that a tree lacks.
#[derive(Debug, Clone, Copy)]
enum Owners<'a> {
    None,
    /// They belong to the metadata of the value.
    OfMetadata(&'a Value),
    /// They belong to the value itself, which is metadata.
    Own(&'a Value),
}

impl Form {
    fn of_shape(shape: &'static Shape) -> Self {
        match shape {
            Shape::Struct(index) => Self::Struct(*index),
            Shape::List(inside) => Self::List(inside),
            Shape::Map(inside) => Self::Map(inside),
            Shape::Scalar(Scalar::Object) => Self::Any,
            Shape::Scalar(_) | Shape::Named(_) => Self::Sorted,
        }
    }

    /// The form of an object, by its group, version and kind.
    fn of_object(object: &Value) -> Self {
        let Some(kind) = object["kind"].as_str() else { return Self::Sorted };
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let document =
            || plan().of_kind("meta", "v1", kind).or_else(|| plan().of_kind(DOCUMENTS, "v1", kind));
        let known = if group.is_empty() {
            plan().of_kind(group, version, kind).or_else(document)
        } else if matches!(group, "meta.k8s.io" | "apidiscovery.k8s.io") {
            document()
        } else if is_builtin_group(group) {
            plan().of_kind(group, version, kind)
        } else {
            None
        };
        known.map_or(Self::Sorted, Self::Struct)
    }
}

impl<'a> GoOrder<'a> {
    /// An object with `kind` and `apiVersion`.
    pub(crate) fn object(value: &'a Value) -> Self {
        Self::new(value, Form::of_object(value))
    }

    /// An object, and the owners of its fields.
    pub(crate) fn owned(object: &'a Value, owners: Option<&'a Value>) -> Self {
        Self { owners: owners.map_or(Owners::None, Owners::OfMetadata), ..Self::object(object) }
    }

    /// The metadata of an object of a struct, and the owners of the object's fields.
    pub(crate) fn metadata(metadata: &'a Value, owners: Option<&'a Value>) -> Self {
        let owners = owners.map_or(Owners::None, Owners::Own);
        Self { owners, ..Self::named("meta", "ObjectMeta", metadata) }
    }

    /// A value of a type of `meta.k8s.io`.
    pub(crate) fn meta(name: &str, value: &'a Value) -> Self {
        Self::named("meta", name, value)
    }

    /// A value of a type of the documents about the API.
    pub(crate) fn document(name: &str, value: &'a Value) -> Self {
        Self::named(DOCUMENTS, name, value)
    }

    /// The object without `kind` and `apiVersion`, as built-in kinds are in lists.
    pub(crate) fn without_type(self) -> Self {
        Self { untyped: true, ..self }
    }

    fn named(group: &str, name: &str, value: &'a Value) -> Self {
        Self::new(value, plan().of_kind(group, "v1", name).map_or(Form::Sorted, Form::Struct))
    }

    fn new(value: &'a Value, form: Form) -> Self {
        Self { value, form, owners: Owners::None, untyped: false }
    }

    /// The entries of a map or struct, in order.
    fn entries(&self, map: &'a Map<String, Value>) -> Vec<((usize, &'a str), Self)> {
        let is_shown = |name: &str| !(self.untyped && matches!(name, "kind" | "apiVersion"));
        let shown = map.iter().filter(|(name, _)| is_shown(name));
        let mut entries: Vec<_> = shown.map(|(name, value)| self.entry(plan(), name, value)).collect();
        if let Owners::Own(owners) = self.owners {
            entries.push(self.entry(plan(), OWNERS, owners));
        }
        entries.sort_unstable_by_key(|(rank, _)| *rank);
        entries
    }

    /// An entry, and its rank among the others.
    fn entry(&self, plan: &'static Plan, name: &'a str, value: &'a Value) -> ((usize, &'a str), Self) {
        let (rank, form) = match self.form {
            Form::Struct(index) => match (plan.get(index).field(name), name) {
                (Some(field), _) => (2 + field.place, Form::of_shape(&field.shape)),
                (None, "kind") => (0, Form::Sorted),
                (None, "apiVersion") => (1, Form::Sorted),
                (None, _) => (usize::MAX, Form::Sorted),
            },
            Form::Map(inside) => (0, Form::of_shape(inside)),
            Form::List(_) | Form::Any | Form::Sorted => (0, Form::Sorted),
        };
        let owners = match self.owners {
            Owners::OfMetadata(owners) if name == "metadata" => Owners::Own(owners),
            _ => Owners::None,
        };
        ((rank, name), Self { value, form, owners, untyped: false })
    }
}

impl Serialize for GoOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.form, self.value) {
            (Form::Any, value) => Self::object(value).serialize(serializer),
            (Form::Sorted, value) if matches!(self.owners, Owners::None) && !self.untyped => {
                value.serialize(serializer)
            }
            (Form::List(inside), Value::Array(items)) => {
                serializer.collect_seq(items.iter().map(|item| GoOrder::new(item, Form::of_shape(inside))))
            }
            (_, Value::Object(map)) => {
                let entries = self.entries(map);
                let mut out = serializer.serialize_map(Some(entries.len()))?;
                for ((_, name), value) in entries {
                    out.serialize_entry(name, &value)?;
                }
                out.end()
            }
            (_, value) => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        serde_json::to_string(&GoOrder::object(value)).unwrap()
    }

    #[test]
    fn structs_have_the_order_of_go_and_maps_are_sorted() {
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "labels": { "b": "2", "a": "1" }, "uid": "u", "name": "n", "creationTimestamp": null },
            "spec": { "clusterIP": "10.0.0.1", "ports": [{ "port": 80, "name": "http", "protocol": "TCP" }] },
            "status": { "loadBalancer": {} },
        });
        let expected = concat!(
            r#"{"kind":"Service","apiVersion":"v1","metadata":{"name":"n","uid":"u","creationTimestamp":null,"#,
            r#""labels":{"a":"1","b":"2"}},"spec":{"ports":[{"name":"http","protocol":"TCP","port":80}],"#,
            r#""clusterIP":"10.0.0.1"},"status":{"loadBalancer":{}}}"#,
        );
        assert_eq!(text(&service), expected);
    }

    #[test]
    fn objects_of_tables_have_the_order_of_their_own_kind() {
        let object =
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": "d", "name": "n" } });
        let table = json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": [{ "object": object, "cells": ["n"] }],
        });
        let expected = concat!(
            r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["n"],"object":"#,
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"n","namespace":"d"}}}]}"#,
        );
        assert_eq!(text(&table), expected);
    }

    #[test]
    fn custom_resources_are_sorted_and_have_their_owners() {
        for group in ["example.com", "apps.example.com"] {
            let api_version = format!("{group}/v1");
            let object =
                json!({ "kind": "Deployment", "apiVersion": api_version, "metadata": { "name": "n" } });
            let owners = json!([{ "manager": "m" }]);
            let owned = GoOrder::owned(&object, Some(&owners));
            let mut whole = object.clone();
            whole["metadata"]["managedFields"] = owners.clone();
            assert_eq!(serde_json::to_string(&owned).unwrap(), whole.to_string());
        }
    }

    #[test]
    fn status_begins_with_its_kind_and_ends_with_its_code() {
        let status = json!({ "code": 404, "reason": "NotFound", "apiVersion": "v1", "kind": "Status", "status": "Failure" });
        let expected =
            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#;
        assert_eq!(text(&status), expected);
    }
}

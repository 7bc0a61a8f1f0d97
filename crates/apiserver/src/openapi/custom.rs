//! Schemas of custom resources, from their definitions.

use serde_json::{Map, Value, json};

use super::{Form, descriptions, names};
use crate::kinds::Kind;

/// The schemas of a kind and of its list.
pub(super) fn schemas(kind: &Kind, raw: Option<Value>, form: Form) -> [(String, Value); 2] {
    let resource = &kind.resource;
    let meta = |name: &str| form.property(&format!("{}.{name}", names::META));
    let own = |kind: &str| json!([{ "group": resource.group, "version": resource.version, "kind": kind }]);
    let raw = raw.filter(Value::is_object);
    let is_open = raw.as_ref().is_none_or(|raw| raw["x-kubernetes-preserve-unknown-fields"] == true);
    // kubectl takes the properties of a schema of OpenAPI v2 for all that there are (`buildKubeNative`).
    let is_opaque = raw.is_none() || form == Form::V2 && is_open;
    let mut schema = raw.filter(|_| !is_opaque).unwrap_or_else(|| json!({ "type": "object" }));
    if form == Form::V2 {
        simplify(&mut schema);
    }
    if !is_opaque {
        let described = |mut schema: Value, field: &str| {
            let text = descriptions::of_every_kind(&resource.kind, field).unwrap_or_default();
            schema["description"] = json!(text);
            schema
        };
        for field in ["apiVersion", "kind"] {
            schema["properties"][field] = described(json!({ "type": "string" }), field);
        }
        schema["properties"]["metadata"] = described(meta("ObjectMeta"), "metadata");
    }
    schema["x-kubernetes-group-version-kind"] = own(&resource.kind);
    let name = names::of_kind(kind, &resource.kind);
    let list = json!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "metadata": meta("ListMeta"),
            "items": { "type": "array", "items": form.property(&name) },
        },
        "x-kubernetes-group-version-kind": own(&kind.list_kind),
    });
    [(name, schema), (names::of_kind(kind, &kind.list_kind), list)]
}

/// Removes keywords that OpenAPI v2 lacks (`ToStructuralOpenAPIV2`). The schema accepts more afterwards,
/// never less.
fn simplify(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    for word in ["anyOf", "oneOf", "allOf", "not", "x-kubernetes-validations"] {
        map.remove(word);
    }
    let flag = |map: &Map<String, Value>, name: &str| map.get(name) == Some(&Value::Bool(true));
    let open = flag(map, "x-kubernetes-preserve-unknown-fields");
    let nullable = flag(map, "nullable");
    map.remove("nullable");
    if open || nullable || flag(map, "x-kubernetes-int-or-string") {
        for word in
            ["type", "items", "properties", "additionalProperties", "required", "enum", "pattern", "format"]
        {
            map.remove(word);
        }
    }
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(simplify);
    }
    for word in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(word) {
            simplify(inner);
        }
    }
}

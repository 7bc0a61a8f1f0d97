//! Schemas of custom resources, from their definitions (`apiextensions-apiserver/pkg/controller/openapi`).

use serde_json::{Map, Value, json};

use super::{Form, descriptions, names};
use crate::kinds::Kind;
use crate::profile::since;

/// The definition of a version, and the server that describes it.
pub(super) struct Source {
    /// The entry of the version in `spec.versions`.
    pub(super) version: Value,
    /// The x of Kubernetes 1.x.
    pub(super) minor: u32,
}

const OPEN: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
/// Keywords that are left out if they are false.
const FLAGS: [&str; 4] = [OPEN, EMBEDDED, INT_OR_STRING, "nullable"];
/// Keywords that combine schemas. OpenAPI v2 lacks them.
const JUNCTORS: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];

/// The schemas of a kind and of its list.
pub(super) fn schemas(kind: &Kind, source: &Source, form: Form) -> [(String, Value); 2] {
    let resource = &kind.resource;
    let own = |kind: &str| json!([{ "group": resource.group, "version": resource.version, "kind": kind }]);
    let raw = Some(&source.version["schema"]["openAPIV3Schema"]).filter(|raw| raw.is_object());
    let is_open = raw.is_some_and(|raw| is_set(raw, OPEN));
    let mut schema = match raw {
        // kubectl takes the properties of a schema of OpenAPI v2 for all that there are (`buildKubeNative`).
        Some(raw) if form == Form::V3 || !is_open => {
            let mut schema = raw.clone();
            convert(&mut schema, form);
            for (field, property) in type_properties(&resource.kind, "ObjectMeta", form) {
                schema["properties"][field] = property;
            }
            schema
        }
        _ => json!({ "type": "object" }),
    };
    schema["x-kubernetes-group-version-kind"] = own(&resource.kind);
    let name = names::of_kind(kind, &resource.kind);
    let mut list = json!({
        "type": "object",
        "required": ["items"],
        "description": format!("{} is a list of {}", kind.list_kind, resource.kind),
        "properties": { "items": { "type": "array", "items": form.reference(&name) } },
        "x-kubernetes-group-version-kind": own(&kind.list_kind),
    });
    for (field, property) in type_properties(&kind.list_kind, "ListMeta", form) {
        list["properties"][field] = property;
    }
    for schema in [&mut schema, &mut list] {
        add_selectable_fields(schema, source);
    }
    [(name, schema), (names::of_kind(kind, &kind.list_kind), list)]
}

/// The properties that objects of all kinds have.
fn type_properties(kind: &str, metadata: &str, form: Form) -> [(&'static str, Value); 3] {
    let described = |mut schema: Value, field: &'static str| {
        schema["description"] = json!(descriptions::of_every_kind(kind, field).unwrap_or_default());
        (field, schema)
    };
    [
        described(json!({ "type": "string" }), "apiVersion"),
        described(json!({ "type": "string" }), "kind"),
        described(form.property(&format!("{}.{metadata}", names::META)), "metadata"),
    ]
}

/// Adds the fields by which the objects can be selected.
fn add_selectable_fields(schema: &mut Value, source: &Source) {
    let fields = source.version["selectableFields"].as_array().into_iter().flatten();
    let path = |field: &Value| {
        let path = field["jsonPath"].as_str().unwrap_or_default();
        json!({ "fieldPath": path.strip_prefix('.').unwrap_or(path) })
    };
    let fields: Vec<Value> = fields.map(path).collect();
    if source.minor >= since::SELECTABLE_FIELDS && !fields.is_empty() {
        schema["x-kubernetes-selectable-fields"] = json!(fields);
    }
}

fn is_set(schema: &Value, flag: &str) -> bool {
    schema[flag] == true
}

/// Changes a schema of a definition, from the outside to the inside, to that of a document.
fn convert(schema: &mut Value, form: Form) {
    expand(schema);
    if form == Form::V2 {
        simplify(schema);
    }
    let Some(map) = schema.as_object_mut() else { return };
    for word in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(word) {
            convert(inner, form);
        }
    }
    if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|inner| convert(inner, form));
    }
    if is_set(schema, EMBEDDED) && !(form == Form::V2 && is_set(schema, OPEN)) {
        add_embedded(schema, form);
    }
}

/// Writes out the two types of `x-kubernetes-int-or-string` (`Structural.Unfold`), and removes keywords that say nothing.
fn expand(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.retain(|word, value| !(FLAGS.contains(&word.as_str()) && *value == false));
    map.retain(|word, value| !matches!(word.as_str(), "properties" | "required") || !is_empty(value));
    if map.get(INT_OR_STRING) != Some(&Value::Bool(true)) {
        return;
    }
    let types = json!([{ "type": "integer" }, { "type": "string" }]);
    let first = map.get("allOf").and_then(|all| all.get(0));
    if first.is_some_and(|first| first["anyOf"] == types) {
        return;
    }
    match map.get("anyOf") {
        None => {
            map.insert("anyOf".to_owned(), types);
        }
        Some(own) if *own != types => {
            let all = map.entry("allOf").or_insert_with(|| json!([]));
            if let Some(all) = all.as_array_mut() {
                all.insert(0, json!({ "anyOf": types }));
            }
        }
        Some(_) => {}
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// Removes keywords that OpenAPI v2 lacks (`ToStructuralOpenAPIV2`). The schema accepts more afterwards,
/// never less.
fn simplify(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.retain(|word, _| !JUNCTORS.contains(&word.as_str()) && word != "default");
    let flag = |map: &Map<String, Value>, name: &str| map.get(name) == Some(&Value::Bool(true));
    let is_open = flag(map, OPEN);
    let mut dropped: Vec<&str> = Vec::new();
    if flag(map, "nullable") {
        dropped.extend(["type", "nullable", "items", "properties"]);
    }
    if is_open {
        dropped.extend(["items", "properties"]);
    }
    map.retain(|word, _| !dropped.contains(&word.as_str()));
    let is_untyped = match map.get("type").and_then(Value::as_str) {
        Some("array") => !map.contains_key("items"),
        Some("object") => is_open,
        _ => false,
    };
    if is_untyped {
        map.remove("type");
    }
    drop_nullable_requirements(map);
}

/// Removes requirements of values that may be null, which have no type in OpenAPI v2.
fn drop_nullable_requirements(map: &mut Map<String, Value>) {
    let properties = map.get("properties").cloned().unwrap_or_default();
    let are_values_nullable = map.get("additionalProperties").is_some_and(|inner| is_set(inner, "nullable"));
    if let Some(required) = map.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| {
            !are_values_nullable && !is_set(&properties[name.as_str().unwrap_or_default()], "nullable")
        });
        if required.is_empty() {
            map.remove("required");
        }
    }
}

/// Adds the type and the metadata of an object inside an object (`addEmbeddedProperties`).
fn add_embedded(schema: &mut Value, form: Form) {
    for (field, property) in type_properties("object", "ObjectMeta", form) {
        schema["properties"][field] = property;
    }
    let mut required = schema["required"].as_array().cloned().unwrap_or_default();
    for field in ["kind", "apiVersion"] {
        if !required.iter().any(|known| known == field) {
            required.push(json!(field));
        }
    }
    schema["required"] = json!(required);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(mut schema: Value, form: Form) -> Value {
        convert(&mut schema, form);
        schema
    }

    #[test]
    fn v2_has_no_types_that_kubectl_would_misread() {
        let cases = [
            (json!({ "type": "string", "nullable": true, "maxLength": 5 }), json!({ "maxLength": 5 })),
            (json!({ "type": "object", OPEN: true, "properties": { "a": {} } }), json!({ OPEN: true })),
            (json!({ "type": "array", OPEN: true, "items": {} }), json!({ OPEN: true })),
            (json!({ "type": "integer", "default": 1, "not": {} }), json!({ "type": "integer" })),
            (
                json!({ "type": "object", "required": ["p"], "properties": { "p": { "nullable": true } } }),
                json!({ "type": "object", "properties": { "p": {} } }),
            ),
            (
                json!({ "type": "object", "required": ["x"], "additionalProperties": { "nullable": true } }),
                json!({ "type": "object", "additionalProperties": {} }),
            ),
        ];
        for (schema, expected) in cases {
            assert_eq!(converted(schema, Form::V2), expected);
        }
    }

    #[test]
    fn v3_writes_out_the_types_of_int_or_string() {
        let types = json!([{ "type": "integer" }, { "type": "string" }]);
        let plain = converted(json!({ INT_OR_STRING: true }), Form::V3);
        assert_eq!(plain, json!({ INT_OR_STRING: true, "anyOf": types }));
        assert_eq!(converted(plain.clone(), Form::V3), plain);
        let other = converted(json!({ INT_OR_STRING: true, "anyOf": [{ "minimum": 1 }] }), Form::V3);
        assert_eq!(other["allOf"], json!([{ "anyOf": types }]));
        assert_eq!(converted(plain, Form::V2), json!({ INT_OR_STRING: true }));
    }

    #[test]
    fn embedded_resources_have_a_type() {
        let schema = json!({ "type": "object", EMBEDDED: true, "required": ["kind"] });
        assert_eq!(converted(schema, Form::V3)["required"], json!(["kind", "apiVersion"]));
        let open = json!({ EMBEDDED: true, OPEN: true });
        assert_eq!(converted(open.clone(), Form::V2), open);
    }
}

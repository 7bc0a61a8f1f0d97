//! Tests of the error messages about schemas.

use serde_json::{Value, json};

use super::*;

fn problems(schema: &Value) -> Vec<String> {
    let profile = Profile::of(36, false);
    check(schema, "s", false, &profile).errors.iter().map(|error| error.text(&profile)).collect()
}

/// Checks the messages about a property `p` of an object; expected paths are relative to the property.
fn check_property(property: &Value, expected: &[&str]) {
    let schema = json!({ "type": "object", "properties": { "p": property } });
    let found = problems(&schema);
    let found: Vec<&str> =
        found.iter().map(|text| text.strip_prefix("s.properties[p].").unwrap_or(text)).collect();
    assert_eq!(found, expected, "{property}");
}

#[test]
fn a_node_needs_a_type_unless_it_accepts_anything() {
    check_property(&json!({}), &["type: Required value: must not be empty for specified object fields"]);
    check_property(&json!({ "x-kubernetes-int-or-string": true }), &[]);
    check_property(&json!({ "x-kubernetes-preserve-unknown-fields": true }), &[]);
    check_property(
        &json!({ "type": "array", "items": {} }),
        &["items.type: Required value: must not be empty for specified array items"],
    );
    check_property(
        &json!({ "type": "text" }),
        &[
            r#"type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ],
    );
}

#[test]
fn branches_may_only_restrict_values() {
    check_property(
        &json!({ "type": "object", "oneOf": [{ "required": ["a"] }, { "properties": { "a": { "type": "string" } } }] }),
        &[
            "oneOf[1].properties[a].type: Forbidden: must be empty to be structural",
            "properties[a]: Required value: because it is defined in s.properties[p].oneOf[1].properties[a]",
        ],
    );
    check_property(
        &json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        &[],
    );
    check_property(
        &json!({ "x-kubernetes-int-or-string": true, "allOf": [
            { "anyOf": [{ "type": "integer" }, { "type": "string" }] }, { "anyOf": [{ "minimum": 1 }, { "pattern": "%$" }] }] }),
        &[],
    );
    check_property(
        &json!({ "type": "string", "not": { "nullable": true, "x-kubernetes-validations": [{ "rule": "true" }] } }),
        &[
            "not.nullable: Forbidden: must be false to be structural",
            "not.x-kubernetes-validations: Forbidden: must be empty to be structural",
        ],
    );
}

#[test]
fn metadata_of_whole_objects_may_only_restrict_names() {
    let names = json!({ "type": "object", "properties": { "metadata": { "type": "object", "properties": {
        "name": { "type": "string", "maxLength": 3 } } } } });
    assert_eq!(problems(&names), Vec::<String>::new());
    let labels = json!({ "type": "object", "properties": { "metadata": { "type": "object", "properties": {
        "labels": { "type": "object" } } }, "kind": { "type": "integer" } } });
    assert_eq!(
        problems(&labels),
        [
            "s.properties[kind].type: Invalid value: \"integer\": must be string",
            "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but \
             metadata is implicitly specified",
        ]
    );
}

#[test]
fn defaults_are_valid_pruned_and_not_in_metadata() {
    check_property(
        &json!({ "type": "object", "default": { "a": 1, "b": 2 }, "properties": { "a": { "type": "string" } } }),
        &[
            r#"default: Invalid value: {"a":1,"b":2}: must not have unknown fields"#,
            r#"default.a: Invalid value: "integer": a in body must be of type string: "integer""#,
        ],
    );
    let metadata = json!({ "type": "object", "properties": { "metadata": { "type": "object", "properties": {
        "name": { "type": "string", "default": "x" } } } } });
    assert_eq!(
        problems(&metadata),
        ["s.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata"]
    );
}

#[test]
fn list_and_map_types_must_fit_the_type_and_its_elements() {
    check_property(
        &json!({ "type": "string", "x-kubernetes-list-type": "set", "x-kubernetes-map-type": "x" }),
        &[
            "type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
            r#"x-kubernetes-map-type: Unsupported value: "x": supported values: "atomic", "granular""#,
            "type: Invalid value: \"string\": must be array if x-kubernetes-list-type is specified",
        ],
    );
    check_property(
        &json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "object", "nullable": true } }),
        &[
            "items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with \
             x-kubernetes-list-type=set",
            "items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
        ],
    );
    check_property(
        &json!({ "type": "array", "x-kubernetes-list-map-keys": ["a"], "items": { "type": "string" } }),
        &["x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty"],
    );
}

#[test]
fn a_status_subresource_restricts_the_root() {
    let profile = Profile::of(36, false);
    let schema = json!({ "type": "object", "minProperties": 1 });
    let errors = check(&schema, "s", true, &profile).errors;
    let text = errors[0].text(&profile);
    assert!(
        text.starts_with(
            r#"s: Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"object""#
        ),
        "{text}"
    );
    assert!(
        text.ends_with("fields are allowed at the root of the schema if the status subresource is enabled"),
        "{text}"
    );
}

#[test]
fn rejects_unsupported_keywords_of_json_schema() {
    check_property(
        &json!({ "type": "object", "patternProperties": { "a": {} } }),
        &["patternProperties: Forbidden: patternProperties is not supported"],
    );
    check_property(
        &json!({ "type": "string", "$schema": "x" }),
        &["s: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"],
    );
}

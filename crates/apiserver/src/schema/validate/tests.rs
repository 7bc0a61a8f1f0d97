//! Tests of the messages and the order of schema errors.

use serde_json::{Value, json};

use super::*;

fn check(minor: u32, schema: &Value, old: Option<&Value>, value: &Value, texts: &[&str]) {
    let profile = Profile::of(minor, false);
    let context = Context { profile: &profile, field_prefix: "", is_default: false };
    let errors = validate(value, old.map(StoredCounterpart::from), &Structural::read(schema), context);
    let found: Vec<String> = errors.iter().map(|error| error.text(&profile)).collect();
    assert_eq!(found, texts);
}

#[test]
fn an_enum_error_lists_the_values_in_the_order_of_the_schema() {
    let schema = json!({"type": "object", "properties": {"l": {"type": "array",
        "items": {"type": "string", "enum": ["openshift-samples", "baremetal"]}}}});
    check(
        27,
        &schema,
        None,
        &json!({"l": ["baremetal", "MachineAPI"]}),
        &[r#"l[1]: Unsupported value: "MachineAPI": supported values: "openshift-samples", "baremetal""#],
    );
}

#[test]
fn errors_of_properties_are_sorted_and_precede_missing_required_ones() {
    let schema = json!({"type": "object", "required": ["z"], "properties": {
        "b": {"type": "integer", "maximum": 1}, "a": {"type": "string", "enum": ["x"]},
        "c": {"type": "array", "maxItems": 1, "items": {"type": "string"}}}});
    check(
        36,
        &schema,
        None,
        &json!({"a": 2, "b": 2, "c": ["1", "2"]}),
        &[
            r#"a: Invalid value: "integer": a in body must be of type string: "integer""#,
            r#"a: Unsupported value: 2: supported values: "x""#,
            "b: Invalid value: 2: b in body should be less than or equal to 1",
            "c: Too many: 2: must have at most 1 item",
            "z: Required value",
        ],
    );
}

#[test]
fn unchanged_parts_are_tolerated_and_changed_lists_are_validated_entirely() {
    let schema = json!({"type": "object", "properties": {
        "l": {"type": "array", "items": {"type": "string", "enum": ["a"]}}, "n": {"type": "integer"}}});
    let old = json!({"l": ["b"], "n": 1});
    check(33, &schema, Some(&old), &json!({"l": ["b"], "n": 2}), &[]);
    let text =
        |at: usize, value: &str| format!(r#"l[{at}]: Unsupported value: "{value}": supported values: "a""#);
    check(33, &schema, Some(&old), &json!({"l": ["b", "a", "c"], "n": 1}), &[&text(0, "b"), &text(2, "c")]);
}

#[test]
fn elements_of_map_lists_correlate_by_their_keys() {
    let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string", "enum": ["x"]},
        "w": {"type": "string"}}}});
    let old = json!([{"k": "1", "v": "bad"}, {"k": "2", "v": "x"}]);
    check(33, &schema, Some(&old), &json!([{"k": "2", "v": "x"}, {"k": "1", "v": "bad", "w": "new"}]), &[]);
    check(
        33,
        &schema,
        Some(&old),
        &json!([{"k": "3", "v": "bad"}]),
        &[r#"[0].v: Unsupported value: "bad": supported values: "x""#],
    );
}

#[test]
fn a_composition_reports_its_own_error_and_those_of_the_best_branch() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    check(
        36,
        &schema,
        None,
        &json!({}),
        &[
            r#"<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found none valid"#,
            "a: Required value",
        ],
    );
    check(
        36,
        &schema,
        None,
        &json!({"a": "1", "b": "2"}),
        &[
            r#"<nil>: Invalid value: "": "" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
        ],
    );
}

#[test]
fn a_wrong_number_of_properties_hides_no_errors_since_1_28() {
    let schema = json!({"type": "object", "minProperties": 3, "maxProperties": 1, "required": ["mode"],
        "properties": {"a": {"type": "string", "enum": ["x"]}, "b": {"type": "string"}}});
    let value = json!({"a": "y", "b": ""});
    let few = "<nil>: Invalid value: 2:  in body should have at least 3 properties";
    check(27, &schema, None, &value, &[few]);
    check(
        32,
        &schema,
        None,
        &value,
        &[
            few,
            "<nil>: Too many: 2: must have at most 1 items",
            r#"a: Unsupported value: "y": supported values: "x""#,
            "mode: Required value",
        ],
    );
}

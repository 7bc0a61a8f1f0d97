//! Tests of comparing, merging and removing, with a schema that has every kind of list and map.

use serde_json::{Value, json};

use super::*;
use crate::facts::types;
use crate::field_set::FieldSet;
use crate::schema::Structural;

fn schema() -> Structural {
    let element = json!({ "type": "object", "required": ["k"], "properties": {
        "k": { "type": "string" }, "p": { "type": "string", "default": "TCP" }, "v": { "type": "string" } } });
    Structural::read(&json!({ "type": "object", "properties": {
        "s": { "type": "string" },
        "n": { "type": "integer" },
        "map": { "type": "object", "additionalProperties": { "type": "string" } },
        "whole": { "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": { "type": "string" } },
        "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "list": { "type": "array", "items": { "type": "string" } },
        "set": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
        "keyed": { "type": "array", "items": element, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k", "p"] } } }))
}

fn with_shape<T>(call: impl FnOnce(Shape<'_>) -> T) -> T {
    call(Shape::Node { schema: &schema(), preserves: false, object: false })
}

#[test]
fn the_fields_of_a_value_are_its_leaves_and_the_elements_of_its_lists() {
    for (value, set) in [
        (json!({ "s": "x", "n": 1 }), json!({ "f:s": {}, "f:n": {} })),
        (json!({ "map": { "a": "1" } }), json!({ "f:map": { "f:a": {} } })),
        (json!({ "map": {}, "whole": { "a": "1" } }), json!({ "f:map": {}, "f:whole": {} })),
        (json!({ "list": ["a"], "set": ["a"] }), json!({ "f:list": {}, "f:set": { "v:\"a\"": {} } })),
        (json!({ "set": [] }), json!({})),
        (
            json!({ "keyed": [{ "k": "1", "v": "a" }] }),
            json!({ "f:keyed": { "k:{\"k\":\"1\",\"p\":\"TCP\"}": { ".": {}, "f:k": {}, "f:v": {} } } }),
        ),
        (json!({ "any": { "x": { "y": [1] } } }), json!({ "f:any": { "f:x": { ".": {}, "f:y": {} } } })),
    ] {
        assert_eq!(with_shape(|shape| fields(&value, shape)).into_value(), set, "{value}");
    }
}

#[test]
fn a_comparison_has_added_modified_and_removed_fields() {
    let check = |old: Value, new: Value, added: Value, modified: Value, removed: Value| {
        let found = with_shape(|shape| compare(&old, &new, shape));
        let sets = [found.added, found.modified, found.removed].map(FieldSet::into_value);
        assert_eq!(sets, [added, modified, removed], "{old} -> {new}");
    };
    let none = || json!({});
    check(
        json!({ "s": "x" }),
        json!({ "s": "y", "n": 1 }),
        json!({ "f:n": {} }),
        json!({ "f:s": {} }),
        none(),
    );
    check(
        json!({}),
        json!({ "map": { "a": "1" } }),
        json!({ "f:map": { ".": {}, "f:a": {} } }),
        none(),
        none(),
    );
    check(
        json!({ "map": {} }),
        json!({ "map": { "a": "1" } }),
        json!({ "f:map": { "f:a": {} } }),
        none(),
        none(),
    );
    check(json!({ "set": ["a", "b"] }), json!({ "set": ["b", "a"] }), none(), none(), none());
    check(
        json!({ "list": ["a", "b"] }),
        json!({ "list": ["b", "a"] }),
        none(),
        json!({ "f:list": {} }),
        none(),
    );
    check(
        json!({ "keyed": [{ "k": "1", "v": "a" }] }),
        json!({ "keyed": [{ "k": "1", "p": "TCP", "v": "b" }] }),
        json!({ "f:keyed": { "k:{\"k\":\"1\",\"p\":\"TCP\"}": { "f:p": {} } } }),
        json!({ "f:keyed": { "k:{\"k\":\"1\",\"p\":\"TCP\"}": { "f:v": {} } } }),
        none(),
    );
    check(
        json!({ "any": { "x": { "y": 1 } } }),
        json!({ "any": { "x": 2 } }),
        none(),
        json!({ "f:any": { "f:x": {} } }),
        json!({ "f:any": { "f:x": { "f:y": {} } } }),
    );
    check(
        json!({ "set": ["a", "a"] }),
        json!({ "set": ["a"] }),
        json!({ "f:set": { "v:\"a\"": {} } }),
        none(),
        json!({ "f:set": { "v:\"a\"": {} } }),
    );
}

#[test]
fn merging_keeps_live_fields_and_the_order_of_the_configuration() {
    let keyed = |keys: &[&str]| -> Value { keys.iter().map(|key| json!({ "k": key })).collect() };
    for (live, config, merged) in [
        (json!({ "s": "x", "n": 1 }), json!({ "s": "y" }), json!({ "s": "y", "n": 1 })),
        (
            json!({ "map": { "a": "1" } }),
            json!({ "map": { "b": "2" } }),
            json!({ "map": { "a": "1", "b": "2" } }),
        ),
        (
            json!({ "whole": { "a": "1" } }),
            json!({ "whole": { "b": "2" } }),
            json!({ "whole": { "b": "2" } }),
        ),
        (json!({ "set": ["a"] }), json!({ "set": ["b"] }), json!({ "set": ["a", "b"] })),
        (json!({ "set": ["a", "b", "c"] }), json!({ "set": ["c", "a"] }), json!({ "set": ["b", "c", "a"] })),
        (json!({ "list": ["a"] }), json!({ "list": [] }), json!({ "list": [] })),
        (
            json!({ "keyed": keyed(&["a", "b", "c"]) }),
            json!({ "keyed": keyed(&["n", "c", "m"]) }),
            json!({ "keyed": keyed(&["a", "b", "n", "c", "m"]) }),
        ),
        (
            json!({ "keyed": [{ "k": "1", "v": "a" }] }),
            json!({ "keyed": [{ "k": "1", "p": "TCP" }] }),
            json!({ "keyed": [{ "k": "1", "p": "TCP", "v": "a" }] }),
        ),
    ] {
        assert_eq!(with_shape(|shape| merge(&live, &config, shape)).unwrap(), merged, "{live} + {config}");
    }
}

#[test]
fn removing_the_last_member_leaves_null() {
    let value = json!({ "s": "x", "set": ["a", "b"], "keyed": [{ "k": "1", "v": "a" }, { "k": "2" }] });
    for (gone, rest) in [
        (json!({ "f:s": {} }), json!({ "set": value["set"], "keyed": value["keyed"] })),
        (json!({ "f:set": { "v:\"a\"": {} } }), json!({ "s": "x", "set": ["b"], "keyed": value["keyed"] })),
        (
            json!({ "f:keyed": { "k:{\"k\":\"1\",\"p\":\"TCP\"}": { "f:v": {} }, "k:{\"k\":\"2\",\"p\":\"TCP\"}": {} } }),
            json!({ "s": "x", "set": ["a", "b"], "keyed": [{ "k": "1" }] }),
        ),
        (
            json!({ "f:set": { "v:\"a\"": {}, "v:\"b\"": {} } }),
            json!({ "s": "x", "set": null, "keyed": value["keyed"] }),
        ),
    ] {
        let gone = FieldSet::read(gone).unwrap();
        assert_eq!(with_shape(|shape| remove(&value, &gone, shape)), rest);
    }
}

#[test]
fn validation_errors_have_the_messages_of_the_library() {
    for (value, why) in [
        (json!({ "n": "x" }), ".n: expected numeric (int or float), got string"),
        (json!({ "s": 1 }), ".s: expected string, got &value.valueUnstructured{Value:1}"),
        (json!({ "map": [] }), ".map: expected map, got &{[]}"),
        (json!({ "list": "x" }), ".list: expected list, got &{x}"),
        (json!({ "extra": 1 }), ".extra: field not declared in schema"),
        (json!({ "set": ["a", "a"] }), ".set: duplicate entries for key [=\"a\"]"),
        (
            json!({ "set": [{}] }),
            ".set: element 0: associative list without keys has an element that's a map type",
        ),
        (
            json!({ "keyed": ["x"] }),
            ".keyed: element 0: associative list with keys may not have non-map elements",
        ),
        (
            json!({ "keyed": [{ "k": "a", "v": 1 }], "n": "x" }),
            "errors:\n  .keyed[k=\"a\",p=\"TCP\"].v: expected string, got &value.valueUnstructured{Value:1}\n  .n: \
             expected numeric (int or float), got string",
        ),
    ] {
        let errors = with_shape(|shape| validate(&value, shape, false)).unwrap_err();
        assert_eq!(ValidationError::text(&errors), why, "{value}");
    }
    assert!(with_shape(|shape| validate(&json!({ "set": ["a", "a"] }), shape, true)).is_ok());
}

#[test]
fn elements_may_omit_keys_but_not_all_of_them() {
    let keyed = |element: Value| {
        let errors = with_shape(|shape| validate(&json!({ "keyed": [element] }), shape, false));
        errors.map_err(|errors| ValidationError::text(&errors))
    };
    assert_eq!(keyed(json!({ "v": "x" })), Ok(()), "the key p has a default");
    let deployment = types().find("apps", "v1", "Deployment").unwrap();
    let shape = Shape::Struct { id: deployment, atomic: false };
    let condition = json!({ "status": { "conditions": [{ "status": "True" }] } });
    assert!(validate(&condition, shape, false).is_ok(), "Go always writes the type");
    let fields = fields(&condition, shape).into_value();
    assert!(fields["f:status"]["f:conditions"].get("k:{\"type\":\"\"}").is_some(), "{fields}");
}

#[test]
fn fields_within_a_value_that_became_atomic_become_the_whole() {
    let mut owned = FieldSet::read(
        json!({ "f:whole": { "f:a": {} }, "f:list": { "v:\"x\"": {} }, "f:map": { "f:a": {} } }),
    )
    .unwrap();
    with_shape(|shape| reconcile(&mut owned, shape));
    assert_eq!(owned.into_value(), json!({ "f:whole": {}, "f:list": {}, "f:map": { "f:a": {} } }));
}

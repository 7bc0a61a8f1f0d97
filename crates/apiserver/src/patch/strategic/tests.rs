//! Tests of strategic merge patches of built-in kinds.

use serde_json::json;

use super::*;
use crate::kinds::builtin;

fn patched(plural: &str, old: &Value, patch: &Value) -> Result<Value, String> {
    let kinds = builtin::all(|| 0);
    let kind = kinds.iter().find(|kind| kind.resource.plural == plural).unwrap();
    apply(patch.as_object().unwrap().clone(), old, kind).map_err(|rejection| rejection.message.clone())
}

/// A pod spec with these containers.
fn pod(containers: &Value) -> Value {
    json!({ "spec": { "containers": containers } })
}

#[test]
fn patch_merges_keyed_lists_by_element_and_puts_new_elements_first() {
    let old =
        pod(&json!([{ "name": "a", "image": "1", "env": [{ "name": "E", "value": "1" }] }, { "name": "b" }]));
    let merged = |patch: Value| patched("pods", &old, &pod(&patch)).unwrap()["spec"]["containers"].clone();
    assert_eq!(
        merged(json!([{ "name": "a", "env": [{ "name": "F", "value": "2" }] }]))[0]["env"],
        json!([{ "name": "F", "value": "2" }, { "name": "E", "value": "1" }])
    );
    assert_eq!(merged(json!([{ "name": "a", "$patch": "delete" }])), json!([{ "name": "b" }]));
    assert_eq!(merged(json!([{ "$patch": "replace" }, { "name": "c" }])), json!([{ "name": "c" }]));
    assert_eq!(merged(json!([{ "name": "c" }]))[0], json!({ "name": "c" }));
}

#[test]
fn set_element_order_orders_the_merged_list() {
    let old = pod(&json!([{ "name": "a" }, { "name": "b" }, { "name": "c" }]));
    let order = json!([{ "name": "c" }, { "name": "a" }]);
    let patch = json!({ "spec": { "$setElementOrder/containers": order } });
    let names = |object: &Value| -> Vec<Value> {
        object["spec"]["containers"].as_array().unwrap().iter().map(|item| item["name"].clone()).collect()
    };
    // An element that the patch does not name stays before the elements that it preceded.
    assert_eq!(names(&patched("pods", &old, &patch).unwrap()), ["b", "c", "a"]);
    let patch = json!({ "spec": {
        "$setElementOrder/containers": [{ "name": "d" }, { "name": "a" }], "containers": [{ "name": "d" }] } });
    assert_eq!(names(&patched("pods", &old, &patch).unwrap()), ["d", "a", "b", "c"]);
}

#[test]
fn patch_adds_and_removes_elements_of_scalar_sets() {
    let old = json!({ "metadata": { "finalizers": ["x/a", "x/b"] } });
    for (patch, finalizers) in [
        (json!({ "finalizers": ["x/c"] }), json!(["x/c", "x/a", "x/b"])),
        (json!({ "$deleteFromPrimitiveList/finalizers": ["x/a"] }), json!(["x/b"])),
        (json!({ "finalizers": ["x/b", "x/b"] }), json!(["x/a", "x/b"])),
    ] {
        let patched = patched("configmaps", &old, &json!({ "metadata": patch })).unwrap();
        assert_eq!(patched["metadata"]["finalizers"], finalizers, "{patch}");
    }
}

#[test]
fn directives_replace_empty_and_prune_maps() {
    let old = json!({ "data": { "a": "1", "b": "2" } });
    for (patch, data) in [
        (json!({ "$patch": "replace", "c": "3" }), json!({ "c": "3" })),
        (json!({ "$patch": "delete" }), json!({})),
        (json!({ "$retainKeys": ["a", "c"], "c": "3" }), json!({ "a": "1", "c": "3" })),
        (json!({ "a": null, "n": null }), json!({ "b": "2" })),
    ] {
        assert_eq!(patched("configmaps", &old, &json!({ "data": patch })).unwrap()["data"], data, "{patch}");
    }
}

#[test]
fn a_patch_cannot_merge_into_a_value_without_a_schema() {
    let old = json!({ "data": { "a": { "b": 1 }, "c": 2 } });
    let patch = |patch: Value| patched("controllerrevisions", &old, &json!({ "data": patch }));
    let merged = patch(json!({ "c": 3 })).unwrap();
    assert_eq!(merged["data"], json!({ "a": { "b": 1 }, "c": 3 }));
    assert_eq!(
        patch(json!({ "a": { "b": 2 } })).unwrap_err(),
        "unable to find api field in struct RawExtension for the json field \"a\""
    );
}

#[test]
fn apply_rejects_invalid_patches_with_the_messages_of_go() {
    let old = pod(&json!([{ "name": "a" }]));
    for (patch, why) in [
        (pod(&json!([{ "image": "i" }])), "map: map[image:i] does not contain declared merge key: name"),
        (
            pod(&json!([{ "name": "a", "$patch": "frob" }])),
            "unknown patch type: frob in map: map[$patch:frob name:a]",
        ),
        (
            pod(&json!([{ "name": "a", "$patch": "merge" }])),
            "merging lists cannot yet be specified in the patch",
        ),
        (pod(&json!(["a"])), "list element types are not identical: [[map[name:a]] [a]]"),
        (json!({ "spec": { "$retainKeys": ["x"], "containers": [] } }), "invalid patch format of retainKeys"),
        (json!({ "$setElementOrder/spec": "x" }), "expected a []interface {}, but received a string"),
    ] {
        assert_eq!(patched("pods", &old, &patch).unwrap_err(), why, "{patch}");
    }
}

#[test]
fn directives_below_an_absent_part_leave_nothing() {
    let old = pod(&json!([{ "name": "a", "command": ["x", "y"] }]));
    let merged = |patch: Value| patched("pods", &old, &json!({ "spec": patch })).unwrap()["spec"].clone();
    let containers = |change: Value| merged(json!({ "containers": [change] }))["containers"][0].clone();
    assert_eq!(
        merged(json!({ "nodeSelector": { "$patch": "replace", "a": "b" } })).get("nodeSelector"),
        None
    );
    assert_eq!(merged(json!({ "volumes": [{ "name": "v", "$patch": "delete" }] }))["volumes"], json!([]));
    let env = json!({ "name": "a", "env": [{ "name": "A", "$patch": "delete" }, { "name": "B" }] });
    assert_eq!(containers(env)["env"], json!([{ "name": "B" }]));
    let command = json!({ "name": "a", "$deleteFromPrimitiveList/command": ["y"] });
    assert_eq!(containers(command)["command"], json!(["x"]));
    let absent = json!({ "name": "a", "$deleteFromPrimitiveList/args": ["y"] });
    assert_eq!(containers(absent).get("args"), None);
}

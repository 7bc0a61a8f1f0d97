//! Strategic merge patches of built-in kinds.

use serde_json::json;

use super::*;
use crate::kinds::builtin;

fn patched(plural: &str, old: &Value, patch: &Value) -> Result<Value, String> {
    let kinds = builtin::all(|| 0);
    let kind = kinds.iter().find(|kind| kind.resource.plural == plural).unwrap();
    apply(patch.as_object().unwrap().clone(), old, kind).map_err(|refused| refused.message.clone())
}

/// A pod spec with these containers.
fn pod(containers: &Value) -> Value {
    json!({ "spec": { "containers": containers } })
}

#[test]
fn lists_with_a_key_merge_element_by_element_and_new_elements_come_first() {
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
fn the_order_of_a_merged_list_is_the_one_asked_for() {
    let old = pod(&json!([{ "name": "a" }, { "name": "b" }, { "name": "c" }]));
    let order = json!([{ "name": "c" }, { "name": "a" }]);
    let patch = json!({ "spec": { "$setElementOrder/containers": order } });
    let names = |object: &Value| -> Vec<Value> {
        object["spec"]["containers"].as_array().unwrap().iter().map(|item| item["name"].clone()).collect()
    };
    // What the patch does not name keeps its place before the elements that it stood before.
    assert_eq!(names(&patched("pods", &old, &patch).unwrap()), ["b", "c", "a"]);
    let patch = json!({ "spec": {
        "$setElementOrder/containers": [{ "name": "d" }, { "name": "a" }], "containers": [{ "name": "d" }] } });
    assert_eq!(names(&patched("pods", &old, &patch).unwrap()), ["d", "a", "b", "c"]);
}

#[test]
fn sets_of_scalars_are_added_to_and_taken_from() {
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
fn maps_can_be_replaced_emptied_or_cut_down() {
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
fn patches_that_make_no_sense_are_refused_in_the_words_of_go() {
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

//! What must hold of patches whatever they say: random objects, random patches.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use windtunnel::apiserver::{ApiServer, Method};

use super::apply::{ask, define};
use super::requests::server;

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON: &str = "application/json-patch+json";
const WIDGET: &str = "/apis/example.io/v1/widgets/w";

fn config() -> ProptestConfig {
    ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() }
}

fn word() -> impl Strategy<Value = String> {
    "[a-d]"
}

/// Specifications of widgets: some of all kinds of fields, lists and maps. Lists and maps that are merged are not empty:
/// such a one goes with the last thing that was in it, in a real server too, and comes back with the next apply.
fn spec() -> impl Strategy<Value = Value> {
    let strings = || btree_map(word(), word(), 1..3);
    let keyed = btree_map(word(), (option::of(word()), option::of(word())), 1..4);
    let any = btree_map(word(), value(), 1..3);
    (
        option::of(word()),
        option::of(0..3),
        option::of(strings()),
        option::of(strings()),
        option::of(vec(word(), 0..3)),
        option::of(btree_set(word(), 1..4)),
        option::of(keyed),
        option::of(any),
    )
        .prop_map(|(s, n, map, whole, list, set, keyed, any)| {
            let element = |(k, (v, w)): (String, (Option<String>, Option<String>))| {
                let fields = [("k", Some(k)), ("v", v), ("w", w)];
                fields
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_owned(), json!(value?))))
                    .collect::<Map<_, _>>()
            };
            let keyed = keyed.map(|keyed| keyed.into_iter().map(element).collect::<Vec<_>>());
            let fields = json!({ "s": s, "n": n, "map": map, "whole": whole, "list": list, "set": set, "keyed": keyed,
                "any": any });
            without_nulls(fields)
        })
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    value
}

/// Any JSON that says something.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(word(), inner, 1..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Bodies of patches that may mean something: known fields, directives, and anything in them.
fn patch() -> impl Strategy<Value = Value> {
    const NAMES: [&str; 24] = [
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "status",
        "data",
        "name",
        "finalizers",
        "labels",
        "containers",
        "template",
        "ports",
        "containerPort",
        "env",
        "keyed",
        "set",
        "map",
        "k",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "managedFields",
        "ownerReferences",
    ];
    const TEXTS: [&str; 8] = ["v1", "ConfigMap", "a", "w", "delete", "replace", "merge", "example.io/v1"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i8>().prop_map(Value::from),
        proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 24, 4, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..3).prop_map(Value::from),
            3 => btree_map(proptest::sample::select(&NAMES[..]), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())),
        ]
    })
}

fn widget(spec: &Value) -> Value {
    json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": spec })
}

fn apply(server: &mut ApiServer, manager: &str, spec: &Value) -> (u16, Value) {
    let path = format!("{WIDGET}?fieldManager={manager}&force=true");
    ask(server, Method::Patch, &path, APPLY, &widget(spec))
}

/// Whether all that was applied is in the object: lists with keys by key, sets by element.
fn covers(object: &Value, applied: &Value, name: &str) -> bool {
    match (object, applied) {
        (_, applied) if matches!(name, "whole" | "list") => object == applied,
        (Value::Object(object), Value::Object(applied)) => applied
            .iter()
            .all(|(name, value)| object.get(name).is_some_and(|found| covers(found, value, name))),
        (Value::Array(object), Value::Array(applied)) if name == "keyed" => applied
            .iter()
            .all(|item| object.iter().any(|found| found["k"] == item["k"] && covers(found, item, ""))),
        (Value::Array(object), Value::Array(applied)) if name == "set" => {
            applied.iter().all(|item| object.contains(item))
        }
        (object, applied) => object == applied,
    }
}

/// Whether the fields of a set name all that was applied.
fn owns(fields: &Value, applied: &Value, name: &str) -> bool {
    match applied {
        Value::Object(map) if name != "whole" && !map.is_empty() => {
            map.iter().all(|(name, value)| owns(&fields[format!("f:{name}")], value, name))
        }
        Value::Array(items) if name == "keyed" => items.iter().all(|item| {
            let key = format!("k:{}", json!({ "k": item["k"] }));
            item.as_object().unwrap().keys().all(|name| fields[&key].get(format!("f:{name}")).is_some())
        }),
        Value::Array(items) if name == "set" => {
            items.iter().all(|item| fields.get(format!("v:{item}")).is_some())
        }
        _ => fields.is_object(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn to_apply_again_changes_nothing(first in spec(), second in spec()) {
        let mut server = server(36);
        define(&mut server, &["v1"]);
        for spec in [&first, &second] {
            let (code, applied) = apply(&mut server, "one", spec);
            prop_assert!(code < 300, "{applied}");
            let (code, again) = apply(&mut server, "one", spec);
            prop_assert_eq!((code, again), (200, applied));
        }
    }

    #[test]
    fn what_is_applied_is_there_and_owned_whoever_applied_before(first in spec(), second in spec(), third in spec()) {
        let mut server = server(36);
        define(&mut server, &["v1"]);
        for (manager, spec) in [("one", &first), ("two", &second), ("one", &third)] {
            let (code, applied) = apply(&mut server, manager, spec);
            prop_assert!(code < 300, "{applied}");
            prop_assert!(covers(&applied["spec"], spec, ""), "{spec} in {applied}");
            let entries = applied["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            let entry = entries.iter().find(|entry| entry["manager"] == manager).cloned().unwrap_or_default();
            prop_assert!(owns(&entry["fieldsV1"]["f:spec"], spec, ""), "{spec} in {entry}");
        }
    }

    #[test]
    fn who_applies_nothing_any_more_leaves_what_others_own(first in spec(), second in spec()) {
        let mut server = server(36);
        define(&mut server, &["v1"]);
        apply(&mut server, "one", &first);
        let (_, both) = apply(&mut server, "two", &second);
        let (code, rest) = apply(&mut server, "one", &json!({}));
        prop_assert_eq!(code, 200, "{} {} {}", first, both, rest);
        prop_assert!(covers(&rest["spec"], &second, ""), "{second} in {rest}");
        let (_, alone) = apply(&mut server, "two", &second);
        prop_assert_eq!(alone, rest);
    }

    #[test]
    fn merge_and_strategic_merge_patches_of_maps_agree_with_a_model(
        old in btree_map(word(), word(), 0..4),
        patch in btree_map(word(), option::of(word()), 0..4),
    ) {
        let mut model = old.clone();
        for (key, value) in &patch {
            match value {
                Some(value) => model.insert(key.clone(), value.clone()),
                None => model.remove(key),
            };
        }
        for content_type in [MERGE, STRATEGIC] {
            let mut server = server(36);
            let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": old });
            ask(&mut server, Method::Post, "/api/v1/namespaces/default/configmaps", "", &object);
            let path = "/api/v1/namespaces/default/configmaps/a";
            let (code, patched) = ask(&mut server, Method::Patch, path, content_type, &json!({ "data": patch }));
            prop_assert_eq!(code, 200, "{}", &patched);
            let data: BTreeMap<String, String> =
                serde_json::from_value(patched.get("data").cloned().unwrap_or(json!({}))).unwrap();
            prop_assert_eq!(&data, &model);
        }
    }

    #[test]
    fn lists_with_a_key_agree_with_a_map_by_that_key(
        old in btree_map(word(), option::of(word()), 1..4),
        patch in btree_map(word(), option::of(option::of(word())), 0..4),
    ) {
        let element = |name: &String, value: &Option<String>| without_nulls(json!({ "name": name, "value": value }));
        let mut model = old.clone();
        let mut items = Vec::new();
        for (name, change) in &patch {
            match change {
                None => {
                    model.remove(name);
                    items.push(json!({ "name": name, "$patch": "delete" }));
                }
                Some(value) => {
                    let before = model.remove(name).flatten();
                    model.insert(name.clone(), value.clone().or(before));
                    items.push(element(name, value));
                }
            }
        }
        let mut server = server(36);
        let env: Vec<Value> = old.iter().map(|(name, value)| element(name, value)).collect();
        let template = |env: &[Value]| json!({ "spec": { "template": { "spec": {
            "containers": [{ "name": "c", "image": "i", "env": env }] } } } });
        let mut deployment = template(&env);
        deployment["metadata"] = json!({ "name": "d" });
        deployment["spec"]["selector"] = json!({ "matchLabels": { "a": "b" } });
        deployment["spec"]["template"]["metadata"] = json!({ "labels": { "a": "b" } });
        let path = "/apis/apps/v1/namespaces/default/deployments";
        let (code, body) = ask(&mut server, Method::Post, path, "", &deployment);
        prop_assert_eq!(code, 201, "{}", body);
        let (code, patched) = ask(&mut server, Method::Patch, &format!("{path}/d"), STRATEGIC, &template(&items));
        prop_assert_eq!(code, 200, "{}", &patched);
        let env = patched.pointer("/spec/template/spec/containers/0/env").cloned().unwrap_or(json!([]));
        let found: BTreeMap<String, Option<String>> = env.as_array().unwrap().iter()
            .map(|item| (item["name"].as_str().unwrap().to_owned(), item["value"].as_str().map(str::to_owned)))
            .collect();
        prop_assert_eq!(found, model);
    }

    #[test]
    fn no_patch_makes_the_server_stumble(patches in vec((0_usize..4, 0_usize..3, patch()), 1..6)) {
        let mut server = server(36);
        define(&mut server, &["v1"]);
        apply(&mut server, "one", &json!({ "keyed": [{ "k": "a" }], "set": ["a"], "map": { "a": "b" } }));
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "finalizers": ["x.io/a"] }, "data": { "a": "b" } });
        ask(&mut server, Method::Post, "/api/v1/namespaces/default/configmaps", "", &map);
        for (kind, path, patch) in patches {
            let content_type = [MERGE, STRATEGIC, JSON, APPLY][kind];
            let path = [WIDGET, "/api/v1/namespaces/default/configmaps/a", "/apis/apps/v1/namespaces/default/deployments/w"][path];
            let asked = if kind == 3 { format!("{path}?fieldManager=fuzz") } else { path.to_owned() };
            let (code, body) = ask(&mut server, Method::Patch, &asked, content_type, &patch);
            prop_assert!((200..600).contains(&code) && body.is_object(), "{body}");
            let (code, _) = ask(&mut server, Method::Get, path, "", &Value::Null);
            prop_assert!(code == 200 || code == 404);
        }
    }
}

//! Properties of server-side apply and of patches, for random objects. Counterexamples are shrunk.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Map, Value, json};
use windtunnel_apiserver::{ApiServer, Method};

use super::campaign::{campaign, property};
use super::checked_server::{APPLY, MERGE, STRATEGIC, server};
use crate::apiserver::apply::{ask, define};

const WIDGET: &str = "/apis/example.io/v1/widgets/w";

fn word() -> impl Strategy<Value = String> {
    "[a-d]"
}

/// Specs of widgets with fields, lists and maps of all kinds. Merged lists and maps are never empty: in a
/// real server too, an empty one disappears with its last element, and returns with the next apply.
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

/// Any JSON without nulls and empty maps.
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

fn widget(spec: &Value) -> Value {
    json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": spec })
}

fn apply(server: &mut ApiServer, manager: &str, spec: &Value) -> (u16, Value) {
    let path = format!("{WIDGET}?fieldManager={manager}&force=true");
    ask(server, Method::Patch, &path, APPLY, &widget(spec))
}

/// Whether the object contains everything that was applied: lists with keys by key, sets by element.
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

/// Whether a field set contains everything that was applied.
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

#[test]
fn reapplying_changes_nothing() {
    campaign("properties::reapplying_changes_nothing", 25, |seed| {
        property(seed, &(spec(), spec()), |(first, second)| {
            let mut server = server(36);
            define(&mut server, &["v1"]);
            for spec in [&first, &second] {
                let (code, applied) = apply(&mut server, "one", spec);
                prop_assert!(code < 300, "{applied}");
                let (code, repeated) = apply(&mut server, "one", spec);
                prop_assert_eq!((code, repeated), (200, applied));
            }
            Ok(())
        })
    });
}

#[test]
fn applied_fields_are_stored_and_owned_after_other_applies() {
    campaign("properties::applied_fields_are_stored_and_owned_after_other_applies", 25, |seed| {
        property(seed, &(spec(), spec(), spec()), |(first, second, third)| {
            let mut server = server(36);
            define(&mut server, &["v1"]);
            for (manager, spec) in [("one", &first), ("two", &second), ("one", &third)] {
                let (code, applied) = apply(&mut server, manager, spec);
                prop_assert!(code < 300, "{applied}");
                prop_assert!(covers(&applied["spec"], spec, ""), "{spec} in {applied}");
                let entries = applied["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
                let entry =
                    entries.iter().find(|entry| entry["manager"] == manager).cloned().unwrap_or_default();
                prop_assert!(owns(&entry["fieldsV1"]["f:spec"], spec, ""), "{spec} in {entry}");
            }
            Ok(())
        })
    });
}

#[test]
fn an_empty_apply_leaves_the_fields_of_other_managers() {
    campaign("properties::an_empty_apply_leaves_the_fields_of_other_managers", 25, |seed| {
        property(seed, &(spec(), spec()), |(first, second)| {
            let mut server = server(36);
            define(&mut server, &["v1"]);
            apply(&mut server, "one", &first);
            let (_, both) = apply(&mut server, "two", &second);
            let (code, rest) = apply(&mut server, "one", &json!({}));
            prop_assert_eq!(code, 200, "{} {} {}", first, both, rest);
            prop_assert!(covers(&rest["spec"], &second, ""), "{second} in {rest}");
            let (_, alone) = apply(&mut server, "two", &second);
            prop_assert_eq!(alone, rest);
            Ok(())
        })
    });
}

/// The result of a JSON merge patch (RFC 7386).
fn merged(mut target: Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_object() else { return patch.clone() };
    if !target.is_object() {
        target = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            target[name] = merged(target.get(name).cloned().unwrap_or_default(), value);
        }
    }
    target
}

/// Replaces some values in maps by null.
fn pierced(value: Value, nulls: &mut impl Iterator<Item = bool>) -> Value {
    match value {
        Value::Object(map) => {
            let mut pierce =
                |value| if nulls.next() == Some(true) { Value::Null } else { pierced(value, nulls) };
            Value::Object(map.into_iter().map(|(name, value)| (name, pierce(value))).collect())
        }
        other => other,
    }
}

#[test]
fn merge_patches_agree_with_a_model() {
    campaign("properties::merge_patches_agree_with_a_model", 25, |seed| {
        let map = || btree_map(word(), value(), 0..3).prop_map(|map| json!(map));
        property(seed, &(map(), map(), vec(any::<bool>(), 0..9)), |(old, patch, nulls)| {
            let patch = pierced(patch, &mut nulls.into_iter());
            let mut server = server(36);
            define(&mut server, &["v1"]);
            let (code, created) = apply(&mut server, "one", &json!({ "any": old }));
            prop_assert_eq!(code, 201, "{}", created);
            let body = json!({ "spec": { "any": patch } });
            let (code, patched) = ask(&mut server, Method::Patch, WIDGET, MERGE, &body);
            prop_assert_eq!(code, 200, "{}", &patched);
            prop_assert_eq!(&patched["spec"]["any"], &merged(old, &patch));
            let (code, repeated) = ask(&mut server, Method::Patch, WIDGET, MERGE, &body);
            prop_assert_eq!((code, repeated), (200, patched));
            Ok(())
        })
    });
}

#[test]
fn merge_and_strategic_merge_patches_of_maps_agree_with_a_model() {
    campaign("properties::merge_and_strategic_merge_patches_of_maps_agree_with_a_model", 25, |seed| {
        let values = (btree_map(word(), word(), 0..4), btree_map(word(), option::of(word()), 0..4));
        property(seed, &values, |(old, patch)| maps_agree(&old, &patch))
    });
}

fn maps_agree(old: &BTreeMap<String, String>, patch: &BTreeMap<String, Option<String>>) -> TestCaseResult {
    let mut model = old.clone();
    for (key, value) in patch {
        match value {
            Some(value) => model.insert(key.clone(), value.clone()),
            None => model.remove(key),
        };
    }
    for content_type in [MERGE, STRATEGIC] {
        let mut server = server(36);
        let object =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": old });
        ask(&mut server, Method::Post, "/api/v1/namespaces/default/configmaps", "", &object);
        let path = "/api/v1/namespaces/default/configmaps/a";
        let (code, patched) = ask(&mut server, Method::Patch, path, content_type, &json!({ "data": patch }));
        prop_assert_eq!(code, 200, "{}", &patched);
        let data = patched.get("data").cloned().unwrap_or(json!({}));
        prop_assert_eq!(data, json!(model));
    }
    Ok(())
}

#[test]
fn keyed_lists_agree_with_a_map() {
    campaign("properties::keyed_lists_agree_with_a_map", 25, |seed| {
        let values = (
            btree_map(word(), option::of(word()), 1..4),
            btree_map(word(), option::of(option::of(word())), 0..4),
        );
        property(seed, &values, |(old, patch)| lists_agree(&old, &patch))
    });
}

type Changes = BTreeMap<String, Option<Option<String>>>;

fn lists_agree(old: &BTreeMap<String, Option<String>>, patch: &Changes) -> TestCaseResult {
    let element =
        |name: &String, value: &Option<String>| without_nulls(json!({ "name": name, "value": value }));
    let mut model = old.clone();
    let mut items = Vec::new();
    for (name, change) in patch {
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
    let env: Vec<Value> = old.iter().map(|(name, value)| element(name, value)).collect();
    let template = |env: &[Value]| json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "i", "env": env }] } } } });
    let mut deployment = template(&env);
    deployment["metadata"] = json!({ "name": "d" });
    deployment["spec"]["selector"] = json!({ "matchLabels": { "a": "b" } });
    deployment["spec"]["template"]["metadata"] = json!({ "labels": { "a": "b" } });
    let mut server = server(36);
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let (code, body) = ask(&mut server, Method::Post, path, "", &deployment);
    prop_assert_eq!(code, 201, "{}", body);
    let (code, patched) = ask(&mut server, Method::Patch, &format!("{path}/d"), STRATEGIC, &template(&items));
    prop_assert_eq!(code, 200, "{}", &patched);
    let env = patched.pointer("/spec/template/spec/containers/0/env").cloned().unwrap_or(json!([]));
    let found: BTreeMap<String, Option<String>> = env
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["name"].as_str().unwrap().to_owned(), item["value"].as_str().map(str::to_owned)))
        .collect();
    prop_assert_eq!(found, model);
    Ok(())
}

#[test]
fn merged_string_lists_agree_with_a_set() {
    campaign("properties::merged_string_lists_agree_with_a_set", 25, |seed| {
        let values = (btree_set(word(), 0..4), btree_set(word(), 0..3), btree_set(word(), 0..3));
        property(seed, &values, |(old, added, removed)| {
            let names = |words: &BTreeSet<String>| {
                words.iter().map(|word| format!("x.io/{word}")).collect::<Vec<_>>()
            };
            let mut server = server(36);
            let object = json!({ "metadata": { "name": "a", "finalizers": names(&old) } });
            ask(&mut server, Method::Post, "/api/v1/namespaces/default/configmaps", "", &object);
            let patch = json!({ "metadata": { "finalizers": names(&added),
                "$deleteFromPrimitiveList/finalizers": names(&removed) } });
            let path = "/api/v1/namespaces/default/configmaps/a";
            let (code, patched) = ask(&mut server, Method::Patch, path, STRATEGIC, &patch);
            prop_assert_eq!(code, 200, "{}", &patched);
            // Deletions happen before the rest is merged.
            let model: BTreeSet<String> = old.difference(&removed).chain(&added).cloned().collect();
            let found = patched["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
            let found: BTreeSet<String> = found.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            prop_assert_eq!(found, names(&model).into_iter().collect::<BTreeSet<_>>());
            Ok(())
        })
    });
}

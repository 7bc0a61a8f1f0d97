//! Patches of all four kinds, derived from the objects that they patch.

use std::cell::Cell;

use serde_json::{Map, Value, json};
use windtunnel_apiserver::Method;

use super::campaign::campaign;
use super::checked_server::{APPLY, JSON, MERGE, STRATEGIC, ask, server};
use super::dice::Dice;
use crate::apiserver::apply::define;

/// Collections with a valid object for each.
pub(super) fn objects() -> Vec<(&'static str, Value)> {
    let pod = json!({ "nodeName": "n", "terminationGracePeriodSeconds": 0, "volumes": [{ "name": "v", "emptyDir": {} }],
        "tolerations": [{ "operator": "Exists" }], "containers": [{ "name": "c", "image": "i", "ports": [
            { "containerPort": 80, "protocol": "TCP" }], "env": [{ "name": "A", "value": "1" }],
            "volumeMounts": [{ "name": "v", "mountPath": "/v" }], "resources": { "limits": { "cpu": "1" } } }] });
    let labels = json!({ "a": "b" });
    vec![
        (
            "/api/v1/namespaces/default/configmaps",
            json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "o", "labels": labels, "finalizers": ["x.io/a", "x.io/b"] }, "data": { "k": "v" } }),
        ),
        (
            "/api/v1/namespaces/default/pods",
            json!({ "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "o", "labels": labels }, "spec": pod }),
        ),
        (
            "/api/v1/namespaces/default/services",
            json!({ "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "o" }, "spec": { "selector": labels, "ports": [{ "port": 80 }, { "port": 81, "name": "b" }] } }),
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            json!({ "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "o", "ownerReferences": [{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u" }] },
            "spec": { "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels }, "spec": pod } } }),
        ),
        (
            "/api/v1/namespaces/default/resourcequotas",
            json!({ "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "o" }, "spec": {
                "hard": { "pods": "5", "requests.cpu": "10", "configmaps": "3", "count/deployments.apps": "2" },
                "scopes": ["NotTerminating"] } }),
        ),
        (
            "/api/v1/namespaces/default/limitranges",
            json!({ "apiVersion": "v1", "kind": "LimitRange", "metadata": { "name": "o" }, "spec": { "limits": [
                { "type": "Container", "default": { "cpu": "1" }, "min": { "cpu": "1m" }, "max": { "memory": "1Gi" },
                    "maxLimitRequestRatio": { "cpu": "3" } }] } }),
        ),
        (
            "/api/v1/nodes",
            json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "o" },
            "spec": { "taints": [{ "key": "a", "effect": "NoSchedule" }] } }),
        ),
        (
            "/apis/example.io/v1/widgets",
            json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "o" },
            "spec": { "s": "x", "map": { "a": "b" }, "set": ["a"], "keyed": [{ "k": "a", "v": "b" }], "any": { "l": [1] } } }),
        ),
    ]
}

/// A part of the object, with random changes and directives of strategic merge patches.
fn part(dice: &mut Dice, object: &Value) -> Value {
    match object {
        Value::Object(map) => {
            let mut part = Map::new();
            for (name, value) in map {
                if !dice.one_in(3) {
                    part.insert(
                        name.clone(),
                        if dice.one_in(12) { Value::Null } else { self::part(dice, value) },
                    );
                }
                if dice.one_in(16) {
                    let directives = ["$setElementOrder", "$deleteFromPrimitiveList"];
                    part.insert(format!("{}/{name}", dice.pick(&directives)), self::part(dice, value));
                }
            }
            if dice.one_in(16) {
                part.insert("$patch".to_owned(), json!(dice.pick(&["delete", "replace", "merge", "x"])));
            }
            if dice.one_in(24) {
                let names: Vec<&String> = map.keys().take(2).collect();
                part.insert("$retainKeys".to_owned(), json!(names));
            }
            part.into()
        }
        Value::Array(items) => {
            let mut part: Vec<Value> = items.iter().map(|item| self::part(dice, item)).collect();
            if dice.one_in(6) {
                part.extend(items.first().cloned());
            }
            if dice.one_in(6) {
                part.push(dice.value(1));
            }
            part.into()
        }
        other if dice.one_in(20) => {
            [Value::Null, dice.value(1), json!("other"), other.clone()][dice.index(4)].clone()
        }
        other => other.clone(),
    }
}

fn operations(dice: &mut Dice, object: &Value) -> Value {
    let names = ["add", "remove", "replace", "move", "copy", "test", "frob"];
    (0..dice.number(0, 4))
        .map(|_| {
            let mut path = dice.place(object);
            if dice.one_in(4) {
                path = format!("{path}/{}", dice.pick(&["-", "0", "01", "-1", "99", "new", "~2", "a/b", ""]));
            }
            let value = object.pointer(&dice.place(object)).cloned();
            let value = if dice.one_in(3) { dice.value(2) } else { value.unwrap_or_default() };
            json!({ "op": dice.pick(&names), "path": path, "from": dice.place(object), "value": value })
        })
        .collect()
}

#[test]
fn patches_of_all_kinds_get_valid_responses() {
    let (good, cases) = (Cell::new(0), Cell::new(0));
    campaign("patches::patches_of_all_kinds_get_valid_responses", 20, |seed| {
        let mut dice = Dice::new("patches", seed);
        let mut server = server(dice.minor());
        define(&mut server, &["v1"]);
        let objects = objects();
        let mut found = 0;
        for _ in 0..80 {
            let (collection, object) = &objects[dice.index(objects.len())];
            ask(&mut server, Method::Post, collection, "", object)?;
            let subresource =
                dice.pick(&["", "", "", "/status", "/scale", "/ephemeralcontainers", "/resize"]);
            let path = format!("{collection}/o{subresource}");
            let stored = ask(&mut server, Method::Get, &path, "", &Value::Null)?.body;
            let media = dice.pick(&[APPLY, JSON, MERGE, STRATEGIC]);
            let mut patch = match media {
                JSON => operations(&mut dice, &stored),
                APPLY => part(&mut dice, if subresource.is_empty() { object } else { &stored }),
                _ => part(&mut dice, &stored),
            };
            if dice.one_in(10) {
                patch = dice.damaged(patch, 2);
            }
            let query = if media == APPLY {
                format!("?fieldManager=f&force={}", dice.one_in(2))
            } else {
                String::new()
            };
            let answer = ask(&mut server, Method::Patch, &format!("{path}{query}"), media, &patch)?;
            found += u32::from(answer.is_good());
        }
        good.set(good.get() + found);
        cases.set(cases.get() + 1);
        Ok(())
    });
    // A campaign whose patches are all rejected would prove nothing.
    assert!(good.get() > 5 * cases.get(), "{} good ones in {} cases", good.get(), cases.get());
}

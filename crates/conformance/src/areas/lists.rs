//! Lists with all options, pages, selectors, deletion of collections, and watches.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use crate::values::pick;

/// Some kinds, each with a path and a body that is valid with any name and labels.
const KINDS: &[(&str, &str)] = &[
    ("/api/v1/namespaces/${ns}/configmaps", r#"{"data": {"a": "b"}}"#),
    ("/api/v1/namespaces/${ns}/pods", r#"{"spec": {"containers": [{"name": "c", "image": "i"}]}}"#),
    ("/api/v1/namespaces/${ns}/secrets", r#"{"type": "Opaque", "data": {"a": "YQ=="}}"#),
    (
        "/apis/apps/v1/namespaces/${ns}/deployments",
        r#"{"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}"#,
    ),
    ("/apis/coordination.k8s.io/v1/namespaces/${ns}/leases", r#"{"spec": {"holderIdentity": "h"}}"#),
    (
        "/apis/batch/v1/namespaces/${ns}/jobs",
        r#"{"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}"#,
    ),
    (
        "/api/v1/namespaces/${ns}/events",
        r#"{"involvedObject": {"namespace": "${ns}", "name": "p", "kind": "Pod"}, "reason": "R", "type": "Normal"}"#,
    ),
    ("/apis/networking.k8s.io/v1/namespaces/${ns}/networkpolicies", r#"{"spec": {"podSelector": {}}}"#),
];

const LABELS: &[&str] = &[
    "a=b",
    "a==b",
    "a!=b",
    "a",
    "!a",
    "a in (b,c)",
    "a notin (b)",
    "a in ()",
    "a=",
    "=b",
    "a=b,c=d",
    "a>1",
    "n<5",
    "n gt 5",
    "a in (b",
    "a=b,",
    ",",
    "a b",
    "a=é",
    "x/y=z",
    "x/y/z",
    "a=b c",
    "!a,n",
    " a = b ",
    "a in (b, )",
    "n>x",
    "a=b=c",
    "(a)",
    "a notin (b,c),n",
];

const FIELDS: &[&str] = &[
    "metadata.name=o1",
    "metadata.name!=o1",
    "metadata.namespace=${ns}",
    "metadata.name=o1,metadata.name=o2",
    "spec.nodeName=",
    "spec.nodeName=n",
    "status.phase=Pending",
    "status.phase!=Pending",
    "spec.restartPolicy=Always",
    "type=Opaque",
    "metadata.labels=x",
    "spec.x=y",
    "metadata.name",
    "metadata.name==o2",
    "=",
    "metadata.name=",
    "status.successful=0",
    "involvedObject.kind=Pod",
    "reason=R",
    "metadata.name=o1\\,o2",
    "spec.schedulerName=default-scheduler",
    "metadata.uid=x",
    "type=Normal",
    "metadata.name=a=b",
    "spec.hostNetwork=false",
    "status.podIP=",
    "spec.serviceAccountName=default",
];

const ACCEPTS: &[&str] = &[
    "application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v2;g=meta.k8s.io",
    "application/json;as=Other;v=v1;g=meta.k8s.io",
    "application/yaml",
    "*/*",
    "text/html",
];

/// Options of a list: a name and its values.
const OPTIONS: &[(&str, &[&str])] = &[
    ("limit", &["1", "2", "0", "-1", "x", "100"]),
    ("resourceVersion", &["0", "", "${rv}", "1", "x", "-1", "999999999", "18446744073709551616"]),
    ("resourceVersionMatch", &["Exact", "NotOlderThan", "x", ""]),
    ("continue", &["x", "", "e30", "${continue}"]),
    ("timeoutSeconds", &["1", "x", "0", "-1"]),
    ("allowWatchBookmarks", &["true", "false", "x"]),
    ("sendInitialEvents", &["true", "false"]),
    ("watch", &["0", "false"]),
    ("includeObject", &["None", "Metadata", "Object", "x"]),
    ("pretty", &["true", "1"]),
    ("unknown", &["x"]),
];

const OBJECTS: usize = 4;

pub(super) fn case(rng: &mut Rng) -> Value {
    let (path, body) = *pick(rng, KINDS);
    let mut steps: Vec<Value> =
        (1..=OBJECTS).map(|number| create(rng, path, body, &format!("o{number}"))).collect();
    for _ in 0..14 {
        steps.push(list(rng, path));
    }
    if rng.u8(..3) == 0 {
        steps.push(watch(rng, path, body));
    }
    if rng.u8(..3) == 0 {
        steps.push(delete(rng, path));
        steps.push(compared(&json!({"path": path})));
    }
    json!({"stateful": true, "steps": steps})
}

fn compared(request: &Value) -> Value {
    json!({"request": request, "ignore": ["/metadata/remainingItemCount"]})
}

fn create(rng: &mut Rng, path: &str, body: &str, name: &str) -> Value {
    let mut body: Value = serde_json::from_str(body).unwrap_or_default();
    let mut labels = Map::new();
    for (key, values) in [("a", &["b", "c", ""][..]), ("n", &["1", "5", "9", "x"]), ("x/y", &["z"])] {
        if rng.bool() {
            labels.insert(key.to_owned(), json!(*pick(rng, values)));
        }
    }
    body["metadata"] = json!({"name": name, "labels": labels});
    json!({"request": {"method": "POST", "path": path, "body": body}, "capture": {"rv": "/metadata/resourceVersion"}})
}

fn query(rng: &mut Rng) -> Value {
    let mut query = json!({});
    if rng.bool() {
        query["labelSelector"] = json!(*pick(rng, LABELS));
    }
    if rng.u8(..3) == 0 {
        query["fieldSelector"] = json!(*pick(rng, FIELDS));
    }
    for _ in 0..rng.usize(..3) {
        let (name, values) = *pick(rng, OPTIONS);
        query[name] = json!(*pick(rng, values));
    }
    query
}

fn list(rng: &mut Rng, path: &str) -> Value {
    let accept = if rng.u8(..3) == 0 { *pick(rng, ACCEPTS) } else { "application/json" };
    let mut step = compared(&json!({"path": path, "query": query(rng), "accept": accept}));
    if rng.u8(..4) == 0 {
        step["request"]["query"]["limit"] = json!("2");
        step["capture"] = json!({"continue": "/metadata/continue"});
    }
    step
}

fn delete(rng: &mut Rng, path: &str) -> Value {
    let mut query = query(rng);
    if rng.u8(..3) == 0 {
        query["dryRun"] = json!("All");
    }
    compared(&json!({"method": "DELETE", "path": path, "query": query}))
}

fn watch(rng: &mut Rng, path: &str, body: &str) -> Value {
    let mut query = json!({"resourceVersion": *pick(rng, &["${rv}", "0", "", "1"])});
    match rng.u8(..5) {
        0 => query["labelSelector"] = json!(*pick(rng, LABELS)),
        1 => query["fieldSelector"] = json!(*pick(rng, FIELDS)),
        2 => {
            query["sendInitialEvents"] = json!("true");
            query["resourceVersionMatch"] = json!(*pick(rng, &["NotOlderThan", "NotOlderThan", "Exact"]));
            query["allowWatchBookmarks"] = json!(*pick(rng, &["true", "false"]));
        }
        _ => {}
    }
    let object = format!("{path}/o1");
    let during = json!([
        {"request": {"method": "PATCH", "path": object, "type": "application/merge-patch+json",
            "body": {"metadata": {"labels": {"a": *pick(rng, &["b", "z"])}}}}},
        create(rng, path, body, "o9"),
        {"request": {"method": "DELETE", "path": object, "query": {"gracePeriodSeconds": "0"}}},
    ]);
    let accept = *pick(rng, &ACCEPTS[..4]);
    json!({"watch": {"path": path, "query": query, "seconds": 1, "accept": accept}, "during": during})
}

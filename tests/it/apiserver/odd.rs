//! Odd requests from a seed: whatever is asked, the server answers, and never with an error of its own making.

mod words;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel::apiserver::{ApiServer, Body, Method, Poll, ReplyBody, Request};
use windtunnel::base::rng::{Stream, Streams};
use windtunnel::model::Identity;

use words::{
    ACCEPTS, COLLECTIONS, FIELDS, METHODS, NAMES, OPTIONS, PLURALS, PREFIXES, SUBRESOURCES, TYPES, WORDS,
};

use super::requests::{define, definition, now, server};

const SEEDS: u64 = 15;
const REQUESTS_PER_SEED: u64 = 1500;
/// What a real server answers 500 to as well.
const INTERNAL: [&str; 3] = [
    "resourceVersion should not be set on objects to be created",
    "strconv.ParseUint: parsing",
    "resourceVersion: Invalid value",
];

fn pick<'a, T: ?Sized>(dice: &mut Stream, list: &[&'a T]) -> &'a T {
    list[index(dice, list.len())]
}

fn index(dice: &mut Stream, length: usize) -> usize {
    usize::try_from(dice.between(0, length as u64 - 1)).unwrap()
}

fn value(dice: &mut Stream, depth: u32) -> Value {
    match dice.between(0, if depth == 0 { 4 } else { 8 }) {
        0 => Value::Null,
        1 => json!(dice.between(0, 1) == 1),
        2 => json!(i64::from_ne_bytes(dice.bits().to_ne_bytes()) >> dice.between(0, 63)),
        3 => json!(pick(dice, WORDS)),
        4 => json!(dice.fraction() * 1e20),
        5 => (0..dice.between(0, 3)).map(|_| value(dice, depth - 1)).collect(),
        _ => {
            let fields = (0..dice.between(0, 5))
                .map(|_| (pick(dice, FIELDS).to_owned(), value(dice, depth - 1)))
                .collect();
            Value::Object(fields)
        }
    }
}

/// A pointer to somewhere in a value.
fn place(dice: &mut Stream, value: &Value) -> String {
    let mut pointer = String::new();
    let mut at = value;
    while dice.between(0, 4) > 0 {
        let (step, next) = match at {
            Value::Object(map) if !map.is_empty() => {
                let (key, next) = map.iter().nth(index(dice, map.len())).unwrap();
                (key.replace('~', "~0").replace('/', "~1"), next)
            }
            Value::Array(items) if !items.is_empty() => {
                let index = index(dice, items.len());
                (index.to_string(), &items[index])
            }
            _ => break,
        };
        pointer = format!("{pointer}/{step}");
        at = next;
    }
    pointer
}

/// The body that the path asks for most times, so that requests get far.
fn fitting(path: &str, good: &[Value]) -> usize {
    let fits = |object: &&Value| {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        path.split(['/', '?']).any(|part| part.trim_end_matches('s') == kind)
    };
    good.iter().position(|object| fits(&object)).unwrap_or_default()
}

/// A good object with some places of it replaced or taken out.
fn damaged(dice: &mut Stream, good: &[Value], path: &str) -> Value {
    let chosen = if dice.between(0, 5) == 0 { index(dice, good.len()) } else { fitting(path, good) };
    let mut object = good[chosen].clone();
    for _ in 0..dice.between(0, 3) {
        let pointer = place(dice, &object);
        let new = value(dice, 3);
        if let Some(found) = object.pointer_mut(&pointer) {
            *found = new;
        }
    }
    object
}

fn operations(dice: &mut Stream, good: &[Value]) -> Value {
    let kinds = ["add", "remove", "replace", "move", "copy", "test", "frob"];
    (0..dice.between(0, 4))
        .map(|_| {
            let whole = &good[index(dice, good.len())];
            let (path, from) = (place(dice, whole), place(dice, whole));
            json!({ "op": pick(dice, &kinds), "path": path, "from": from, "value": value(dice, 2) })
        })
        .collect()
}

fn good() -> Vec<Value> {
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "default",
        "labels": { "a": "b" }, "finalizers": ["x.io/y"] }, "data": { "k": "v" } });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" },
        "spec": { "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] }, "status": { "phase": "Running" } });
    let version = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" },
        "spec": { "channel": "x", "wanted": ["a"] }, "status": { "capabilities": { "enabled": ["a"] } } });
    let deployment = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "generateName": "d-" },
        "spec": { "replicas": 1 } });
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a" } });
    let options =
        json!({ "kind": "DeleteOptions", "apiVersion": "v1", "preconditions": { "resourceVersion": "1" } });
    vec![map, pod, version, deployment, namespace, options, definition(&["a", "b"], true)]
}

fn body(dice: &mut Stream, good: &[Value], path: &str) -> Body<'static> {
    let text = match dice.between(0, 9) {
        0 => return Body::Empty,
        1 => pick(dice, WORDS).to_owned(),
        2 => "[".repeat(usize::try_from(dice.between(1, 5000)).unwrap()),
        3 => value(dice, 5).to_string(),
        4 | 5 => operations(dice, good).to_string(),
        _ => damaged(dice, good, path).to_string(),
    };
    Body::Bytes(text.into_bytes().into())
}

fn path(dice: &mut Stream) -> String {
    let mut path = if dice.between(0, 5) == 0 {
        [pick(dice, PREFIXES), pick(dice, PLURALS), pick(dice, NAMES)].join("/")
    } else {
        pick(dice, COLLECTIONS).to_owned()
    };
    if dice.between(0, 2) > 0 {
        path = format!("{path}/{}", pick(dice, NAMES));
        let subresource = pick(dice, SUBRESOURCES);
        if !subresource.is_empty() {
            path = format!("{path}/{subresource}");
        }
    }
    let separators = ["?", "&", "&"];
    for number in 0..dice.between(0, 6).saturating_sub(3) {
        let separator = if number == 0 { "?" } else { pick(dice, &separators) };
        path = format!("{path}{separator}{}={}", pick(dice, OPTIONS), pick(dice, WORDS));
    }
    path
}

/// Asks once, and gives the code of the answer.
///
/// # Errors
/// Request and answer, if the answer is one that no real server gives.
fn ask(server: &mut ApiServer, dice: &mut Stream, good: &[Value]) -> Result<u16, String> {
    let (admin, path) = (Identity::admin(), path(dice));
    let method = METHODS[index(dice, METHODS.len())];
    let mut request = Request::new(method, &path, &admin).with_content_type(pick(dice, TYPES));
    request.accept = pick(dice, ACCEPTS).into();
    request.body = body(dice, good, &path);
    let mut reply = server.handle(&request, now());
    if let ReplyBody::Watch(watch) = &mut reply.body {
        while matches!(server.poll(watch, now()), Poll::Lines(_)) {}
    }
    let text = reply.json().map(|json| json["message"].as_str().unwrap_or_default().to_owned());
    let expected = text.as_ref().is_some_and(|text| INTERNAL.iter().any(|known| text.contains(known)));
    if reply.code == 500 && !expected { Err(format!("{request:?}: {text:?}")) } else { Ok(reply.code) }
}

#[test]
fn odd_requests_are_answered_without_panic_or_internal_error() {
    let good = good();
    let mut codes: BTreeMap<u16, u32> = BTreeMap::new();
    for seed in 0..SEEDS {
        let mut dice = Streams::new(seed).stream("odd-requests");
        let minor = u32::try_from(dice.between(24, 36)).unwrap();
        let mut server = server(minor);
        define(&mut server, definition(&["a", "b"], true));
        for number in 0..REQUESTS_PER_SEED {
            match ask(&mut server, &mut dice, &good) {
                Ok(code) => *codes.entry(code).or_default() += 1,
                Err(wrong) => panic!("seed {seed}, request {number}: {wrong}"),
            }
        }
        assert!(server.objects().all(|(_, object)| object.to_value().is_object()), "seed {seed}");
    }
    // Most odd requests are turned away early; enough must get through to say something.
    for code in [200, 201, 400, 404, 405, 409, 415, 422] {
        assert!(codes.get(&code).is_some_and(|count| *count > 5), "{codes:?}");
    }
}

#[test]
fn bodies_that_nest_without_end_are_refused() {
    let mut server = server(36);
    let admin = Identity::admin();
    let path = "/api/v1/namespaces/default/configmaps";
    for (kind, open) in [
        ("application/json", "{\"a\":"),
        ("application/json", "["),
        ("application/yaml", "{a: "),
        ("application/yaml", "- "),
    ] {
        let mut request = Request::new(Method::Post, path, &admin).with_content_type(kind);
        request.body = Body::Bytes(open.repeat(50_000).into());
        assert_eq!(server.handle(&request, now()).code, 400, "{kind} {open}");
    }
}

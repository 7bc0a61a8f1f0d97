//! Random requests: the server answers all of them.

pub(super) mod words;

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Body, Method, Request};
use windtunnel_core::Identity;

use super::campaign::campaign;
use super::checked_server::{now, send, server};
use super::dice::Dice;
use crate::apiserver::requests::{define, definition};
use words::{ACCEPTS, COLLECTIONS, METHODS, NAMES, OPTIONS, PLURALS, PREFIXES, SUBRESOURCES, TYPES, WORDS};

const REQUESTS: u64 = 1500;

/// The index of a body that suits the path, so that requests get far.
fn fitting(path: &str, good: &[Value]) -> usize {
    let fits = |object: &&Value| {
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        path.split(['/', '?']).any(|part| part.trim_end_matches('s') == kind)
    };
    good.iter().position(|object| fits(&object)).unwrap_or_default()
}

/// A valid object with some places replaced.
fn damaged(dice: &mut Dice, good: &[Value], path: &str) -> Value {
    let chosen = if dice.one_in(6) { dice.index(good.len()) } else { fitting(path, good) };
    dice.damaged(good[chosen].clone(), 3)
}

fn operations(dice: &mut Dice, good: &[Value]) -> Value {
    let kinds = ["add", "remove", "replace", "move", "copy", "test", "frob"];
    (0..dice.number(0, 4))
        .map(|_| {
            let whole = &good[dice.index(good.len())];
            let (path, from) = (dice.place(whole), dice.place(whole));
            json!({ "op": dice.pick(&kinds), "path": path, "from": from, "value": dice.value(2) })
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

fn body(dice: &mut Dice, good: &[Value], path: &str) -> Body<'static> {
    let text = match dice.number(0, 9) {
        0 => return Body::Empty,
        1 => dice.pick(WORDS).to_owned(),
        2 => "[".repeat(dice.count(1, 5000)),
        3 => dice.value(5).to_string(),
        4 | 5 => operations(dice, good).to_string(),
        _ => damaged(dice, good, path).to_string(),
    };
    Body::Bytes(text.into_bytes().into())
}

fn path(dice: &mut Dice) -> String {
    let mut path = if dice.one_in(6) {
        [dice.pick(PREFIXES), dice.pick(PLURALS), dice.pick(NAMES)].join("/")
    } else {
        dice.pick(COLLECTIONS).to_owned()
    };
    if dice.number(0, 2) > 0 {
        path = format!("{path}/{}", dice.pick(NAMES));
        let subresource = dice.pick(SUBRESOURCES);
        if !subresource.is_empty() {
            path = format!("{path}/{subresource}");
        }
    }
    let separators = ["?", "&", "&"];
    for number in 0..dice.number(0, 6).saturating_sub(3) {
        let separator = if number == 0 { "?" } else { dice.pick(&separators) };
        path = format!("{path}{separator}{}={}", dice.pick(OPTIONS), dice.pick(WORDS));
    }
    path
}

/// Sends one request. Returns the code of the response.
fn ask(server: &mut ApiServer, dice: &mut Dice, good: &[Value]) -> Result<u16, String> {
    let (admin, path) = (Identity::admin(), path(dice));
    let method = METHODS[dice.index(METHODS.len())];
    let mut request = Request::new(method, &path, &admin).with_content_type(dice.pick(TYPES));
    request.accept = dice.pick(ACCEPTS).into();
    request.body = body(dice, good, &path);
    Ok(send(server, &request)?.code)
}

#[test]
fn unusual_requests_cause_no_panic_or_internal_error() {
    let good = good();
    let codes: RefCell<BTreeMap<u16, u32>> = RefCell::default();
    let name = "requests::unusual_requests_cause_no_panic_or_internal_error";
    campaign(name, 15, |seed| {
        let mut dice = Dice::new("odd-requests", seed);
        let mut server = server(dice.minor());
        define(&mut server, definition(&["a", "b"], true));
        for number in 0..REQUESTS {
            let code =
                ask(&mut server, &mut dice, &good).map_err(|why| format!("request {number}: {why}"))?;
            *codes.borrow_mut().entry(code).or_default() += 1;
        }
        let whole = server.objects().all(|(_, object)| object.to_value().is_object());
        if whole { Ok(()) } else { Err("a stored value is no object".to_owned()) }
    });
    // Most random requests are rejected early; enough must get through to prove something.
    let codes = codes.into_inner();
    for code in [200, 201, 400, 404, 405, 409, 415, 422] {
        assert!(codes.contains_key(&code), "{codes:?}");
    }
}

#[test]
fn deeply_nested_bodies_are_rejected() {
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

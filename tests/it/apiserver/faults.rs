//! Request faults: which requests fail, how often, and with which Status.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Reply, ReplyBody, Request};
use windtunnel_core::requests::faults::{
    ErrorFault, FaultEffect, Hits, LostAnswer, RequestFault, RequestFilter,
};
use windtunnel_core::{Identity, Write, resources};

use super::requests::{now, server};

const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

fn fault(effect: impl Into<FaultEffect>, requests: RequestFilter, hits: Hits) -> RequestFault {
    let effect = effect.into();
    RequestFault { requests, effect, hits, message: String::new(), retry_after: 4 }
}

fn created(server: &mut ApiServer, name: &str) -> Result<(), String> {
    let map = json!({ "metadata": { "name": name, "namespace": "default" } });
    let answer = server.write(&Write::create(&resources::CONFIG_MAPS, map), &Identity::admin(), now());
    answer.map(drop).map_err(|rejection| rejection.message)
}

fn ask(server: &mut ApiServer, method: Method, path: &str) -> Reply {
    let (admin, patch) = (Identity::admin(), json!({ "data": { "k": "v" } }));
    let request = Request::new(method, path, &admin);
    let request = if method == Method::Patch {
        request.with_body(&patch).with_content_type("application/merge-patch+json")
    } else {
        request
    };
    server.handle(&request, now())
}

fn body(reply: &Reply) -> &Value {
    let ReplyBody::Value(body) = &reply.body else { panic!("{reply:?}") };
    body
}

#[test]
fn each_fault_returns_the_status_of_a_real_kube_apiserver() {
    let modified = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your \
                    changes to the latest version and try again";
    let busy = "the server has received too many requests and has asked us to try again later";
    let deadline = "context deadline exceeded";
    let expected = [
        (ErrorFault::TooManyRequests, 429, "TooManyRequests", busy, json!({ "retryAfterSeconds": 4 })),
        (
            ErrorFault::InternalError,
            500,
            "InternalError",
            "Internal error occurred: context deadline exceeded",
            json!({ "causes": [{ "message": deadline }] }),
        ),
        (ErrorFault::EtcdTimedOut, 500, "", "etcdserver: request timed out", Value::Null),
        (
            ErrorFault::Unavailable,
            503,
            "ServiceUnavailable",
            "the server is currently unable to handle the request",
            Value::Null,
        ),
        (
            ErrorFault::Timeout,
            504,
            "Timeout",
            "Timeout: request did not complete within the allotted timeout",
            json!({}),
        ),
        (ErrorFault::Conflict, 409, "Conflict", modified, json!({ "name": "a", "kind": "configmaps" })),
    ];
    let mut server = server(33);
    created(&mut server, "a").unwrap();
    for (effect, code, reason, message, details) in expected {
        server.fail(fault(effect, RequestFilter::default(), Hits::new(1, Some(1))));
        let reply = ask(&mut server, Method::Patch, MAP);
        let status = body(&reply);
        let mut wanted = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "code": code });
        for (key, value) in [("reason", json!(reason)), ("details", details)] {
            if value != json!("") && !value.is_null() {
                wanted[key] = value;
            }
        }
        assert_eq!((reply.code, status), (code, &wanted));
        assert_eq!(reply.retry_after, (effect == ErrorFault::TooManyRequests).then_some(4));
        assert_eq!(ask(&mut server, Method::Patch, MAP).code, 200, "only once");
    }
}

#[test]
fn only_matching_requests_are_counted_and_fail() {
    let mut server = server(33);
    let creates = RequestFilter {
        verb: Some("create".to_owned()),
        kind: Some("ConfigMap".to_owned()),
        name: Some("b*".to_owned()),
        ..RequestFilter::default()
    };
    server.fail(fault(ErrorFault::Unavailable, creates, Hits::new(2, Some(1))));
    created(&mut server, "a").unwrap();
    created(&mut server, "b1").unwrap();
    assert_eq!(ask(&mut server, Method::Get, MAP).code, 200);
    created(&mut server, "b2").unwrap_err();
    created(&mut server, "b3").unwrap();
}

#[test]
fn reads_fail_by_verb_until_the_fault_is_healed() {
    let mut server = server(33);
    created(&mut server, "a").unwrap();
    let maps = "/api/v1/namespaces/default/configmaps";
    for (verb, path) in [("get", MAP), ("list", maps), ("watch", "/api/v1/configmaps?watch=true")] {
        let requests = RequestFilter { verb: Some(verb.to_owned()), ..RequestFilter::default() };
        server.fail(fault(ErrorFault::Unavailable, requests.clone(), Hits::new(1, None)));
        assert_eq!([0, 1].map(|_| ask(&mut server, Method::Get, path).code), [503, 503]);
        assert_eq!(ask(&mut server, Method::Get, "/api").code, 200, "discovery is no request for a kind");
        server.heal(Some(&requests));
        assert_eq!(ask(&mut server, Method::Get, path).code, 200);
    }
}

#[test]
fn conflict_faults_skip_creates_and_reads() {
    let mut server = server(33);
    server.fail(fault(ErrorFault::Conflict, RequestFilter::default(), Hits::new(1, None)));
    created(&mut server, "a").unwrap();
    assert_eq!(ask(&mut server, Method::Get, MAP).code, 200);
    assert_eq!(ask(&mut server, Method::Delete, MAP).code, 409);
    server.heal(None);
    assert_eq!(ask(&mut server, Method::Delete, MAP).code, 200);
}

#[test]
fn a_write_whose_answer_is_lost_is_executed() {
    let mut server = server(33);
    for (lost, name, exists) in [
        (LostAnswer::TimeoutAfterWrite, "a", true),
        (LostAnswer::DroppedAfterWrite, "b", true),
        (LostAnswer::Dropped, "c", false),
    ] {
        server.fail(fault(FaultEffect::Lost(lost), RequestFilter::default(), Hits::new(1, Some(1))));
        let why = created(&mut server, name).unwrap_err();
        let expected =
            if lost == LostAnswer::TimeoutAfterWrite { "Timeout: " } else { "the connection closed" };
        assert!(why.starts_with(expected), "{why}");
        let path = format!("/api/v1/namespaces/default/configmaps/{name}");
        assert_eq!(ask(&mut server, Method::Get, &path).code == 200, exists, "{lost:?}");
    }
    server.fail(fault(
        FaultEffect::Lost(LostAnswer::TimeoutAfterWrite),
        RequestFilter::default(),
        Hits::new(1, None),
    ));
    assert_eq!(ask(&mut server, Method::Get, MAP).code, 200, "reads do not lose their answers after a write");
}

#[test]
fn incidents_say_what_was_done_to_whom() {
    let mut server = server(33);
    created(&mut server, "a").unwrap();
    server.keep_incidents(10);
    server.fail(fault(ErrorFault::Conflict, RequestFilter::default(), Hits::new(2, Some(1))));
    for _ in 0..3 {
        ask(&mut server, Method::Patch, MAP);
    }
    let incidents: Vec<String> = server.take_incidents().iter().map(ToString::to_string).collect();
    let [incident] = &incidents[..] else { panic!("{incidents:?}") };
    let expected = "conflict: patch ConfigMap default/a by a client (system:admin): answered 409";
    assert!(incident.ends_with(expected), "{incident}");
    assert!(server.take_incidents().is_empty());
}

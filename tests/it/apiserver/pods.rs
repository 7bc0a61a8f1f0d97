//! Pods: addresses in their status, what an update may change, and requests that need a running container.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, LogRequest, Method, PodRequest, PodResponse, Request, Upstream};
use windtunnel_core::Identity;
use windtunnel_core::log::LogLine;

use super::kinds::{answer, ask, get};
use super::requests::{now, server};

const PODS: &str = "/api/v1/namespaces/default/pods";

/// A server with pod `p` of two containers, on a node if `node` is not empty.
fn with_pod(node: &str, annotations: &Value) -> ApiServer {
    let mut server = server(36);
    let node_object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" } });
    assert_eq!(ask(&mut server, Method::Post, "/api/v1/nodes", &node_object).code, 201);
    let containers = json!([{ "name": "a", "image": "i" }, { "name": "b", "image": "i" }]);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "annotations": annotations },
        "spec": {
            "nodeName": node,
            "containers": containers,
            "initContainers": [{ "name": "first", "image": "i" }],
            "tolerations": [{ "key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5 }],
        },
    });
    assert_eq!(ask(&mut server, Method::Post, PODS, &pod).code, 201);
    server
}

#[test]
fn a_pod_log_comes_from_an_annotation() {
    let mut server = with_pod("n", &json!({ "log.windtunnel.dev/a": "one\ntwo\nthree\n" }));
    let invalid = |why: &str| format!("PodLogOptions \"p\" is invalid: {why}");
    for (query, code, text) in [
        ("?container=a", 200, "one\ntwo\nthree\n"),
        ("?container=a&tailLines=1", 200, "three\n"),
        ("?container=a&limitBytes=5", 200, "one\nt"),
        ("?container=a&previous=true", 400, "previous terminated container \"a\" in pod \"p\" not found"),
        (
            "?container=a&tailLines=-1",
            422,
            &invalid("tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ),
        (
            "?container=a&sinceSeconds=0",
            422,
            &invalid("sinceSeconds: Invalid value: 0: must be greater than 0"),
        ),
        (
            "?container=a&sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z",
            422,
            &invalid("[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"),
        ),
        ("?container=a&stream=All", 422, &invalid("stream: Forbidden: may not be specified")),
        ("?container=a&tailLines=", 400, "strconv.ParseInt: parsing \"\": invalid syntax"),
        ("?container=a&limitBytes=x", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"),
    ] {
        let path = format!("{PODS}/p/log{query}");
        assert_eq!(answer(&mut server, Method::Get, &path, &Value::Null), (code, text.to_owned()), "{query}");
    }
    assert_eq!(answer(&mut server, Method::Put, &format!("{PODS}/p/log"), &json!({})).0, 405);
}

/// A pod whose container `a` has printed three lines, and whose container `b` was restarted after one.
struct Printed;

impl Upstream for Printed {
    fn answer(&self, _: &PodRequest<'_>) -> Option<PodResponse> {
        None
    }

    fn log(&self, request: &LogRequest<'_>) -> Option<Vec<LogLine>> {
        let line = |seconds: i64, text: &str| LogLine {
            at: now() - jiff::SignedDuration::from_secs(seconds),
            text: text.to_owned(),
        };
        match (request.pod.name(), request.container, request.previous) {
            ("p", "a", false) => Some(vec![line(60, "one"), line(30, "two"), line(0, "three")]),
            ("p", "b", false) => Some(vec![line(0, "new")]),
            ("p", "b", true) => Some(vec![line(9, "old")]),
            ("p", "first", false) => Some(Vec::new()),
            _ => None,
        }
    }
}

#[test]
fn a_pod_log_comes_from_its_program_before_the_annotation() {
    let mut server = with_pod("n", &json!({ "log.windtunnel.dev/a": "annotated\n" }));
    server.set_upstream(Arc::new(Printed));
    let since = (now() - jiff::SignedDuration::from_secs(30)).to_string();
    let stamped = format!("{:.9} three\n", now());
    for (query, code, text) in [
        ("container=a", 200, "one\ntwo\nthree\n"),
        ("container=a&sinceSeconds=30", 200, "two\nthree\n"),
        (&format!("container=a&sinceTime={since}"), 200, "two\nthree\n"),
        ("container=a&timestamps=true&tailLines=1", 200, &stamped),
        ("container=a&limitBytes=5", 200, "one\nt"),
        ("container=a&tailLines=0", 200, ""),
        ("container=a&previous=true", 400, "previous terminated container \"a\" in pod \"p\" not found"),
        ("container=b", 200, "new\n"),
        ("container=b&previous=true", 200, "old\n"),
        (
            "container=first",
            501,
            "windtunnel simulates pods and runs no containers: container \"first\" of pod \"p\" has no log",
        ),
    ] {
        let path = format!("{PODS}/p/log?{query}");
        assert_eq!(answer(&mut server, Method::Get, &path, &Value::Null), (code, text.to_owned()), "{query}");
    }
}

#[test]
fn a_container_without_a_log_is_an_error() {
    let mut server = with_pod("n", &json!({}));
    for (path, code, text) in [
        (
            "p/log?container=b",
            501,
            "windtunnel simulates pods and runs no containers: container \"b\" of pod \"p\" has no log",
        ),
        ("p/log", 400, "a container name must be specified for pod p, choose one of: [first a b]"),
        ("p/log?container=zz", 400, "container zz is not valid for pod p"),
        ("q/log", 404, "pods \"q\" not found"),
    ] {
        let path = format!("{PODS}/{path}");
        assert_eq!(answer(&mut server, Method::Get, &path, &Value::Null), (code, text.to_owned()), "{path}");
    }
    let mut server = with_pod("gone", &json!({}));
    let path = format!("{PODS}/p/log?container=a");
    let missing = (404, "pods \"gone\" not found".to_owned());
    assert_eq!(answer(&mut server, Method::Get, &path, &Value::Null), missing);
    // A real server returns this when there is no kubelet to call.
    let mut server = with_pod("", &json!({}));
    let path = format!("{PODS}/p/log?container=a");
    assert_eq!(answer(&mut server, Method::Get, &path, &Value::Null), (204, String::new()));
}

/// The response to a request that upgrades the connection.
fn upgrade(server: &mut ApiServer, path: &str) -> (u16, String) {
    let (admin, path) = (Identity::admin(), format!("{PODS}/{path}"));
    let mut request = Request::new(Method::Post, &path, &admin);
    request.upgrade = true;
    let reply = server.handle(&request, now());
    let status = reply.json().unwrap();
    assert_eq!(status["kind"], "Status");
    (reply.code, status["message"].as_str().unwrap().to_owned())
}

#[test]
fn exec_attach_and_port_forward_are_rejected() {
    const NONE: &str = "windtunnel simulates pods and runs no containers: ";
    let mut server = with_pod("n", &json!({}));
    for (path, code, text) in [
        (
            "p/exec?container=a&command=ls",
            501,
            &*format!("{NONE}container \"a\" of pod \"p\" cannot be reached by exec"),
        ),
        (
            "p/attach?container=b",
            501,
            &*format!("{NONE}container \"b\" of pod \"p\" cannot be reached by attach"),
        ),
        ("p/portforward", 501, &*format!("{NONE}no port of pod \"p\" can be forwarded")),
        ("p/exec?container=zz", 400, "container zz is not valid for pod p"),
        ("q/exec", 404, "pods \"q\" not found"),
    ] {
        assert_eq!(upgrade(&mut server, path), (code, text.to_owned()), "{path}");
    }
    let plain = answer(&mut server, Method::Post, &format!("{PODS}/p/portforward"), &Value::Null);
    assert_eq!(plain, (400, "Upgrade request required".to_owned()));
    let mut server = with_pod("", &json!({}));
    let unbound = (400, "pod p does not have a host assigned".to_owned());
    for path in ["p/exec?container=a", "p/attach?container=a", "p/portforward"] {
        assert_eq!(upgrade(&mut server, path), unbound, "{path}");
    }
}

#[test]
fn pod_ip_and_pod_ips_stay_in_sync() {
    let mut server = with_pod("n", &json!({}));
    let mut check = |status: Value, ip: &str, ips: Value| {
        let path = format!("{PODS}/p/status");
        assert_eq!(ask(&mut server, Method::Patch, &path, &json!({ "status": status })).code, 200);
        let found = get(&mut server, &format!("{PODS}/p"))["status"].clone();
        assert_eq!((&found["podIP"], &found["podIPs"]), (&json!(ip), &ips), "{status}");
        assert!(found["hostIPs"].is_null(), "only kubelets write hostIPs");
    };
    check(json!({ "podIP": "10.0.0.1", "hostIP": "10.0.0.2" }), "10.0.0.1", json!([{ "ip": "10.0.0.1" }]));
    check(json!({ "podIP": "10.0.0.3" }), "10.0.0.3", json!([{ "ip": "10.0.0.3" }]));
    let both = json!([{ "ip": "10.0.0.3" }, { "ip": "fd00::3" }]);
    check(json!({ "podIPs": both }), "10.0.0.3", both.clone());
    check(
        json!({ "podIP": null, "podIPs": [{ "ip": "10.0.0.4" }] }),
        "10.0.0.4",
        json!([{ "ip": "10.0.0.4" }]),
    );
}

#[test]
fn tolerations_can_be_added_and_extended() {
    let mut server = with_pod("n", &json!({}));
    let given = get(&mut server, &format!("{PODS}/p"))["spec"]["tolerations"].as_array().unwrap().clone();
    assert_eq!(given.len(), 3, "DefaultTolerationSeconds adds two");
    let mut patch = |list: &[Value]| {
        let body = json!({ "spec": { "tolerations": list } });
        answer(&mut server, Method::Patch, &format!("{PODS}/p"), &body)
    };
    let immutable = "Pod \"p\" is invalid: spec.tolerations: Forbidden: existing toleration can not be modified except \
                its tolerationSeconds";
    assert_eq!(patch(&given[1..]), (422, immutable.to_owned()));
    let mut other = given.clone();
    other[0]["effect"] = json!("NoSchedule");
    other[0]["tolerationSeconds"] = Value::Null;
    assert_eq!(patch(&other), (422, immutable.to_owned()));
    let mut longer = given.clone();
    longer[0]["tolerationSeconds"] = json!(60);
    longer.push(json!({ "key": "new", "operator": "Exists" }));
    assert_eq!(patch(&longer), (200, String::new()));
    let mut wrong = longer.clone();
    wrong.push(json!({ "key": "x", "operator": "Exists", "value": "v" }));
    let text = "Pod \"p\" is invalid: spec.tolerations[4].operator: Invalid value: \"v\": value must be empty when \
                `operator` is 'Exists'";
    assert_eq!(patch(&wrong), (422, text.to_owned()));
    let mut moved = longer.clone();
    moved.reverse();
    moved[3]["tolerationSeconds"] = Value::Null;
    assert_eq!(patch(&moved), (200, String::new()));
}

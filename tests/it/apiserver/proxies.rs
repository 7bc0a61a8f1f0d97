//! The `proxy` subresource of pods and services: where requests go, and what happens without an upstream.

use std::sync::Arc;

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, PodRequest, PodResponse, ReplyBody, Request, Upstream};
use windtunnel_core::{Identity, Write, resources};

use super::requests::{now, server};

/// Answers each request to port 9099 with a description of the request.
struct Echo;

impl Upstream for Echo {
    fn answer(&self, request: &PodRequest<'_>) -> Option<PodResponse> {
        let pods = request.view.list(&resources::PODS).count();
        let text = format!("{} {} {} of {pods}", request.scheme, request.pod.name(), request.path);
        (request.port == 9099).then(|| PodResponse::text(200, text))
    }
}

/// A pod with an address, and a Service that selects it.
fn cluster() -> ApiServer {
    let (mut server, admin) = (server(31), Identity::admin());
    let mut put = |write: Write| drop(server.write(&write, &admin, now()).unwrap());
    let pod = json!({
        "metadata": { "namespace": "default", "name": "p" },
        "spec": { "containers": [{ "name": "c", "image": "i", "ports": [{ "containerPort": 9099 }] }] },
    });
    put(Write::create(&resources::PODS, pod));
    let address = json!({ "status": { "podIP": "10.1.2.3" } });
    put(Write::merge_patch_status(&resources::PODS, "default", "p", address));
    let ports =
        json!([{ "name": "metrics", "port": 80, "targetPort": 9099 }, { "name": "none", "port": 81 }]);
    for name in ["s", "empty"] {
        let metadata = json!({ "namespace": "default", "name": name });
        put(Write::create(&resources::SERVICES, json!({ "metadata": metadata, "spec": { "ports": ports } })));
    }
    let target = json!({ "kind": "Pod", "namespace": "default", "name": "p" });
    let endpoints = json!({
        "metadata": { "namespace": "default", "name": "s" },
        "subsets": [{ "addresses": [{ "ip": "10.1.2.3", "targetRef": target }],
                      "ports": [{ "name": "metrics", "port": 9099 }] }],
    });
    put(Write::create(&resources::ENDPOINTS, endpoints));
    server
}

/// Code and text of the response to a `GET` in namespace `default`.
fn get(server: &mut ApiServer, path: &str) -> (u16, String) {
    let (path, admin) = (format!("/api/v1/namespaces/default/{path}"), Identity::admin());
    let reply = server.handle(&Request::new(Method::Get, &path, &admin), now());
    let text = match &reply.body {
        ReplyBody::Bytes { bytes, .. } => String::from_utf8(bytes.to_vec()).unwrap(),
        _ => reply.json().unwrap_or(Value::Null)["message"].as_str().unwrap_or_default().to_owned(),
    };
    (reply.code, text)
}

#[test]
fn a_proxy_request_reaches_the_pod_by_pod_or_service_name() {
    let mut server = cluster();
    server.set_upstream(Arc::new(Echo));
    for (path, code, expected) in [
        ("pods/p/proxy/", 200, "http p / of 1"),
        ("pods/https:p:9099/proxy/a/b", 200, "https p /a/b of 1"),
        ("services/https:s:metrics/proxy/metrics", 200, "https p /metrics of 1"),
        ("services/s:80/proxy/metrics", 200, "http p /metrics of 1"),
        (
            "pods/p:80/proxy/",
            503,
            "error trying to reach service: dial tcp 10.1.2.3:80: connect: connection refused",
        ),
        ("pods/p:x/proxy/", 400, "invalid port \"x\""),
        ("pods/ftp:p:1/proxy/", 400, "invalid pod request \"ftp:p:1\""),
        ("pods/q/proxy/", 404, "pods \"q\" not found"),
        ("services/s:82/proxy/", 503, "no service port 82 found for service \"s\""),
        ("services/s:none/proxy/", 503, "no endpoints available for service \"s:none\""),
        ("services/s/proxy/", 503, "no endpoints available for service \"s\""),
        // A Service without Endpoints counts as absent.
        ("services/empty:metrics/proxy/", 404, "services \"empty\" not found"),
        ("services/none:80/proxy/", 404, "services \"none\" not found"),
    ] {
        assert_eq!(get(&mut server, path), (code, expected.to_owned()), "{path}");
    }
}

#[test]
fn without_an_upstream_connections_are_refused() {
    let message = "error trying to reach service: dial tcp 10.1.2.3:9099: connect: connection refused";
    assert_eq!(get(&mut cluster(), "pods/p/proxy/"), (503, message.to_owned()));
}

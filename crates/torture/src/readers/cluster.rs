//! An API server with some objects, which each read starts from.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windtunnel_apiserver::service::Shared;
use windtunnel_apiserver::{ApiServer, Body, Method, Poll, ReplyBody, Request};
use windtunnel_core::Identity;
use windtunnel_core::clock::{Time, VirtualClock};

/// The definitions of custom resources.
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The collection of the custom resource.
pub(super) const WIDGETS: &str = "/apis/example.io/v1/namespaces/default/widgets";

/// The longest virtual time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the time of every read.
pub(super) fn now() -> Time {
    Time::constant(1_704_067_200, 0)
}

/// Returns a copy of a server with objects of several kinds in the namespace `default`.
pub(super) fn server() -> ApiServer {
    thread_local! {
        static SERVER: ApiServer = installed();
    }
    SERVER.with(ApiServer::clone)
}

fn installed() -> ApiServer {
    let mut server = ApiServer::builder().kubernetes(34).seed(7).history(100).build(now());
    for (collection, object) in objects() {
        let code = send(&mut server, Method::Post, collection, "", object.to_string().into_bytes());
        assert!(code == 201, "{code}: {collection} {object}");
    }
    server
}

fn objects() -> Vec<(&'static str, Value)> {
    let container = json!({ "name": "c", "image": "i", "ports": [{ "containerPort": 80 }],
        "env": [{ "name": "A", "value": "1" }], "resources": { "requests": { "cpu": "100m" } } });
    let template = json!({ "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [container] } });
    vec![
        (
            "/api/v1/namespaces/default/configmaps",
            json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "labels": { "l": "m" } }, "data": { "k": "v", "n": "1" } }),
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            json!({ "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "a" }, "spec": { "replicas": 1, "selector": { "matchLabels": { "app": "a" } },
            "template": template } }),
        ),
        (
            "/api/v1/namespaces/default/pods",
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "a", "labels": { "app": "a" } }, "spec": template["spec"] }),
        ),
        (
            DEFINITIONS,
            widgets(&json!({ "type": "object", "properties": { "spec": { "type": "object",
            "x-kubernetes-preserve-unknown-fields": true } } })),
        ),
        (
            WIDGETS,
            json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "a" },
            "spec": { "size": 1, "list": [{ "name": "x" }] } }),
        ),
    ]
}

/// Returns the definition of the custom resource, with this schema.
pub(super) fn widgets(schema: &Value) -> Value {
    json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.io" }, "spec": { "group": "example.io", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": schema } }] } })
}

/// Sends a request of an administrator, reads the whole answer, and returns its code.
pub(super) fn send(server: &mut ApiServer, method: Method, path: &str, media: &str, body: Vec<u8>) -> u16 {
    let admin = Identity::admin();
    let mut request = Request::new(method, path, &admin).with_content_type(media);
    request.user_agent = "torture/1.0".into();
    if !body.is_empty() {
        request.body = Body::Bytes(body.into());
    }
    let mut reply = server.handle(&request, now());
    let _ = reply.encode();
    if let ReplyBody::Watch(watch) = &mut reply.body {
        while matches!(server.poll(watch, now()), Poll::Lines(_)) {}
    }
    reply.code
}

/// Runs a client of a server in virtual time. A client that waits for too long is stopped.
pub(super) fn with_clients<F: Future<Output = ()>>(
    server: ApiServer,
    client: impl FnOnce(Shared, Arc<VirtualClock>) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    // A runtime without IO needs nothing of the system that may be missing.
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let clock = VirtualClock::starting_at(now());
        let shared = Shared::new(server, clock.clone());
        let _ = tokio::time::timeout(PATIENCE, client(shared, clock)).await;
    });
}

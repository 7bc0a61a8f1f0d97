//! Kinds that only clients of a served cluster need, and the Route `thanos-querier`, by which clients such as `oc` find
//! Prometheus: it leads to the API server's own address.

use serde_json::{Value, json};
use windtunnel_apiserver::https::Serving;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, INFRASTRUCTURES};
use windtunnel_core::{Identity, Object, Write};
use windtunnel_openshift::manifests;

/// Namespace and name of the Route.
pub(super) const NAME: &str = "openshift-monitoring/thanos-querier";

/// Returns the definitions of kinds that no simulated component uses; in real clusters aggregated API servers serve some
/// of them.
pub(super) fn definitions() -> impl Iterator<Item = Value> {
    manifests::objects("served").iter().cloned()
}

/// Creates these definitions, the objects `cluster` of the configuration, and the Route.
pub(super) fn create(shared: &Shared, serving: &Serving) {
    let now = shared.now();
    shared.with(|server| {
        for definition in definitions() {
            // It may exist.
            let write = Write::create(&CUSTOM_RESOURCE_DEFINITIONS, definition);
            let _ = server.write(&write, &Identity::admin(), now);
        }
        let infrastructure = server.object(&INFRASTRUCTURES, "", "cluster");
        server.import(configuration(infrastructure.as_ref()), now);
    });
    point(shared, serving);
}

/// The objects `cluster` of OAuth and of the configuration of ingress, as the installer leaves them.
fn configuration(infrastructure: Option<&Object>) -> Vec<Value> {
    let url = infrastructure.map_or("", |object| object.text("/status/apiServerURL"));
    let host = url.trim_start_matches("https://api.").split(':').next().unwrap_or_default();
    let object = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": kind,
            "metadata": { "name": "cluster" },
            "spec": spec,
        })
    };
    if host.is_empty() {
        return Vec::new();
    }
    vec![object("OAuth", json!({})), object("Ingress", json!({ "domain": format!("apps.{host}") }))]
}

/// Creates the Route.
pub(super) fn point(shared: &Shared, serving: &Serving) {
    let host = serving.url().trim_start_matches("https://").to_owned();
    let (namespace, name) = NAME.split_once('/').unwrap_or_default();
    let route = json!({
        "apiVersion": "route.openshift.io/v1",
        "kind": "Route",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "host": host, "path": "/api", "to": { "kind": "Service", "name": name } },
        "status": { "ingress": [{ "host": host }] },
    });
    let now = shared.now();
    shared.with(|server| server.import(vec![route], now));
}

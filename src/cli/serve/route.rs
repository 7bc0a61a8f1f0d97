//! The Route `thanos-querier`, by which clients such as `oc` find Prometheus: it leads to the API server's own address.

use serde_json::{Value, json};
use windtunnel_apiserver::https::Serving;
use windtunnel_apiserver::service::Shared;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::{Identity, Write};
use windtunnel_openshift::manifests;

/// Namespace and name of the Route.
pub(super) const NAME: &str = "openshift-monitoring/thanos-querier";

/// Returns the definitions of kinds that aggregated API servers serve in real clusters.
pub(super) fn definitions() -> impl Iterator<Item = Value> {
    manifests::objects("served").iter().cloned()
}

/// Creates the definition of Routes and the Route.
pub(super) fn create(shared: &Shared, serving: &Serving) {
    let now = shared.now();
    shared.with(|server| {
        for definition in definitions() {
            // It may exist.
            let write = Write::create(&CUSTOM_RESOURCE_DEFINITIONS, definition);
            let _ = server.write(&write, &Identity::admin(), now);
        }
    });
    point(shared, serving);
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

//! The Route `thanos-querier`, by which clients such as `oc` find Prometheus: it leads to the API server's own address.

use serde_json::json;
use windtunnel_apiserver::https::Serving;
use windtunnel_apiserver::service::Shared;

/// Namespace and name of the Route.
pub(super) const NAME: &str = "openshift-monitoring/thanos-querier";

/// Creates the Route.
pub(super) fn create(shared: &Shared, serving: &Serving) {
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

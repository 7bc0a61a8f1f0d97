//! Kinds that only clients of a served cluster need; in real clusters aggregated API servers serve some of them.

use serde_json::{Value, json};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, INFRASTRUCTURES};
use windtunnel_core::{Identity, Object, Write};
use windtunnel_openshift::manifests;

/// Returns the definitions of these kinds, which no simulated component uses.
pub(super) fn definitions() -> impl Iterator<Item = Value> {
    manifests::objects("served").iter().cloned()
}

/// Creates these definitions, and the objects `cluster` of the configuration.
pub(super) fn create(shared: &Shared) {
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

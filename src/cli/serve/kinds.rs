//! Kinds that only clients of a served cluster need; in real clusters aggregated API servers serve some of them.

use serde_json::{Value, json};
use windtunnel_apiserver::service::Shared;
use windtunnel_core::resources::{
    CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CUSTOM_RESOURCE_DEFINITIONS, INFRASTRUCTURES,
};
use windtunnel_core::{Identity, Object, Resource, Write};
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
        for (resource, object) in rights() {
            // It may exist.
            let _ = server.write(&Write::create(&resource, object), &Identity::admin(), now);
        }
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

/// The roles of users, as OpenShift's authorization bootstraps them: who they are, which projects they see, and who may request
/// one.
fn rights() -> Vec<(Resource, Value)> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let role = |name: &str, label: &str, rules: Value| {
        let mut metadata = json!({ "name": name });
        if !label.is_empty() {
            metadata["labels"] = json!({ (format!("{RBAC}/aggregate-to-{label}")): "true" });
        }
        let role = json!({ "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": metadata, "rules": rules });
        (CLUSTER_ROLES, role)
    };
    let binding = |name: &str, role: &str, group: &str| {
        let binding = json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": { "name": name },
            "roleRef": { "apiGroup": RBAC, "kind": "ClusterRole", "name": role },
            "subjects": [{ "apiGroup": RBAC, "kind": "Group", "name": group }],
        });
        (CLUSTER_ROLE_BINDINGS, binding)
    };
    let projects = |resource: &str, verbs: &[&str]| json!({ "apiGroups": ["project.openshift.io"], "resources": [resource], "verbs": verbs });
    let metrics = json!([{ "apiGroups": ["metrics.k8s.io"], "resources": ["nodes", "pods"], "verbs": ["get", "list"] }]);
    vec![
        role(
            "basic-user",
            "",
            json!([
                {
                    "apiGroups": ["user.openshift.io"], "resources": ["users"], "resourceNames": ["~"],
                    "verbs": ["get"],
                },
                projects("projectrequests", &["list"]),
                projects("projects", &["list", "watch"]),
                { "apiGroups": [RBAC], "resources": ["clusterroles"], "verbs": ["get", "list", "watch"] },
                { "apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": ["get", "list"] },
            ]),
        ),
        role("self-provisioner", "", json!([projects("projectrequests", &["create"])])),
        role(
            "system:openshift:aggregate-to-admin",
            "admin",
            json!([projects("projects", &["delete", "get", "patch", "update"])]),
        ),
        role("system:openshift:aggregate-to-edit", "edit", json!([projects("projects", &["get"])])),
        role("system:openshift:aggregate-to-view", "view", json!([projects("projects", &["get"])])),
        role("system:aggregated-metrics-reader", "view", metrics),
        binding("basic-users", "basic-user", "system:authenticated"),
        binding("self-provisioners", "self-provisioner", "system:authenticated:oauth"),
    ]
}

//! The Deployment of the machine-config controller and the DaemonSet of the machine-config servers, in clusters whose workloads
//! have pods. Both programs are simulated outside of these.

use serde_json::{Value, json};
use windtunnel_core::resources::{self, DAEMON_SETS, DEPLOYMENTS};
use windtunnel_core::{Resource, View, Write};

use super::daemon_set::COMPONENT;
use super::{CONTROLLER, DAEMON, NAMESPACE};
use crate::release::Release;

const SERVER: &str = "machine-config-server";

/// The objects of a release: the workloads, and their ServiceAccounts with the right to run privileged pods.
pub fn operands(release: &Release) -> Vec<Value> {
    let image = release.image_of(COMPONENT);
    let accounts = [CONTROLLER, DAEMON, SERVER].map(|name| {
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": NAMESPACE } })
    });
    let subjects = [DAEMON, SERVER]
        .map(|name| json!({ "kind": "ServiceAccount", "name": name, "namespace": NAMESPACE }));
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": { "name": "machine-config-daemon-privileged" },
        "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": "system:openshift:scc:privileged" },
        "subjects": subjects,
    });
    accounts.into_iter().chain([binding, controller(&image), server(&image)]).collect()
}

/// The writes that create these objects, and update the workloads to a release.
pub(super) fn writes(release: &Release, view: &View) -> Vec<Write> {
    let wanted = operands(release).into_iter();
    wanted
        .filter_map(|object| {
            let resource = resources::find_for_object(&object)?;
            let Some(found) = view.get_key(&resource.key_of(&object)) else {
                return Some(Write::create(resource, object));
            };
            let image = "/spec/template/spec/containers/0/image";
            let is_current = found.pointer(image) == object.pointer(image);
            (!is_current).then(|| update(resource, found.name(), &object))
        })
        .collect()
}

fn update(resource: &Resource, name: &str, wanted: &Value) -> Write {
    let patch = json!({ "spec": { "template": wanted["spec"]["template"] } });
    Write::merge_patch(resource, NAMESPACE, name, patch)
}

fn controller(image: &str) -> Value {
    let labels = json!({ "k8s-app": CONTROLLER });
    json!({
        "apiVersion": DEPLOYMENTS.api_version(),
        "kind": DEPLOYMENTS.kind,
        "metadata": { "namespace": NAMESPACE, "name": CONTROLLER, "labels": labels },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": template(&labels, CONTROLLER, image, false),
        },
    })
}

fn server(image: &str) -> Value {
    let labels = json!({ "k8s-app": SERVER });
    json!({
        "apiVersion": DAEMON_SETS.api_version(),
        "kind": DAEMON_SETS.kind,
        "metadata": { "namespace": NAMESPACE, "name": SERVER, "labels": labels },
        "spec": {
            "selector": { "matchLabels": labels },
            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1 } },
            "template": template(&labels, SERVER, image, true),
        },
    })
}

/// A pod template for nodes of the control plane.
fn template(labels: &Value, name: &str, image: &str, host_network: bool) -> Value {
    let command = format!("/usr/bin/{name}");
    let mut spec = json!({
        "containers": [{ "name": name, "image": image, "command": [command], "args": ["start"] }],
        "nodeSelector": { "node-role.kubernetes.io/master": "" },
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": name,
        "tolerations": [{ "key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule" }],
    });
    if host_network {
        spec["hostNetwork"] = json!(true);
    }
    json!({ "metadata": { "labels": labels }, "spec": spec })
}

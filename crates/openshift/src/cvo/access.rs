//! What cluster operators may do: the roles and bindings that the payload has for them.

use serde_json::{Value, json};

use crate::release::Operator;

/// Operators that OpenShift makes administrators of the cluster, by their Deployments.
const ADMINISTRATORS: [&str; 13] = [
    "authentication-operator",
    "cluster-storage-operator",
    "etcd-operator",
    "kube-apiserver-operator",
    "kube-controller-manager-operator",
    "kube-storage-version-migrator-operator",
    "machine-config-operator",
    "network-operator",
    "openshift-apiserver-operator",
    "openshift-config-operator",
    "openshift-controller-manager-operator",
    "openshift-kube-scheduler-operator",
    "service-ca-operator",
];
const GROUP: &str = "rbac.authorization.k8s.io";

/// The objects of an operator's access. One that is no administrator has a role of its own, of which the part is there
/// that all of them have: to report in a ClusterOperator.
pub(super) fn objects(operator: &Operator) -> Vec<Value> {
    let name = operator.deployment.as_str();
    if ADMINISTRATORS.contains(&name) {
        let binding = binding(operator, &format!("system:openshift:operator:{name}"), "cluster-admin");
        return vec![binding];
    }
    let role = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": name },
        "rules": [{
            "apiGroups": ["config.openshift.io"],
            "resources": ["clusteroperators", "clusteroperators/status"],
            "verbs": ["get", "list", "watch", "create", "update"],
        }],
    });
    vec![role, binding(operator, name, name)]
}

fn binding(operator: &Operator, name: &str, role: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "name": operator.deployment, "namespace": operator.namespace }],
    })
}

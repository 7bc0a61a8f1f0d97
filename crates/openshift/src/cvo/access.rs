//! The RBAC objects of cluster operators in the payload.

use serde_json::{Value, json};

use crate::operators;
use crate::release::OperatorFacts;

/// Deployments of the operators that OpenShift makes cluster administrators.
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
/// The ServiceAccount of version pods, in releases that have one.
pub(super) const PAYLOAD_ACCOUNT: &str = "update-payload";
const GROUP: &str = "rbac.authorization.k8s.io";

/// Returns the RBAC objects of an operator. An operator that is no administrator gets a ClusterRole of its
/// own. Of its real rules only two are simulated: it may report in a ClusterOperator, and manage its workloads.
pub(super) fn objects(operator: &OperatorFacts) -> Vec<Value> {
    let name = operator.deployment.as_str();
    if ADMINISTRATORS.contains(&name) {
        let binding = binding(operator, &format!("system:openshift:operator:{name}"), "cluster-admin");
        return vec![binding];
    }
    let mut rules = vec![json!({
        "apiGroups": ["config.openshift.io"],
        "resources": ["clusteroperators", "clusteroperators/status"],
        "verbs": ["get", "list", "watch", "create", "update"],
    })];
    if operators::has_operands(&operator.cluster_operator) {
        rules.extend(rules_for_workloads());
    }
    let role = json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterRole",
        "metadata": { "name": name },
        "rules": rules,
    });
    vec![role, binding(operator, name, name)]
}

/// The rules of an operator that creates workloads, some on the network of their nodes.
fn rules_for_workloads() -> [Value; 2] {
    [
        json!({
            "apiGroups": ["", "apps", "policy", GROUP],
            "resources": [
                "namespaces", "serviceaccounts", "deployments", "daemonsets", "statefulsets", "poddisruptionbudgets", "rolebindings",
            ],
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"],
        }),
        json!({
            "apiGroups": ["security.openshift.io"],
            "resources": ["securitycontextconstraints"],
            "resourceNames": ["privileged"],
            "verbs": ["use"],
        }),
    ]
}

fn binding(operator: &OperatorFacts, name: &str, role: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "name": operator.deployment, "namespace": operator.namespace }],
    })
}

//! The node authorizer (`NodeAuthorizer`). Kubelets have the rules of the role `system:node`; of some kinds they may
//! only access the objects of their own node.

use serde_json::Value;

use super::attributes::Attributes;
use crate::access::attributes::Subject;
use crate::access::rbac::policy::Decision;
use crate::access::rbac::rule::Rule;
use crate::store::{Store, Stored};

/// Kubelets are users with this name prefix in this group.
const USER: &str = "system:node:";
const GROUP: &str = "system:nodes";
/// The namespace of node leases.
const LEASES: &str = "kube-node-lease";
const LEASE_VERBS: [&str; 5] = ["get", "create", "update", "patch", "delete"];

/// The node name of a kubelet; `None` for other users.
pub(super) fn node_of(who: Subject<'_>) -> Option<&str> {
    let node = who.user.strip_prefix(USER)?;
    who.groups.contains(&GROUP).then_some(node)
}

/// Decides for a kubelet, by the rules of its role and the pods that are bound to its node.
pub(super) fn decide(
    node: &str,
    rules: &[Rule],
    pods: impl Iterator<Item = Stored>,
    asked: &Attributes<'_>,
) -> Decision {
    let outcome = match (&*asked.group, &*asked.resource) {
        ("", kind @ ("secrets" | "configmaps")) => check_read(node, kind, pods, asked),
        ("coordination.k8s.io", "leases") => check_own(node, asked, Some(LEASES)),
        ("storage.k8s.io", "csinodes") => check_own(node, asked, None),
        _ if rules.iter().any(|rule| rule.allows(asked)) => Ok(()),
        _ => Err(String::new()),
    };
    Decision { allowed: outcome.is_ok(), reason: outcome.err().unwrap_or_default() }
}

/// Allows reading a single object to which a pod of the node refers (`authorizeReadNamespacedObject`).
fn check_read(
    node: &str,
    kind: &str,
    mut pods: impl Iterator<Item = Stored>,
    asked: &Attributes<'_>,
) -> Result<(), String> {
    if !matches!(&*asked.verb, "get" | "list" | "watch") {
        return Err("can only read resources of this type".to_owned());
    }
    if !asked.subresource.is_empty() {
        return Err("cannot read subresource".to_owned());
    }
    if asked.namespace.is_empty() {
        return Err("can only read namespaced object of this type".to_owned());
    }
    if asked.name.is_empty() {
        return Err("No Object name found".to_owned());
    }
    let is_on_node =
        |pod: &Value| pod["spec"]["nodeName"] == node && pod["metadata"]["namespace"] == *asked.namespace;
    if pods.any(|pod| is_on_node(&pod) && refers(&pod["spec"], kind, &asked.name)) {
        return Ok(());
    }
    Err(format!("no relationship found between node '{node}' and this object"))
}

/// Whether a pod refers to the object, in volumes, variables or pull secrets.
fn refers(spec: &Value, kind: &str, name: &str) -> bool {
    let (named, fields) = match kind {
        "secrets" => ("secretName", ["secret", "secretRef", "secretKeyRef", "imagePullSecrets"]),
        _ => ("name", ["configMap", "configMapRef", "configMapKeyRef", "configMap"]),
    };
    match spec {
        Value::Object(map) => map.iter().any(|(field, value)| {
            let is_reference = fields.contains(&field.as_str());
            let names_object = |value: &Value| value["name"] == name || value[named] == name;
            (is_reference
                && (names_object(value) || value.as_array().is_some_and(|all| all.iter().any(names_object))))
                || refers(value, kind, name)
        }),
        Value::Array(items) => items.iter().any(|item| refers(item, kind, name)),
        _ => false,
    }
}

/// Allows access to the object with the node's own name (`authorizeLease` and `authorizeCSINode`).
fn check_own(node: &str, asked: &Attributes<'_>, namespace: Option<&str>) -> Result<(), String> {
    let what = if namespace.is_some() { "node lease" } else { "CSINode" };
    if !LEASE_VERBS.contains(&&*asked.verb) {
        return Err(format!("can only get, create, update, patch, or delete a {what}"));
    }
    if namespace.is_some_and(|only| asked.namespace != only) {
        return Err(format!("can only access leases in the {LEASES:?} system namespace"));
    }
    if namespace.is_none() && !asked.subresource.is_empty() {
        return Err("cannot authorize CSINode subresources".to_owned());
    }
    // A create request has the name in its body, which authorizers do not see.
    if asked.name != node && (asked.verb != "create" || !asked.name.is_empty()) {
        return Err(format!("can only access {what} with the same name as the requesting node"));
    }
    Ok(())
}

/// All stored pods; none if `table` is `None`.
pub(super) fn pods(store: &Store, table: Option<crate::store::TableId>) -> impl Iterator<Item = Stored> {
    table.into_iter().flat_map(|table| store.list(table, "").map(|(_, _, entry)| entry.served()))
}

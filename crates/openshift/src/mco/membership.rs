//! The MachineConfigPool of each node.

use serde_json::Value;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Object, View, selector};

/// The pool of control-plane nodes, which takes precedence over any other.
pub(super) const MASTER: &str = "master";
/// The pool of nodes that match no other pool.
pub(super) const WORKER: &str = "worker";

/// The label of a node with its operating system, and its value for Windows.
pub(super) const OS: &str = "kubernetes.io/os";
pub(super) const WINDOWS: &str = "windows";

/// The pool that updates a node: the control plane's pool, or else the only custom pool that selects it, or
/// else the worker pool (`GetPoolsForNode`).
///
/// # Errors
/// More than one custom pool selects it.
pub(super) fn pool_of<'a>(node: &Object, pools: &[&'a Object]) -> Result<Option<&'a str>, String> {
    if is_windows(node) {
        return Ok(None);
    }
    let selects_node = |pool: &&&Object| selects(&pool["spec"]["nodeSelector"], node);
    let selecting: Vec<&str> = pools.iter().filter(selects_node).map(|pool| pool.name()).collect();
    let own: Vec<&str> = selecting.iter().copied().filter(|name| ![MASTER, WORKER].contains(name)).collect();
    if own.len() > 1 {
        let (node, count) = (node.name(), own.len());
        return Err(format!("node {node} belongs to {count} custom roles, cannot proceed with this Node"));
    }
    let master = selecting.iter().find(|name| **name == MASTER);
    Ok(master.or(own.first()).or(selecting.first()).copied())
}

/// Another operator manages the nodes with Windows; they are in no pool.
pub(super) fn is_windows(node: &Object) -> bool {
    node.label(OS) == Some(WINDOWS)
}

/// The names of control-plane nodes that exactly one custom pool selects as well (`GetPoolsForNode`).
pub(crate) fn nodes_in_custom_pools(view: &View) -> Vec<&str> {
    let pools = pools(view);
    let selects_node = |pool: &&&Object, node: &Object| selects(&pool["spec"]["nodeSelector"], node);
    let is_own = |pool: &&&Object| ![MASTER, WORKER].contains(&pool.name());
    let is_contested = |node: &&Object| {
        let is_of_master = pools.iter().any(|pool| pool.name() == MASTER && selects_node(&pool, node));
        is_of_master && pools.iter().filter(is_own).filter(|pool| selects_node(pool, node)).count() == 1
    };
    view.list(&NODES).filter(is_contested).map(Object::name).collect()
}

/// The pools of the cluster, by name.
pub(super) fn pools(view: &View) -> Vec<&Object> {
    view.list(&MACHINE_CONFIG_POOLS).collect()
}

/// Returns whether a label selector selects `object`. Unlike elsewhere, an empty selector selects nothing.
pub(super) fn selects(selector: &Value, object: &Object) -> bool {
    let is_empty = selector.as_object().is_none_or(|selector| {
        let is_empty_part = |part: &Value| match part {
            Value::Object(labels) => labels.is_empty(),
            Value::Array(expressions) => expressions.is_empty(),
            _ => true,
        };
        selector.values().all(is_empty_part)
    });
    !is_empty && selector::selector_matches(selector, &object["metadata"]["labels"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pool(name: &str) -> Object {
        let label = format!("node-role.kubernetes.io/{name}");
        let selector = json!({ "matchLabels": { (label): "" } });
        Object::new(json!({ "metadata": { "name": name }, "spec": { "nodeSelector": selector } }))
    }

    fn pool_for(roles: &[&str]) -> Result<Option<&'static str>, String> {
        let pools: Vec<Object> = ["infra", "master", "storage", "worker"].map(pool).into();
        let mut labels = json!({});
        for role in roles {
            labels[format!("node-role.kubernetes.io/{role}")] = json!("");
        }
        let node = Object::new(json!({ "metadata": { "name": "n", "labels": labels } }));
        let found = pool_of(&node, &pools.iter().collect::<Vec<_>>())?;
        Ok(found
            .map(|name| ["infra", "master", "storage", "worker"].into_iter().find(|n| *n == name).unwrap()))
    }

    #[test]
    fn the_master_pool_wins_over_the_only_custom_pool_which_wins_over_workers() {
        assert_eq!(pool_for(&["worker"]), Ok(Some("worker")));
        assert_eq!(pool_for(&["worker", "infra"]), Ok(Some("infra")));
        assert_eq!(pool_for(&["worker", "infra", "master"]), Ok(Some("master")));
        assert_eq!(pool_for(&["router"]), Ok(None));
        let several = "node n belongs to 2 custom roles, cannot proceed with this Node";
        assert_eq!(pool_for(&["worker", "infra", "storage"]), Err(several.to_owned()));
        assert_eq!(pool_for(&["master", "infra", "storage"]), Err(several.to_owned()));
    }

    #[test]
    fn a_windows_node_is_in_no_pool() {
        let workers = pool("worker");
        let labels = |os: &str| json!({ "node-role.kubernetes.io/worker": "", (OS): os });
        for (os, expected) in [("linux", Some("worker")), ("windows", None)] {
            let node = Object::new(json!({ "metadata": { "name": "n", "labels": labels(os) } }));
            assert_eq!(pool_of(&node, &[&workers]), Ok(expected), "{os}");
        }
    }

    #[test]
    fn an_empty_selector_selects_nothing() {
        let node = Object::new(json!({ "metadata": { "labels": { "a": "1" } } }));
        for empty in [json!(null), json!({}), json!({ "matchLabels": {} }), json!({ "matchExpressions": [] })]
        {
            assert!(!selects(&empty, &node), "{empty}");
        }
        assert!(selects(&json!({ "matchLabels": { "a": "1" }, "matchExpressions": [] }), &node));
    }
}

//! Nodes and their pools, as the machine-config controller judges them.

use serde_json::Value;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::selector::selector_matches;
use windtunnel_core::{Object, View, condition, node, text_of};
use windtunnel_openshift::mco::annotations::{CURRENT_CONFIG, DESIRED_CONFIG, STATE};

const MASTER: &str = "master";
const WORKER: &str = "worker";
const ARBITER: &str = "arbiter";

/// Returns the pool of a node. A node that several custom pools select is in none.
pub fn pool_of<'v>(node: &Object, view: &'v View) -> Option<&'v Object> {
    let selected: Vec<&Object> = view
        .list(&MACHINE_CONFIG_POOLS)
        .filter(|pool| selects(&pool["spec"]["nodeSelector"], node))
        .collect();
    let named = |name: &str| selected.iter().copied().find(|pool| pool.name() == name);
    let mut custom = selected.iter().copied().filter(|pool| ![MASTER, WORKER].contains(&pool.name()));
    match (named(MASTER), custom.next(), custom.next()) {
        (Some(master), ..) => Some(master),
        (None, Some(only), None) => Some(only),
        (None, Some(_), Some(_)) => None,
        (None, None, _) => named(WORKER),
    }
}

/// Returns the nodes of a pool.
pub(super) fn members<'v>(pool: &'v Object, view: &'v View) -> impl Iterator<Item = &'v Object> {
    view.list(&NODES).filter(move |node| pool_of(node, view).is_some_and(|found| found.name() == pool.name()))
}

/// An empty selector selects no node.
fn selects(selector: &Value, node: &Object) -> bool {
    let is_empty = |part: &str| match &selector[part] {
        Value::Object(labels) => labels.is_empty(),
        Value::Array(expressions) => expressions.is_empty(),
        _ => true,
    };
    !(is_empty("matchLabels") && is_empty("matchExpressions"))
        && selector_matches(selector, &node["metadata"]["labels"])
}

/// Returns how many nodes of a pool may be unavailable (`maxUnavailable` of `pkg/controller/node`): at least one.
pub(super) fn max_unavailable(pool: &Object, nodes: usize) -> usize {
    let setting = if pool.name() == ARBITER { &Value::Null } else { &pool["spec"]["maxUnavailable"] };
    let percent = |text: &str| text.strip_suffix('%').and_then(|number| number.parse::<usize>().ok());
    let number = match setting {
        Value::String(text) => {
            percent(text).map(|percent| nodes * percent / 100).or_else(|| text.parse().ok())
        }
        Value::Number(number) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
        _ => None,
    };
    number.unwrap_or(1).max(1)
}

/// Returns whether pods can run on a node (`checkNodeReady`).
pub(super) fn is_ready(node: &Object) -> bool {
    let has = |kind: &str, wanted: &str| {
        condition::find_in_status(node, kind).is_none_or(|found| text_of(found, "status") == wanted)
    };
    has("Ready", "True")
        && has("DiskPressure", "False")
        && has("NetworkUnavailable", "False")
        && !node::is_unschedulable(node)
}

/// Returns whether a node counts as unavailable (`getUnavailableMachines`): it cannot run pods, or its update is in
/// progress and has not failed.
pub(super) fn is_unavailable(node: &Object) -> bool {
    let has_failed = matches!(text(node, STATE), "Degraded" | "Unreconcilable");
    let is_current = text(node, CURRENT_CONFIG) == text(node, DESIRED_CONFIG);
    let is_done = is_current && text(node, STATE) == "Done" && !text(node, DESIRED_CONFIG).is_empty();
    !is_ready(node) || !(is_done || has_failed && !is_current)
}

/// Returns an annotation of a node; empty if it has none.
pub(super) fn text<'o>(node: &'o Object, annotation: &str) -> &'o str {
    node.annotation(annotation).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn at_least_one_node_may_be_unavailable() {
        let of = |setting: Value, nodes| {
            max_unavailable(&Object::new(json!({ "spec": { "maxUnavailable": setting } })), nodes)
        };
        assert_eq!(
            [of(Value::Null, 5), of(json!(0), 5), of(json!(2), 5), of(json!("50%"), 5), of(json!("10%"), 5)],
            [1, 1, 2, 2, 1]
        );
    }

    #[test]
    fn nodes_in_their_update_are_unavailable_until_they_fail() {
        let node = |current: &str, state: &str, cordoned: bool| {
            Object::new(json!({
                "metadata": { "annotations": { (CURRENT_CONFIG): current, (DESIRED_CONFIG): "b", (STATE): state } },
                "spec": { "unschedulable": cordoned },
            }))
        };
        let found = |current, state, cordoned| is_unavailable(&node(current, state, cordoned));
        assert!(!found("b", "Done", false));
        assert!(found("b", "Done", true));
        assert!(found("a", "Done", false));
        assert!(found("a", "Working", false));
        assert!(!found("a", "Degraded", false));
    }
}

//! Nodes: the first taint, and the fields of dynamic kubelet configuration, which no server has any more.

use serde_json::{Value, json};

use super::drop_unless_used;

/// The taint of a node that is not known to be ready (`TaintNodesByCondition`).
const NOT_READY: &str = "node.kubernetes.io/not-ready";
const CONFIG_SOURCE: (&str, &str) = ("spec", "configSource");
const CONFIG: (&str, &str) = ("status", "config");

pub(super) fn prepare_create(node: &mut Value) {
    drop_unless_used(node, None, CONFIG_SOURCE);
    drop_unless_used(node, None, CONFIG);
    add_not_ready_taint(node);
}

pub(super) fn prepare_update(node: &mut Value, old: &Value) {
    drop_unless_used(node, Some(old), CONFIG_SOURCE);
}

pub(super) fn prepare_status(node: &mut Value, old: &Value) {
    drop_unless_used(node, Some(old), CONFIG);
}

/// Taints a new node, so that it gets no pods until it is known to be ready.
fn add_not_ready_taint(node: &mut Value) {
    let Some(spec) = node.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    let Some(taints) = taints.as_array_mut() else { return };
    if !taints.iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule") {
        taints.push(json!({ "key": NOT_READY, "effect": "NoSchedule" }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_of_the_kubelet_stays_only_where_it_is_stored() {
        let given = json!({ "spec": { "configSource": {} }, "status": { "config": { "error": "e" } } });
        let mut new = given.clone();
        prepare_create(&mut new);
        assert!(new["spec"]["configSource"].is_null() && new["status"]["config"].is_null(), "{new}");
        for (old, kept) in [(&given, true), (&new, false)] {
            let (mut object, mut status) = (given.clone(), given.clone());
            prepare_update(&mut object, old);
            prepare_status(&mut status, old);
            assert_eq!(object["spec"]["configSource"].is_object(), kept, "{old}");
            assert_eq!(status["status"]["config"].is_object(), kept, "{old}");
        }
    }
}

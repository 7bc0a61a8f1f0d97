//! Taints of nodes and tolerations of pods.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::{Object, node};

/// The taint of a node with `Ready=False`.
pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// The taint of a node with `Ready=Unknown`.
pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// The taint of a cordoned node.
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Creates a taint.
pub fn taint(key: &str, effect: &str) -> Value {
    json!({ "key": key, "effect": effect })
}

/// The taint for `spec.unschedulable`.
pub fn unschedulable() -> Value {
    taint(UNSCHEDULABLE, "NoSchedule")
}

/// Whether a pod tolerates a taint.
pub fn tolerated(pod: &Object, taint: &Value) -> bool {
    pod.list("/spec/tolerations").iter().any(|toleration| tolerates(toleration, taint))
}

/// The first taint with one of these effects that a pod does not tolerate.
pub fn find_untolerated<'v>(pod: &Object, node: &'v Object, effects: &[&str]) -> Option<&'v Value> {
    let of_effect = |taint: &&Value| effects.iter().any(|effect| taint["effect"] == **effect);
    node::taints(node).iter().filter(of_effect).find(|taint| !tolerated(pod, taint))
}

/// How long a pod tolerates a taint: `None` not at all, [`SignedDuration::MAX`] for ever.
pub fn tolerated_for(pod: &Object, taint: &Value) -> Option<SignedDuration> {
    let mut found = pod.list("/spec/tolerations").iter().filter(|one| tolerates(one, taint)).peekable();
    found.peek()?;
    let seconds = found.filter_map(|one| one["tolerationSeconds"].as_i64()).min();
    Some(seconds.map_or(SignedDuration::MAX, |seconds| SignedDuration::from_secs(seconds.max(0))))
}

/// Whether a toleration matches a taint. Empty fields match everything.
fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let text = |field: &str| toleration[field].as_str().unwrap_or_default();
    let of_taint = |field: &str| taint[field].as_str().unwrap_or_default();
    let fits = |field: &str| text(field).is_empty() || text(field) == of_taint(field);
    fits("effect")
        && fits("key")
        && match text("operator") {
            "Exists" => true,
            "" | "Equal" => text("value") == of_taint("value"),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_of_a_toleration_match_every_taint() {
        let check = |toleration: Value, expected: bool| {
            let node_taint = json!({ "key": "a", "value": "1", "effect": "NoSchedule" });
            assert_eq!(tolerates(&toleration, &node_taint), expected, "{toleration}");
        };
        check(json!({ "operator": "Exists" }), true);
        check(json!({ "key": "a", "operator": "Exists" }), true);
        check(json!({ "key": "b", "operator": "Exists" }), false);
        check(json!({ "key": "a", "value": "1" }), true);
        check(json!({ "key": "a", "operator": "Equal", "value": "2" }), false);
        check(json!({ "key": "a", "value": "1", "effect": "NoExecute" }), false);
    }

    #[test]
    fn the_shortest_matching_toleration_counts() {
        let pod = |tolerations: Value| Object::new(json!({ "spec": { "tolerations": tolerations } }));
        let node_taint = taint(NOT_READY, "NoExecute");
        let check = |tolerations: Value, expected: Option<SignedDuration>| {
            assert_eq!(tolerated_for(&pod(tolerations), &node_taint), expected);
        };
        let timed = |seconds: i64| json!({ "operator": "Exists", "tolerationSeconds": seconds });
        check(json!([]), None);
        check(json!([{ "operator": "Exists" }]), Some(SignedDuration::MAX));
        check(json!([timed(30), timed(20)]), Some(SignedDuration::from_secs(20)));
    }
}

//! The taint of a cordoned node. A real node lifecycle controller adds it at a time of the wall clock, which the
//! run's time may be hours ahead of; the age of a drain would be wrong. So the write that cordons a node adds
//! the taint, and the controller finds it.

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};

use super::keep_marks::Sent;
use super::stamp::{SIMULATED, entry};

/// The key of the taint (`node.kubernetes.io/unschedulable`).
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// The pointer to the taints of a node.
const TAINTS: &str = "/spec/taints";

/// Adds the taint to a request for a node that cordons it, if the node is simulated. `live` is the node before.
pub(in crate::backends::remote) fn add_taint(live: Option<&Value>, sent: Sent<'_>, now: Time) {
    let Some(live) = live.filter(|live| live["metadata"]["labels"][SIMULATED].is_string()) else { return };
    let (body, is_patch) = match sent {
        Sent::Object(object) => (object, false),
        Sent::Merge(patch) => (patch, true),
        Sent::Operations(_) => return,
    };
    if body.pointer("/spec/unschedulable") != Some(&json!(true)) {
        return;
    }
    let sent = body.pointer(TAINTS);
    let current = if is_patch { sent.or_else(|| live.pointer(TAINTS)) } else { sent };
    let mut taints = current.and_then(Value::as_array).cloned().unwrap_or_default();
    if taints.iter().any(|taint| taint["key"] == UNSCHEDULABLE) {
        return;
    }
    taints.push(json!({ "key": UNSCHEDULABLE, "effect": "NoSchedule", "timeAdded": rfc3339(now) }));
    *entry(body, TAINTS) = json!(taints);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(spec: &Value) -> Value {
        json!({ "metadata": { "name": "worker-0", "labels": { SIMULATED: "true" } }, "spec": spec })
    }

    /// The merge patch that is sent for `patch`.
    fn patched(live: &Value, mut patch: Value) -> Value {
        add_taint(Some(live), Sent::Merge(&mut patch), Time::UNIX_EPOCH);
        patch
    }

    fn cordon() -> Value {
        json!({ "spec": { "unschedulable": true } })
    }

    #[test]
    fn a_cordon_adds_the_taint_at_the_time_of_the_run() {
        let (own, other) = (
            json!({ "key": SIMULATED, "effect": "NoSchedule" }),
            json!({ "key": "a", "effect": "NoExecute" }),
        );
        let added =
            json!({ "key": UNSCHEDULABLE, "effect": "NoSchedule", "timeAdded": "1970-01-01T00:00:00Z" });
        let live = node(&json!({ "taints": [own] }));
        assert_eq!(patched(&live, cordon())["spec"]["taints"], json!([own, added]));
        let both = json!({ "spec": { "unschedulable": true, "taints": [other] } });
        assert_eq!(patched(&live, both)["spec"]["taints"], json!([other, added]));
        let mut object = node(&json!({ "unschedulable": true }));
        add_taint(Some(&live), Sent::Object(&mut object), Time::UNIX_EPOCH);
        assert_eq!(object["spec"]["taints"], json!([added]), "the object replaces the list");
    }

    #[test]
    fn other_requests_stay_as_they_are() {
        let live = node(&json!({}));
        let uncordon = json!({ "spec": { "unschedulable": null } });
        assert_eq!(patched(&live, uncordon.clone()), uncordon);
        let of_others = json!({ "metadata": { "name": "n" }, "spec": {} });
        assert_eq!(patched(&of_others, cordon()), cordon());
        let tainted = node(&json!({ "taints": [{ "key": UNSCHEDULABLE, "effect": "NoSchedule" }] }));
        assert_eq!(patched(&tainted, cordon()), cordon(), "the controller was first");
    }
}

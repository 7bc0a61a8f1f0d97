//! The time at which a dump was made.

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::resources::{EVENTS, LEASES};

use super::layout::is_of;

/// The times in a condition.
const OF_CONDITIONS: [&str; 4] =
    ["lastTransitionTime", "lastHeartbeatTime", "lastUpdateTime", "lastProbeTime"];

/// Returns the latest time at which one of the objects was written or saw something. A dump has no clock, but kubelets renew
/// their Leases every ten seconds. `None` without any time.
pub fn made_at<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Option<Time> {
    objects.into_iter().filter_map(latest).max()
}

fn latest(object: &Object) -> Option<Time> {
    let metadata = &object["metadata"];
    let owners = metadata["managedFields"].as_array().into_iter().flatten().map(|owner| &owner["time"]);
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let conditions = conditions.flat_map(|condition| OF_CONDITIONS.map(|field| &condition[field]));
    let own: [&Value; 3] = if is_of(object, &LEASES) {
        [&object["spec"]["renewTime"], &Value::Null, &Value::Null]
    } else if is_of(object, &EVENTS) {
        [&object["lastTimestamp"], &object["eventTime"], &object["series"]["lastObservedTime"]]
    } else {
        [&Value::Null; 3]
    };
    let times = owners.chain(conditions).chain(own).chain([&metadata["creationTimestamp"]]);
    times.filter_map(|time| parse_rfc3339(time.as_str()?)).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dump_was_made_at_its_latest_time() {
        let made = |objects: &[Value]| {
            let objects: Vec<Object> = objects.iter().cloned().map(Object::new).collect();
            made_at(&objects).map(|time| time.to_string())
        };
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "creationTimestamp": "2025-01-01T00:00:00Z", "annotations": { "until": "2035-01-01T00:00:00Z" } },
            "status": { "conditions": [{ "lastHeartbeatTime": "2025-01-02T00:00:00Z" }] },
        });
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "spec": { "renewTime": "2025-01-02T00:00:10.5Z" },
        });
        assert_eq!(made(&[lease, node.clone()]).as_deref(), Some("2025-01-02T00:00:10.5Z"));
        assert_eq!(made(&[node]).as_deref(), Some("2025-01-02T00:00:00Z"));
        assert_eq!(made(&[json!({ "kind": "A" })]), None);
    }
}

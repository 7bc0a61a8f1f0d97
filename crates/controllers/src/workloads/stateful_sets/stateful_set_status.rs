//! The status of a StatefulSet.

use serde_json::{Value, json};
use windtunnel_core::resources::STATEFUL_SETS;
use windtunnel_core::{Object, Write};

use super::rollout::{Rollout, is_ready};
use crate::workloads::revisions::REVISION;

/// The fields of the status in which a difference causes a write.
const COMPARED: [&str; 7] = [
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "currentReplicas",
    "updatedReplicas",
    "currentRevision",
    "updateRevision",
];

/// Writes the status if it differs from the API.
pub(super) fn write_status(set: &Object, rollout: &Rollout<'_>) -> Option<Write> {
    let status = status(set, rollout);
    let present = &set["status"];
    let is_new = set.generation() > present["observedGeneration"].as_i64().unwrap_or(0);
    let differs = |field: &str| normal(&status[field]) != normal(&present[field]);
    if !is_new && !COMPARED.into_iter().any(differs) {
        return None;
    }
    let mut value = set.to_value();
    value["status"] = status;
    Some(Write::update_status(&STATEFUL_SETS, value))
}

/// A count, of which zero may be absent.
fn normal(value: &Value) -> Option<&Value> {
    (!value.is_null() && *value != 0).then_some(value)
}

fn status(set: &Object, rollout: &Rollout<'_>) -> Value {
    let count =
        |is_counted: &dyn Fn(&Object) -> bool| rollout.pods().iter().filter(|pod| is_counted(pod)).count();
    let with_revision =
        |revision: &str| count(&|pod| !pod.is_terminating() && pod.label(REVISION) == Some(revision));
    let all = rollout.pods().len();
    let ready = count(&is_ready);
    let updated = with_revision(rollout.update_revision());
    let wanted = rollout.wanted();
    let mut current = (rollout.current_revision(), with_revision(rollout.current_revision()));
    let is_rolling = set["spec"]["updateStrategy"]["type"] == "RollingUpdate";
    if is_rolling && [all, ready, updated].iter().all(|count| *count == wanted) {
        current = (rollout.update_revision(), updated);
    }
    let mut status = json!({
        "observedGeneration": set.generation(),
        "replicas": all,
        "availableReplicas": count(&|pod| rollout.is_available(pod)),
        "currentRevision": current.0,
        "updateRevision": rollout.update_revision(),
        "collisionCount": set.number("/status/collisionCount").unwrap_or(0),
    });
    for (field, count) in
        [("readyReplicas", ready), ("currentReplicas", current.1), ("updatedReplicas", updated)]
    {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    status
}

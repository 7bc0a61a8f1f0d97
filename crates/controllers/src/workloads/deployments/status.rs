//! The status of a Deployment.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::DEPLOYMENTS;
use windtunnel_core::{Object, Write};

use super::conditions::{self, RolloutProgress};
use super::rollout::Bounds;
use super::sets::{Sets, replicas_of};
use crate::owners::template_hash;

/// Writes the status if it differs from the API.
pub(super) fn write_status(deployment: &Object, sets: &Sets<'_>, now: Time) -> Option<Write> {
    let new = |field: &str| sets.new.map_or(0, |set| set.number(field).unwrap_or(0));
    let available = sets.sum("/status/availableReplicas");
    let counts = Counts {
        replicas: sets.sum("/status/replicas"),
        updated: new("/status/replicas"),
        ready: sets.sum("/status/readyReplicas"),
        available,
        unavailable: (sets.sum("/spec/replicas") - available).max(0),
    };
    let failure = sets.new.into_iter().chain(sets.old.iter().copied()).find_map(|set| {
        let list = set.list("/status/conditions");
        windtunnel_core::condition::find(list, "ReplicaFailure").cloned()
    });
    write(deployment, sets.new.map(Object::name), &counts, failure.as_ref(), now)
}

/// Writes the status of a Deployment without simulated pods: all are available.
pub(super) fn all_available(deployment: &Object, now: Time) -> Option<Write> {
    let set = format!("{}-{}", deployment.name(), template_hash(&deployment["spec"]["template"]));
    let all = replicas_of(deployment);
    let counts = Counts { replicas: all, updated: all, ready: all, available: all, unavailable: 0 };
    write(deployment, Some(&set), &counts, None, now)
}

#[derive(Debug, Clone, Copy)]
struct Counts {
    replicas: i64,
    updated: i64,
    ready: i64,
    available: i64,
    unavailable: i64,
}

impl Counts {
    /// The progress since the current status of the Deployment.
    fn rolled(&self, deployment: &Object) -> RolloutProgress {
        let wanted = replicas_of(deployment);
        let before = |field: &str| deployment.number(&format!("/status/{field}")).unwrap_or(0);
        let old = self.replicas - self.updated;
        if [self.replicas, self.updated, self.available] == [wanted; 3] {
            RolloutProgress::Done
        } else if self.updated > before("updatedReplicas")
            || old < before("replicas") - before("updatedReplicas")
            || self.ready > before("readyReplicas")
            || self.available > before("availableReplicas")
        {
            RolloutProgress::Further
        } else {
            RolloutProgress::Waiting { settled: old == 0 }
        }
    }
}

/// Omits zero counts, as `omitempty` does.
fn write(
    deployment: &Object,
    set: Option<&str>,
    counts: &Counts,
    failure: Option<&Value>,
    now: Time,
) -> Option<Write> {
    let mut status = json!({ "observedGeneration": deployment.generation() });
    for (field, count) in [
        ("replicas", counts.replicas),
        ("updatedReplicas", counts.updated),
        ("readyReplicas", counts.ready),
        ("availableReplicas", counts.available),
        ("unavailableReplicas", counts.unavailable),
    ] {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    let mut list = deployment.list("/status/conditions").to_vec();
    let least = replicas_of(deployment) - Bounds::of(deployment).unavailable;
    conditions::put_available(&mut list, counts.available >= least, now);
    conditions::put_progress(&mut list, deployment, set, counts.rolled(deployment), now);
    conditions::put_failure(&mut list, failure);
    status["conditions"] = Value::Array(list);
    if deployment["status"] == status {
        return None;
    }
    let mut value = deployment.to_value();
    value["status"] = status;
    Some(Write::update_status(&DEPLOYMENTS, value))
}

//! The status of a Deployment.

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::DEPLOYMENTS;
use windtunnel_core::{Object, Write};

use super::conditions::{self, RolloutProgress};
use super::rollout::Bounds;
use super::sets::{HISTORY, REVISION, Sets, replicas_of};
use crate::owners::template_hash;
use crate::version_differences::Differences;

/// The counts of a Deployment's pods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    replicas: i64,
    updated: i64,
    ready: i64,
    available: i64,
    unavailable: i64,
    /// `None` for controllers that do not count them.
    terminating: Option<i64>,
}

impl Counts {
    /// Adds up the counts of ReplicaSets.
    pub(super) fn of(sets: &Sets<'_>, differences: Differences) -> Self {
        let available = sets.sum("/status/availableReplicas");
        Self {
            replicas: sets.sum("/status/replicas"),
            updated: sets.new.map_or(0, |set| set.number("/status/replicas").unwrap_or(0)),
            ready: sets.sum("/status/readyReplicas"),
            available,
            unavailable: (sets.sum("/spec/replicas") - available).max(0),
            terminating: differences.counts_terminating.then(|| sets.terminating()).flatten(),
        }
    }

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
            RolloutProgress::Waiting
        }
    }

    /// The status with these counts, and the conditions that `change` makes of those in the API. Omits zero counts, as
    /// `omitempty` does.
    fn status(&self, deployment: &Object, now: Time, change: impl FnOnce(&mut Vec<Value>)) -> Value {
        let mut status = json!({ "observedGeneration": deployment.generation() });
        for (field, count) in [
            ("replicas", self.replicas),
            ("updatedReplicas", self.updated),
            ("readyReplicas", self.ready),
            ("availableReplicas", self.available),
            ("unavailableReplicas", self.unavailable),
        ] {
            if count > 0 {
                status[field] = json!(count);
            }
        }
        if let Some(terminating) = self.terminating {
            status["terminatingReplicas"] = json!(terminating);
        }
        if let Some(collisions) = deployment.number("/status/collisionCount") {
            status["collisionCount"] = json!(collisions);
        }
        let mut list = deployment.conditions().to_vec();
        let least = replicas_of(deployment) - Bounds::of(deployment).unavailable;
        conditions::put_available(&mut list, self.available >= least, now);
        change(&mut list);
        status["conditions"] = Value::Array(list);
        status
    }
}

/// Whether the status in the API reports that all pods have the current template and are available.
pub(super) fn is_complete(deployment: &Object) -> bool {
    let wanted = replicas_of(deployment);
    let count = |field: &str| deployment.number(&format!("/status/{field}")).unwrap_or(0);
    ["replicas", "updatedReplicas", "availableReplicas"].iter().all(|field| count(field) == wanted)
        && count("observedGeneration") >= deployment.generation()
}

/// Writes the status if it differs from the API. `estimates`: with the progress of the rollout.
pub(super) fn write_status(
    deployment: &Object,
    sets: &Sets<'_>,
    counts: &Counts,
    estimates: bool,
    now: Time,
) -> Option<Write> {
    let failure = sets.new.into_iter().chain(sets.old.iter().copied()).find_map(|set| {
        let list = set.conditions();
        windtunnel_core::condition::find(list, "ReplicaFailure").cloned()
    });
    let status = counts.status(deployment, now, |list| {
        if estimates {
            let set = sets.new.map(Object::name);
            let is_settled = counts.replicas == counts.updated;
            conditions::put_progress(list, deployment, set, counts.rolled(deployment), is_settled, now);
            conditions::put_failure(list, failure.as_ref());
        }
    });
    write(deployment, status)
}

/// Writes the status of a Deployment without simulated pods: all are available.
pub(super) fn all_available(deployment: &Object, differences: Differences, now: Time) -> Option<Write> {
    let set = format!("{}-{}", deployment.name(), template_hash(&deployment["spec"]["template"]));
    let all = replicas_of(deployment);
    let terminating = differences.counts_terminating.then_some(0);
    let counts =
        Counts { replicas: all, updated: all, ready: all, available: all, unavailable: 0, terminating };
    write(deployment, counts.status(deployment, now, |list| conditions::put_done(list, &set, now)))
}

/// Writes the revision of the current ReplicaSet to the Deployment, and whether the controller created or found that
/// ReplicaSet, through the subresource `status`, so that the generation counts only changes of the specification.
pub(super) fn write_revision(deployment: &Object, set: &Object, now: Time) -> Option<Write> {
    let revision = set.annotation(REVISION).unwrap_or_default();
    let is_known = deployment.annotation(REVISION) == Some(revision) || revision.is_empty();
    let mut list = deployment.conditions().to_vec();
    if conditions::has_deadline(deployment) {
        if !is_known && is_created_by(deployment, set) {
            conditions::put_created(&mut list, set.name(), now);
        } else {
            conditions::put_found(&mut list, set.name(), now);
        }
    }
    if is_known && list == deployment.conditions() {
        return None;
    }
    let mut value = deployment.to_value();
    if !is_known {
        value["metadata"]["annotations"][REVISION] = json!(revision);
    }
    value["status"]["conditions"] = Value::Array(list);
    Some(Write::update_status(&DEPLOYMENTS, value))
}

/// Whether a ReplicaSet with a new revision is new as well: it is younger than the Deployment, and no rollback gave it the
/// revision.
fn is_created_by(deployment: &Object, set: &Object) -> bool {
    let created = |object: &Object| object.time("/metadata/creationTimestamp");
    set.annotation(HISTORY).is_none() && created(set) >= created(deployment)
}

/// Writes other conditions, if they differ from the API.
pub(super) fn write_conditions(deployment: &Object, change: impl FnOnce(&mut Vec<Value>)) -> Option<Write> {
    let before = deployment.conditions();
    let mut list = before.to_vec();
    change(&mut list);
    if list == before {
        return None;
    }
    let mut value = deployment.to_value();
    value["status"]["conditions"] = Value::Array(list);
    Some(Write::update_status(&DEPLOYMENTS, value))
}

fn write(deployment: &Object, status: Value) -> Option<Write> {
    if deployment["status"] == status {
        return None;
    }
    let mut value = deployment.to_value();
    value["status"] = status;
    Some(Write::update_status(&DEPLOYMENTS, value))
}

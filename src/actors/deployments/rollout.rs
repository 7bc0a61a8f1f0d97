//! A Deployment and its pods at one moment: what to remove, what to make, what to tell.

use serde_json::{Value, json};

use crate::actors::{PROGRAM, owners};
use crate::base::clock::{Time, rfc3339};
use crate::base::rng::{Streams, fnv1a};
use crate::model::condition::{self, Condition};
use crate::model::resources::{DEPLOYMENTS, NODES, PODS};
use crate::model::{Object, View, Write};

/// The label that tells the pods of one template from those of another.
const HASH: &str = "pod-template-hash";

/// Labels of control-plane nodes, the present one first.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// Whether the pods of this Deployment are simulated.
pub(super) fn has_program(deployment: &Object) -> bool {
    deployment["spec"]["template"]["metadata"]["annotations"][PROGRAM] == "true"
}

/// A Deployment and its pods.
pub(super) struct Rollout<'a> {
    deployment: &'a Object,
    hash: String,
    /// Pods of other templates that are not over.
    old: Vec<&'a Object>,
    /// Pods of the present template that are not over and stay.
    new: Vec<&'a Object>,
}

impl<'a> Rollout<'a> {
    /// Sorts the pods of the Deployment.
    pub(super) fn of(deployment: &'a Object, view: &'a View) -> Self {
        let hash = template_hash(&deployment["spec"]["template"]);
        let over = |pod: &Object| matches!(pod.text("/status/phase"), "Succeeded" | "Failed");
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for pod in owners::pods_of(view, deployment) {
            if pod.label(HASH) != Some(&hash) {
                // One that is over but terminating may still hold what it had: it counts until it is gone.
                if !over(pod) || pod.is_terminating() {
                    old.push(pod);
                }
            } else if !over(pod) && !pod.is_terminating() {
                new.push(pod);
            }
        }
        Self { deployment, hash, old, new }
    }

    /// Removes the pods of other templates, and those that are too many.
    pub(super) fn removals(&self) -> Vec<Write> {
        let surplus = self.new.iter().skip(usize::try_from(self.replicas()).unwrap_or(0));
        self.old
            .iter()
            .filter(|pod| !pod.is_terminating())
            .chain(surplus)
            .map(|pod| Write::delete(&PODS, pod.namespace(), pod.name()))
            .collect()
    }

    /// Whether a pod of the present template is missing and may be made. They are made one after another.
    pub(super) fn wants_pod(&self) -> bool {
        self.old.is_empty() && count(&self.new) < self.replicas()
    }

    /// The first fitting node with the fewest of these pods.
    pub(super) fn node<'v>(&self, view: &'v View) -> Option<&'v str> {
        let fits = |node: &Object| {
            CONTROL_PLANE.iter().any(|label| node.label(label).is_some())
                && node["spec"]["unschedulable"] != true
                && !node.is_terminating()
                && condition::is_true(node, "Ready")
        };
        let pods_on =
            |node: &Object| self.new.iter().filter(|pod| pod.text("/spec/nodeName") == node.name()).count();
        view.list(&NODES).filter(|node| fits(node)).min_by_key(|node| pods_on(node)).map(Object::name)
    }

    /// Makes a pod on `node`.
    pub(super) fn create_pod(&self, node: &str) -> Write {
        let prefix = self.replica_set();
        let mut pod =
            owners::pod_from_template(self.deployment, &DEPLOYMENTS, &prefix, &[(HASH, &self.hash)]);
        pod["spec"]["nodeName"] = json!(node);
        Write::create(&PODS, pod)
    }

    /// Writes the status, if it differs from the one in the API.
    pub(super) fn status(&self, now: Time) -> Option<Write> {
        let ready = |pod: &&&Object| condition::is_true(pod, "Ready");
        let (old, new) = (count(&self.old), count(&self.new));
        let available = i64::try_from(self.old.iter().chain(&self.new).filter(ready).count()).unwrap_or(0);
        let new_available = i64::try_from(self.new.iter().filter(ready).count()).unwrap_or(0);
        let done = old == 0 && new == self.replicas() && new_available == new;
        let counts = Counts { replicas: old + new, updated: new, available };
        write_status(self.deployment, &self.replica_set(), &counts, done, now)
    }

    fn replicas(&self) -> i64 {
        replicas(self.deployment)
    }

    fn replica_set(&self) -> String {
        format!("{}-{}", self.deployment.name(), self.hash)
    }
}

/// The status of a Deployment whose pods are not simulated, all available.
pub(super) fn all_available(deployment: &Object, now: Time) -> Option<Write> {
    let replica_set = format!("{}-{}", deployment.name(), template_hash(&deployment["spec"]["template"]));
    let all = replicas(deployment);
    let counts = Counts { replicas: all, updated: all, available: all };
    write_status(deployment, &replica_set, &counts, true, now)
}

struct Counts {
    replicas: i64,
    updated: i64,
    available: i64,
}

/// Zero counts are left out, as `omitempty` does.
fn write_status(
    deployment: &Object,
    replica_set: &str,
    counts: &Counts,
    done: bool,
    now: Time,
) -> Option<Write> {
    let wanted = replicas(deployment);
    let mut status = json!({ "observedGeneration": deployment.generation() });
    for (field, count) in [
        ("replicas", counts.replicas),
        ("updatedReplicas", counts.updated),
        ("readyReplicas", counts.available),
        ("availableReplicas", counts.available),
        ("unavailableReplicas", wanted.max(counts.replicas) - counts.available),
    ] {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    let mut list = deployment.list("/status/conditions").to_vec();
    let mut set = |condition: &Condition| {
        let old = condition::find(&list, &condition.kind).cloned().unwrap_or_default();
        condition::set(&mut list, condition, now);
        for entry in list.iter_mut().filter(|entry| entry["type"] == *condition.kind) {
            let same = Condition::read(&old) == *condition;
            entry["lastUpdateTime"] = if same { old["lastUpdateTime"].clone() } else { json!(rfc3339(now)) };
        }
    };
    set(&if counts.available >= wanted {
        let message = "Deployment has minimum availability.";
        Condition::new("Available", "True", "MinimumReplicasAvailable", message)
    } else {
        let message = "Deployment does not have minimum availability.";
        Condition::new("Available", "False", "MinimumReplicasUnavailable", message)
    });
    set(&if done {
        let message = format!("ReplicaSet \"{replica_set}\" has successfully progressed.");
        Condition::new("Progressing", "True", "NewReplicaSetAvailable", message)
    } else {
        let message = format!("ReplicaSet \"{replica_set}\" is progressing.");
        Condition::new("Progressing", "True", "ReplicaSetUpdated", message)
    });
    status["conditions"] = json!(list);
    if deployment["status"] == status {
        return None;
    }
    let mut value = deployment.to_value();
    value["status"] = status;
    Some(Write::update_status(&DEPLOYMENTS, value))
}

fn replicas(deployment: &Object) -> i64 {
    deployment.number("/spec/replicas").unwrap_or(1)
}

fn count(pods: &[&Object]) -> i64 {
    i64::try_from(pods.len()).unwrap_or(i64::MAX)
}

/// Ten letters that are the same for the same pod template.
fn template_hash(template: &Value) -> String {
    Streams::new(fnv1a(template.to_string().as_bytes())).stream(HASH).suffix(10)
}

//! Pending work of the cluster's own controllers for a run: cluster time stands still until they have done
//! it, as it does during requests.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use windtunnel_core::resources::{
    DAEMON_SETS, DEPLOYMENTS, JOBS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS, STATEFUL_SETS,
};
use windtunnel_core::{Key, Resource, condition};

use super::replicas::{self, Replicas, Uncounted};
use crate::backends::remote::marks::stamp::Stamp;

/// The finalizer of a pod that its Job has not counted yet.
const UNCOUNTED: &str = "batch.kubernetes.io/job-tracking";

/// The objects of a run, and whether a controller must process them.
#[derive(Debug, Default)]
pub(in crate::backends::remote) struct PendingWork {
    /// Whether the cluster has controllers of its own.
    has_controllers: AtomicBool,
    states: Mutex<BTreeMap<Key, State>>,
}

/// The newest known state of an object.
#[derive(Debug, Clone)]
struct State {
    revision: u64,
    is_pending: bool,
    /// Its numbers of replicas, if the object is a workload or a pod of one.
    replicas: Option<Replicas>,
    /// The counts that its controller has not written in the time that the run waits.
    given_up: Option<Uncounted>,
}

impl PendingWork {
    /// Starts to track objects: the cluster has controllers of its own.
    pub(in crate::backends::remote) fn begin(&self) {
        self.has_controllers.store(true, Ordering::Relaxed);
    }

    /// Adds a state of an object.
    pub(in crate::backends::remote) fn note(&self, stamp: &Stamp, resource: &Resource, object: &Value) {
        if !is_controlled(resource) || !self.has_controllers.load(Ordering::Relaxed) {
            return;
        }
        let version = object["metadata"]["resourceVersion"].as_str();
        let revision = version.and_then(|version| version.parse().ok()).unwrap_or(0);
        let is_simulated = stamp.has_simulated(resource, object);
        let is_pending = is_simulated && is_pending(resource, object);
        // Without nodes of others, what controllers create for the run has no marks.
        let is_tracked = is_simulated && stamp.beside_others;
        let replicas = is_tracked.then(|| Replicas::of(resource, object)).flatten();
        let state = State { revision, is_pending, replicas, given_up: None };
        match self.lock().entry(resource.key_of(object)) {
            Entry::Vacant(entry) => {
                entry.insert(state);
            }
            Entry::Occupied(mut entry) if entry.get().revision < revision => {
                let given_up = entry.get().given_up;
                entry.insert(State { given_up, ..state });
            }
            Entry::Occupied(_) => {}
        }
    }

    /// Removes a deleted object.
    pub(in crate::backends::remote) fn forget(&self, resource: &Resource, object: &Value) {
        self.lock().remove(&resource.key_of(object));
    }

    /// Removes all objects of a kind before a new list.
    pub(in crate::backends::remote) fn forget_all(&self, resource: &Resource) {
        self.lock().retain(|key, _| !key.is_kind(resource));
    }

    /// Returns whether a controller has pending work.
    pub(in crate::backends::remote) fn has_pending(&self) -> bool {
        let states = self.lock();
        states.values().any(|state| state.is_pending)
            || uncounted(&states).any(|(key, found)| states[key].given_up != Some(found))
    }

    /// Stops waiting for the current states of objects.
    pub(in crate::backends::remote) fn give_up(&self) {
        let mut states = self.lock();
        states.values_mut().for_each(|state| state.is_pending = false);
        let found: Vec<(Key, Uncounted)> =
            uncounted(&states).map(|(key, found)| (key.clone(), found)).collect();
        for (key, found) in found {
            states.entry(key).and_modify(|state| state.given_up = Some(found));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The workloads whose controllers must still count their replicas, or create or delete some.
fn uncounted(states: &BTreeMap<Key, State>) -> impl Iterator<Item = (&Key, Uncounted)> {
    let known = states.iter().filter_map(|(key, state)| Some((key, state.replicas.as_ref()?)));
    replicas::uncounted(known)
}

fn is_controlled(resource: &Resource) -> bool {
    has_generation(resource) || [&PODS, &JOBS].into_iter().any(|kind| is(kind, resource))
}

/// Returns whether the status of a kind contains `observedGeneration`.
fn has_generation(resource: &Resource) -> bool {
    [&DEPLOYMENTS, &REPLICA_SETS, &DAEMON_SETS, &STATEFUL_SETS, &POD_DISRUPTION_BUDGETS]
        .into_iter()
        .any(|kind| is(kind, resource))
}

fn is(one: &Resource, other: &Resource) -> bool {
    one.group == other.group && one.plural == other.plural
}

fn is_pending(resource: &Resource, object: &Value) -> bool {
    let (metadata, status) = (&object["metadata"], &object["status"]);
    if metadata["deletionTimestamp"].is_string() {
        return false;
    }
    if has_generation(resource) {
        return metadata["generation"].as_i64() > status["observedGeneration"].as_i64();
    }
    if is(resource, &JOBS) { is_job_pending(&object["spec"], status) } else { is_pod_pending(object) }
}

/// Returns whether the Job controller must start a Job, or has started to count its pods and is not done.
fn is_job_pending(spec: &Value, status: &Value) -> bool {
    let is = |kind| has(status, kind, "True");
    let begins = status["startTime"].is_null() && spec["suspend"] != true;
    let counts = ["succeeded", "failed"]
        .iter()
        .any(|how| status["uncountedTerminatedPods"][how].as_array().is_some_and(|pods| !pods.is_empty()));
    begins || counts || is("SuccessCriteriaMet") && !is("Complete") || is("FailureTarget") && !is("Failed")
}

/// Returns whether the scheduler has never seen a pod, or the Job controller must count it.
fn is_pod_pending(pod: &Value) -> bool {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let ended = status["phase"] == "Succeeded" || status["phase"] == "Failed";
    let finalizers = pod["metadata"]["finalizers"].as_array();
    let is_uncounted = finalizers.is_some_and(|finalizers| finalizers.iter().any(|name| name == UNCOUNTED));
    let is_gated = spec["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    let is_unseen = spec["nodeName"].is_null() && !is_gated && !has(status, "PodScheduled", "False");
    is_unseen && !ended || ended && is_uncounted
}

fn has(status: &Value, kind: &str, wanted: &str) -> bool {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    condition::find(conditions, kind).is_some_and(|condition| condition["status"] == wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::backends::remote::marks::stamp::{RUN, SIMULATED};

    fn stamp() -> Stamp {
        Stamp { run: Some("r1".to_owned()), beside_others: true }
    }

    fn object(revision: u64, more: &Value) -> Value {
        let metadata = json!({
            "namespace": "ns", "name": "a", "resourceVersion": revision.to_string(), "generation": 1,
            "labels": { RUN: "r1" },
        });
        let mut object = json!({ "metadata": metadata });
        json_patch::merge(&mut object, more);
        object
    }

    fn has_pending(states: &[(&Resource, Value)]) -> bool {
        work_on(states).has_pending()
    }

    fn work_on(states: &[(&Resource, Value)]) -> PendingWork {
        let work = PendingWork::default();
        work.begin();
        for (resource, object) in states {
            work.note(&stamp(), resource, object);
        }
        work
    }

    #[test]
    fn a_workload_is_pending_until_its_controller_observes_it() {
        let seen = json!({ "status": { "observedGeneration": 1 } });
        let (new, known) = ((&DEPLOYMENTS, object(5, &json!({}))), (&DEPLOYMENTS, object(6, &seen)));
        assert!(has_pending(std::slice::from_ref(&new)));
        assert!(!has_pending(&[new.clone(), known.clone()]));
        assert!(!has_pending(&[known, new]), "the answer to a write may arrive after later events");
        let of_others = json!({ "metadata": { "labels": null } });
        assert!(!has_pending(&[(&DEPLOYMENTS, object(5, &of_others))]));
        assert!(has_pending(&[(&JOBS, object(5, &json!({})))]));
        let counting =
            json!({ "status": { "startTime": "t", "uncountedTerminatedPods": { "succeeded": ["u"] } } });
        assert!(has_pending(&[(&JOBS, object(5, &counting))]));
        let (met, complete) = ("SuccessCriteriaMet", "Complete");
        let conditions = |kinds: &[&str]| {
            let conditions = kinds.iter().map(|kind| json!({ "type": kind, "status": "True" }));
            json!({ "status": { "startTime": "t", "conditions": conditions.collect::<Vec<_>>() } })
        };
        assert!(has_pending(&[(&JOBS, object(5, &conditions(&[met])))]));
        assert!(!has_pending(&[(&JOBS, object(5, &conditions(&[met, complete])))]));
    }

    #[test]
    fn a_pod_is_pending_until_it_is_bound_and_until_its_job_counts_it() {
        let unbound =
            json!({ "metadata": { "labels": null }, "spec": { "nodeSelector": { SIMULATED: "true" } } });
        assert!(has_pending(&[(&PODS, object(5, &unbound))]), "a controller created it");
        let bound = json!({ "spec": { "nodeName": "worker-0" } });
        assert!(!has_pending(&[(&PODS, object(5, &bound))]));
        let refused = json!({ "type": "PodScheduled", "status": "False" });
        assert!(!has_pending(&[(&PODS, object(5, &json!({ "status": { "conditions": [refused] } })))]));
        let ended = json!({ "spec": { "nodeName": "n" }, "status": { "phase": "Succeeded" } });
        assert!(!has_pending(&[(&PODS, object(5, &ended))]));
        let mut uncounted = ended;
        uncounted["metadata"]["finalizers"] = json!([UNCOUNTED]);
        assert!(has_pending(&[(&PODS, object(5, &uncounted))]));
    }

    #[test]
    fn a_replicaset_is_pending_until_its_status_counts_its_ready_pods() {
        let set = |revision, ready: u32| {
            let more = json!({
                "metadata": { "uid": "set" }, "spec": { "replicas": 1 },
                "status": { "observedGeneration": 1, "replicas": 1, "readyReplicas": ready },
            });
            object(revision, &more)
        };
        let pod = |revision, ready: &str| {
            let more = json!({
                "metadata": { "ownerReferences": [{ "uid": "set", "controller": true }] },
                "spec": { "nodeName": "worker-0" },
                "status": { "conditions": [{ "type": "Ready", "status": ready }] },
            });
            object(revision, &more)
        };
        assert!(!has_pending(&[(&REPLICA_SETS, set(5, 1)), (&PODS, pod(6, "True"))]));
        let unready =
            work_on(&[(&REPLICA_SETS, set(5, 1)), (&PODS, pod(6, "True")), (&PODS, pod(7, "False"))]);
        assert!(unready.has_pending());
        unready.give_up();
        assert!(!unready.has_pending(), "its controller does not count");
        unready.note(&stamp(), &REPLICA_SETS, &set(8, 1));
        assert!(!unready.has_pending(), "another state, the same difference");
        let ready = pod(9, "True");
        unready.note(&stamp(), &PODS, &ready);
        unready.forget(&PODS, &ready);
        assert!(unready.has_pending(), "the pod must be replaced");
    }

    #[test]
    fn deleted_and_abandoned_objects_are_not_pending() {
        let work = PendingWork::default();
        let new = |revision| object(revision, &json!({}));
        work.note(&stamp(), &PODS, &new(5));
        assert!(!work.has_pending());
        work.begin();
        work.note(&stamp(), &PODS, &new(5));
        assert!(work.has_pending());
        work.give_up();
        work.note(&stamp(), &PODS, &new(5));
        assert!(!work.has_pending());
        work.note(&stamp(), &PODS, &new(6));
        assert!(work.has_pending());
        work.forget(&PODS, &new(6));
        assert!(!work.has_pending());
        work.note(&stamp(), &PODS, &new(7));
        work.forget_all(&PODS);
        assert!(!work.has_pending());
    }
}

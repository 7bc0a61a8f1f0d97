//! The decisions about the pods of a StatefulSet: which to create, to correct and to delete now.

use std::cmp::Reverse;

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{PODS, STATEFUL_SETS};
use windtunnel_core::{Object, View, Write, pod};

use super::{ordinals, pods, volumes};
use crate::owners;
use crate::workloads::revisions::{self, History, REVISION};
use crate::workloads::shares::resolve_int_or_percent;

/// The label of revisions with the hash of their template.
const HASH: &str = "controller.kubernetes.io/hash";

/// Whether the controller may go on to the next pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    GoesOn,
    Waits,
}

/// A StatefulSet and its pods at one point in time.
pub(super) struct Rollout<'v> {
    set: &'v Object,
    view: &'v View,
    now: Time,
    history: History<'v>,
    /// The hash of the current template.
    hash: String,
    current_revision: String,
    update_revision: String,
    pods: Vec<&'v Object>,
    /// The pods that should exist, by ordinal from the first one.
    replicas: Vec<Option<&'v Object>>,
    /// Pods with other ordinals, highest first.
    condemned: Vec<&'v Object>,
}

impl<'v> Rollout<'v> {
    /// Sorts the pods of a set by their ordinals.
    pub(super) fn of(set: &'v Object, view: &'v View, now: Time) -> Self {
        let history = History::of(set, STATEFUL_SETS, HASH, view);
        let hash = owners::template_hash(&set["spec"]["template"]);
        let update_revision = history.current_name(&hash);
        let current = set.text("/status/currentRevision");
        let current_revision =
            history.get(current).map_or_else(|| update_revision.clone(), |found| found.name().to_owned());
        let pods: Vec<&Object> =
            owners::pods_of(view, set).filter(|pod| ordinals::ordinal(set, pod.name()).is_some()).collect();
        let wanted = set.number("/spec/replicas").unwrap_or(1).max(0);
        let first = ordinals::first_ordinal(set);
        let find = |index: i64| {
            let name = ordinals::name(set, first + index);
            pods.iter().copied().find(|pod| pod.name() == name)
        };
        let replicas = (0..wanted).map(find).collect();
        let is_wanted = |pod: &Object| {
            ordinals::ordinal(set, pod.name())
                .is_some_and(|ordinal| (first..first + wanted).contains(&ordinal))
        };
        let mut condemned: Vec<&Object> = pods.iter().copied().filter(|pod| !is_wanted(pod)).collect();
        condemned.sort_by_key(|pod| Reverse(ordinals::ordinal(set, pod.name())));
        Self { set, view, now, history, hash, current_revision, update_revision, pods, replicas, condemned }
    }

    /// The pods of the set.
    pub(super) fn pods(&self) -> &[&'v Object] {
        &self.pods
    }

    /// The desired number of pods.
    pub(super) fn wanted(&self) -> usize {
        self.replicas.len()
    }

    /// The name of the revision from which the rollout started.
    pub(super) fn current_revision(&self) -> &str {
        &self.current_revision
    }

    /// The name of the revision of the current template.
    pub(super) fn update_revision(&self) -> &str {
        &self.update_revision
    }

    /// Whether a pod has been ready for long enough.
    pub(super) fn is_available(&self, pod: &Object) -> bool {
        self.available_at(pod).is_some_and(|at| at <= self.now)
    }

    fn available_at(&self, pod: &Object) -> Option<Time> {
        owners::available_at(pod, self.set.number("/spec/minReadySeconds").unwrap_or(0))
    }

    /// The time when the next ready pod becomes available.
    pub(super) fn recheck_at(&self) -> Option<Time> {
        let times = self.pods.iter().filter_map(|pod| self.available_at(pod));
        times.filter(|at| *at > self.now).min()
    }

    /// The writes that keep the revisions of the current template and of all pods.
    pub(super) fn revision_writes(&self) -> Vec<Write> {
        let mut writes = Vec::from_iter(self.history.update(&self.hash));
        writes.extend(self.history.deletions(|revision| {
            let name = revision.name();
            let is_used = || self.pods.iter().any(|pod| pod.label(REVISION) == Some(name));
            name == self.current_revision || name == self.update_revision || is_used()
        }));
        writes
    }

    /// The writes of pods and their claims that are possible now.
    pub(super) fn pod_writes(&self) -> Vec<Write> {
        let mut writes = Vec::new();
        if self.set.is_terminating() {
            return writes;
        }
        let in_order = self.set["spec"]["podManagementPolicy"] != "Parallel";
        for index in 0..self.replicas.len() {
            if self.maintain(index, in_order, &mut writes) == Pace::Waits && in_order {
                return writes;
            }
        }
        for pod in &self.condemned {
            writes.extend(self.claim_updates(pod, true));
        }
        for pod in &self.condemned {
            if self.remove(pod, in_order, &mut writes) == Pace::Waits && in_order {
                return writes;
            }
        }
        writes.extend(self.rollout_deletions());
        writes
    }

    /// Creates or corrects one pod.
    fn maintain(&self, index: usize, in_order: bool, writes: &mut Vec<Write>) -> Pace {
        let ordinal = self.ordinal(index);
        let Some(pod) = self.replicas[index] else {
            if !volumes::delay_creation(self.set, ordinal, self.view) {
                writes.extend(volumes::creations(self.set, ordinal, self.view));
                writes.push(Write::create(&PODS, self.new_pod(index)));
            }
            return Pace::Waits;
        };
        if pod::has_ended(pod) {
            if !pod.is_terminating() {
                writes.push(delete(pod));
            }
            return Pace::Waits;
        }
        if pod::phase(pod) == "Pending" {
            writes.extend(volumes::creations(self.set, ordinal, self.view));
            writes.extend(self.claim_updates(pod, false));
        }
        if in_order && (pod.is_terminating() || !is_ready(pod) || !self.is_available(pod)) {
            return Pace::Waits;
        }
        if !volumes::matches(self.set, pod, ordinal) {
            writes.extend(volumes::creations(self.set, ordinal, self.view));
        }
        writes.extend(self.claim_updates(pod, false));
        writes.extend(pods::corrected(self.set, pod, ordinal).map(|pod| Write::update(&PODS, pod)));
        Pace::GoesOn
    }

    fn claim_updates(&self, pod: &Object, is_removed: bool) -> Vec<Write> {
        let ordinal = ordinals::ordinal(self.set, pod.name());
        let updates = |ordinal| volumes::owner_updates(self.set, pod, ordinal, is_removed, self.view);
        ordinal.map(updates).unwrap_or_default()
    }

    fn ordinal(&self, index: usize) -> i64 {
        ordinals::first_ordinal(self.set).saturating_add(i64::try_from(index).unwrap_or(i64::MAX))
    }

    /// A new pod. Pods below the partition get the template from which the rollout started.
    fn new_pod(&self, index: usize) -> Value {
        let strategy = &self.set["spec"]["updateStrategy"];
        let kept = match &strategy["rollingUpdate"] {
            Value::Null if strategy["type"] == "RollingUpdate" => {
                self.set.number("/status/currentReplicas").unwrap_or(0)
            }
            rolling => rolling["partition"].as_i64().unwrap_or(0),
        };
        let is_kept = i64::try_from(index).is_ok_and(|index| index < kept);
        let former = self.history.get(&self.current_revision).filter(|_| is_kept);
        let (template, revision) = match former {
            Some(former) => (revisions::template(former), &self.current_revision),
            None => (self.set["spec"]["template"].clone(), &self.update_revision),
        };
        pods::build(self.set, &template, revision, self.ordinal(index))
    }

    /// Deletes a pod that the set was scaled down below.
    fn remove(&self, pod: &Object, in_order: bool, writes: &mut Vec<Write>) -> Pace {
        if pod.is_terminating() {
            return Pace::Waits;
        }
        let healthy = is_ready(pod) && self.is_available(pod);
        if in_order && !healthy && !self.is_first_unavailable(pod) {
            return Pace::Waits;
        }
        writes.push(delete(pod));
        Pace::Waits
    }

    /// Whether a condemned pod is the unavailable one with the lowest ordinal. All replicas are available by then.
    fn is_first_unavailable(&self, pod: &Object) -> bool {
        let unavailable = self.condemned.iter().rev().find(|pod| self.is_unavailable(pod));
        unavailable.is_some_and(|first| first.uid() == pod.uid())
    }

    fn is_unavailable(&self, pod: &Object) -> bool {
        pod.is_terminating() || !self.is_available(pod)
    }

    /// Deletions of outdated pods from the partition on, highest ordinal first, as many as `maxUnavailable` allows.
    fn rollout_deletions(&self) -> Vec<Write> {
        let strategy = &self.set["spec"]["updateStrategy"];
        if strategy["type"] == "OnDelete" {
            return Vec::new();
        }
        let all = i64::try_from(self.replicas.len()).unwrap_or(i64::MAX);
        let most = match &strategy["rollingUpdate"]["maxUnavailable"] {
            Value::Null => 1,
            value => resolve_int_or_percent(value, all, false).unwrap_or(1).max(1),
        };
        let is_missing = |pod: Option<&Object>| pod.is_none_or(|pod| self.is_unavailable(pod));
        let missing = self.replicas.iter().filter(|pod| is_missing(**pod)).count();
        let room = usize::try_from(most).unwrap_or(0).saturating_sub(missing);
        let partition = strategy["rollingUpdate"]["partition"].as_u64().unwrap_or(0);
        let partition = usize::try_from(partition).unwrap_or(usize::MAX);
        let is_outdated = |pod: &&Object| {
            pod.label(REVISION) != Some(self.update_revision.as_str()) && !pod.is_terminating()
        };
        let outdated = self.replicas.iter().skip(partition).rev().flatten().copied().filter(is_outdated);
        outdated.take(room).map(delete).collect()
    }
}

/// Whether a pod is running and ready.
pub(super) fn is_ready(pod: &Object) -> bool {
    pod::phase(pod) == "Running" && owners::available_at(pod, 0).is_some()
}

fn delete(pod: &Object) -> Write {
    Write::delete(&PODS, pod.namespace(), pod.name())
}

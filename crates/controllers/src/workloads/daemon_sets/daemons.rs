//! The pods of a DaemonSet, by node.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{DAEMON_SETS, NODES, PODS};
use windtunnel_core::{Object, View, Write, pod};

use crate::owners;
use crate::scheduler::placement::is_chosen;
use crate::scheduler::taints::find_untolerated;
use crate::workloads::revisions::{History, REVISION};
use crate::workloads::shares::resolve_int_or_percent;

/// The label with the generation of the template.
const GENERATION: &str = "pod-template-generation";
/// The annotation of a DaemonSet with the generation of its template.
const TEMPLATES: &str = "deprecated.daemonset.template.generation";

/// Tolerations of every daemon: taint and effect.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// Whether a node fits a DaemonSet.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fit {
    /// New daemons may start on the node.
    runs: bool,
    /// Existing daemons may stay on the node.
    keeps: bool,
}

/// The scheduling requirements of a DaemonSet.
pub(super) struct Model {
    /// The pod spec of the template, for the node selector and affinity.
    template: Object,
    /// A daemon, for its tolerations.
    pod: Object,
}

impl Model {
    pub(super) fn of(set: &Object, hash: &str) -> Self {
        let template = Object::new(json!({ "spec": set["spec"]["template"]["spec"] }));
        Self { template, pod: Object::new(pod(set, hash, "")) }
    }

    pub(super) fn fit(&self, node: &Object) -> Fit {
        let chosen = is_chosen(&self.template, node);
        let is_allowed = |effects: &[&str]| chosen && find_untolerated(&self.pod, node, effects).is_none();
        Fit { runs: is_allowed(&["NoSchedule", "NoExecute"]), keeps: is_allowed(&["NoExecute"]) }
    }
}

/// A node with its fit and its daemons.
struct Place<'v> {
    node: &'v str,
    runs: bool,
    keeps: bool,
    /// Oldest first.
    pods: Vec<&'v Object>,
}

/// A DaemonSet and its pods at one point in time.
pub(super) struct Daemons<'v> {
    set: &'v Object,
    /// The hash of the current template.
    pub(super) hash: String,
    places: Vec<Place<'v>>,
    /// Pods of nodes that do not exist.
    lost: Vec<&'v Object>,
    now: Time,
    /// The most nodes that have an outdated daemon and a new one, which is not available yet. With `maxSurge`, outdated
    /// daemons stay until then.
    surge: usize,
    /// The time when the next ready pod becomes available.
    pub(super) recheck_at: Option<Time>,
}

/// The counts in the status.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) desired: usize,
    pub(super) current: usize,
    pub(super) misscheduled: usize,
    pub(super) ready: usize,
    pub(super) available: usize,
    pub(super) updated: usize,
}

impl<'v> Daemons<'v> {
    /// Groups the pods of a DaemonSet by node.
    pub(super) fn of(set: &'v Object, view: &'v View, now: Time) -> Self {
        let mut pods: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
        let mut recheck_at: Option<Time> = None;
        for pod in owners::pods_of(view, set) {
            pods.entry(node_of(pod)).or_default().push(pod);
            if let Some(at) = owners::available_at(pod, min_ready(set)).filter(|at| *at > now) {
                recheck_at = Some(recheck_at.map_or(at, |earlier| earlier.min(at)));
            }
        }
        let hash = current_hash(set, view);
        let model = Model::of(set, &hash);
        let places = view.list(&NODES).map(|node| {
            let Fit { runs, keeps } = model.fit(node);
            let mut pods = pods.remove(node.name()).unwrap_or_default();
            pods.sort_by_key(|pod| pod.text("/metadata/creationTimestamp"));
            Place { node: node.name(), runs, keeps, pods }
        });
        let places: Vec<Place<'_>> = places.collect();
        let surge = max_surge(set, places.iter().filter(|place| place.runs).count());
        Self { set, hash, places, lost: pods.into_values().flatten().collect(), now, surge, recheck_at }
    }

    /// The pods to delete and create now.
    pub(super) fn next_writes(&self) -> Vec<Write> {
        let mut writes = Vec::new();
        for place in &self.places {
            writes.extend(self.node_writes(place));
        }
        let lost = self.lost.iter().filter(|pod| !pod.is_terminating());
        writes.extend(lost.map(|pod| delete(pod)));
        match self.surge {
            _ if !writes.is_empty() => writes,
            0 => self.rollout_deletions(),
            _ => self.surge_writes(),
        }
    }

    /// The next writes of a rollout with `maxSurge`: daemons beside outdated ones, first where these are not available, and
    /// deletions of outdated ones whose successor is available (`rollingUpdate` of Kubernetes' DaemonSet controller).
    fn surge_writes(&self) -> Vec<Write> {
        let (mut writes, mut waiting, mut surging) = (Vec::new(), Vec::new(), 0);
        for place in self.places.iter().filter(|place| place.runs) {
            let staying = || place.pods.iter().filter(|pod| !pod.is_terminating());
            let Some(old) = staying().find(|pod| !self.is_updated(pod)) else { continue };
            match staying().find(|pod| self.is_updated(pod)) {
                Some(new) if self.is_available(new) => writes.push(delete(old)),
                Some(_) => surging += 1,
                None if self.is_available(old) => waiting.push(place),
                None => writes.push(self.create(place)),
            }
        }
        let room = self.surge.saturating_sub(surging);
        writes.extend(waiting.into_iter().take(room).map(|place| self.create(place)));
        writes
    }

    fn create(&self, place: &Place<'v>) -> Write {
        Write::create(&PODS, pod(self.set, &self.hash, place.node))
    }

    /// The nodes on which a daemon is created now.
    pub(super) fn nodes_without_daemon(&self) -> impl Iterator<Item = &'v str> {
        self.places
            .iter()
            .filter(|place| place.keeps && place.runs && place.pods.is_empty())
            .map(|place| place.node)
    }

    /// The writes for one node: creation of a daemon, or deletion of ended or superfluous ones.
    fn node_writes(&self, place: &Place<'v>) -> Vec<Write> {
        let staying: Vec<&&Object> = place.pods.iter().filter(|pod| !pod.is_terminating()).collect();
        if !place.keeps {
            return staying.into_iter().map(|pod| delete(pod)).collect();
        }
        let (ended, alive): (Vec<&&Object>, Vec<&&Object>) =
            staying.into_iter().partition(|pod| pod::has_ended(pod));
        let mut writes: Vec<Write> = ended.iter().map(|pod| delete(pod)).collect();
        // Keeps the oldest pod, and with surge the oldest of each template. A terminating pod delays its replacement.
        let (new, old): (Vec<&&Object>, Vec<&&Object>) =
            alive.into_iter().partition(|pod| self.surge > 0 && self.is_updated(pod));
        writes.extend(new.iter().skip(1).chain(old.iter().skip(1)).map(|pod| delete(pod)));
        if place.runs && place.pods.is_empty() {
            writes.push(self.create(place));
        }
        writes
    }

    /// Deletions of outdated daemons: all that are not available, and as many available ones as
    /// `maxUnavailable` allows.
    fn rollout_deletions(&self) -> Vec<Write> {
        let strategy = &self.set["spec"]["updateStrategy"];
        if strategy["type"] == "OnDelete" {
            return Vec::new();
        }
        let running = || self.places.iter().filter(|place| place.runs);
        let desired = i64::try_from(running().count()).unwrap_or(i64::MAX);
        let most = match &strategy["rollingUpdate"]["maxUnavailable"] {
            Value::Null => 1,
            value => resolve_int_or_percent(value, desired, true).unwrap_or(1),
        };
        let serves = |place: &&Place<'v>| place.pods.iter().any(|pod| self.is_available(pod));
        let missing = desired - i64::try_from(running().filter(serves).count()).unwrap_or(0);
        let mut room = usize::try_from((most - missing).max(0)).unwrap_or(0);
        let mut writes = Vec::new();
        for place in running() {
            let Some(pod) = place.pods.first().filter(|pod| !self.is_updated(pod) && !pod.is_terminating())
            else {
                continue;
            };
            if self.is_available(pod) {
                if room == 0 {
                    continue;
                }
                room -= 1;
            }
            writes.push(delete(pod));
        }
        writes
    }

    /// The template hashes of the pods.
    pub(super) fn hashes(&self) -> Vec<&'v str> {
        let pods = self.places.iter().flat_map(|place| &place.pods).chain(&self.lost);
        pods.filter_map(|pod| pod.label(REVISION)).collect()
    }

    fn is_updated(&self, pod: &Object) -> bool {
        pod.label(REVISION) == Some(self.hash.as_str())
    }

    fn is_available(&self, pod: &Object) -> bool {
        !pod.is_terminating()
            && owners::available_at(pod, min_ready(self.set)).is_some_and(|at| at <= self.now)
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for place in &self.places {
            let pod = place.pods.iter().find(|pod| !pod.is_terminating()).or(place.pods.first());
            if !(place.runs || place.keeps && pod.is_some()) {
                counts.misscheduled += usize::from(pod.is_some());
                continue;
            }
            counts.desired += 1;
            let Some(pod) = pod else { continue };
            counts.current += 1;
            counts.updated += usize::from(self.is_updated(pod));
            let ready = !pod.is_terminating() && owners::available_at(pod, 0).is_some();
            counts.ready += usize::from(ready);
            counts.available += usize::from(self.is_available(pod));
        }
        counts
    }
}

fn max_surge(set: &Object, desired: usize) -> usize {
    let strategy = &set["spec"]["updateStrategy"];
    let desired = i64::try_from(desired).unwrap_or(i64::MAX);
    let surge = resolve_int_or_percent(&strategy["rollingUpdate"]["maxSurge"], desired, true);
    let surge = surge.ok().filter(|_| strategy["type"] != "OnDelete");
    surge.and_then(|most| usize::try_from(most).ok()).unwrap_or(0)
}

fn min_ready(set: &Object) -> i64 {
    set.number("/spec/minReadySeconds").unwrap_or(0)
}

fn delete(pod: &Object) -> Write {
    Write::delete(&PODS, pod.namespace(), pod.name())
}

/// The node that a pod is bound to or that its node affinity requires.
fn node_of(pod: &Object) -> &str {
    const TERM: &str = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution\
                        /nodeSelectorTerms/0/matchFields/0/values/0";
    match pod::node_name(pod) {
        "" => pod.text(TERM),
        node => node,
    }
}

/// The daemon pod for a node.
fn pod(set: &Object, hash: &str, node: &str) -> Value {
    let generation = set.annotation(TEMPLATES).unwrap_or("1").to_owned();
    let labels = [(REVISION, hash), (GENERATION, generation.as_str())];
    let mut pod = owners::pod_from_template(set, &DAEMON_SETS, set.name(), &labels);
    let spec = &mut pod["spec"];
    let field = json!({ "key": "metadata.name", "operator": "In", "values": [node] });
    let required = &mut spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    match required["nodeSelectorTerms"].as_array_mut() {
        Some(terms) => terms.iter_mut().for_each(|term| term["matchFields"] = json!([field])),
        None => required["nodeSelectorTerms"] = json!([{ "matchFields": [field] }]),
    }
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    let on_host = spec["hostNetwork"] == true;
    let network = on_host.then_some(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    for (key, effect) in TOLERATED.into_iter().chain(network) {
        tolerations.push(json!({ "key": key, "operator": "Exists", "effect": effect }));
    }
    spec["tolerations"] = json!(tolerations);
    pod
}

/// The hash of the current template: that of its revision, if there is one.
fn current_hash(set: &Object, view: &View) -> String {
    let history = History::of(set, DAEMON_SETS, REVISION, view);
    let known = history.current().map(|revision| history.hash(revision).to_owned());
    known.unwrap_or_else(|| owners::template_hash(&set["spec"]["template"]))
}

//! The DaemonSet controller: one pod on each node that fits and whose taints are tolerated.
//!
//! Pods refer to their node by node affinity and have the standard tolerations of daemons (cordoned, unready
//! or overloaded nodes); the scheduler binds them. The controller ignores DaemonSets of the release payload.
//! A DaemonSet whose pod template has the annotation
//! `windtunnel.dev/program: machine` has programs on machines instead of pods. With
//! [`PayloadWorkloads::InPods`] all DaemonSets have pods; a new pod restarts the program on its machine.

mod daemon_set_status;
mod daemons;
pub mod machines;
mod revisions;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::{DAEMON_SETS, NODES, PODS};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Change, ChangeKind, Identity, Key, Object, View, Write, pod};

use self::daemons::{Daemons, Model};
use crate::environment::NodeEnvironment;
use crate::event_log::{EventLog, add_pod_events};
use crate::recorder::Notice;
use crate::workloads::payload_pods::PayloadPods;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, ControllerVersion, Effect, Input, Interest, PayloadWorkloads, Step, owners};

/// The DaemonSet controller of kube-controller-manager.
#[derive(Debug, Clone)]
pub struct DaemonSetController {
    streams: Streams,
    payload: PayloadPods,
    queue: WorkQueue,
    /// The time when restarted programs on machines are available, by DaemonSet.
    available_at: BTreeMap<Key, Time>,
    /// The nodes whose programs are restarted at the end of this step.
    restarted: Vec<(Key, String)>,
    events: EventLog,
    started: bool,
}

impl DaemonSetController {
    /// Creates a DaemonSet controller.
    pub fn new(streams: &Streams) -> Self {
        Self {
            streams: *streams,
            payload: PayloadPods::default(),
            queue: WorkQueue::default(),
            available_at: BTreeMap::new(),
            restarted: Vec::new(),
            events: EventLog::of("daemonset-controller"),
            started: false,
        }
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: ControllerVersion) -> Self {
        self.events.set_version(version);
        self
    }

    /// Sets how DaemonSets of a payload run.
    #[must_use]
    pub fn with_payload(self, payload: PayloadWorkloads) -> Self {
        Self { payload: PayloadPods::new(payload), ..self }
    }

    /// Whether a DaemonSet has no pods because its programs run on machines.
    fn has_no_pods(&self, set: &Object) -> bool {
        self.payload.is_without_pods() && owners::runs_on_machines(set)
    }

    fn notice(&mut self, input: &Input<'_>) {
        let first = !std::mem::replace(&mut self.started, true);
        let moved: Vec<&Change> = input.changes.iter().filter(|change| may_move_daemons(change)).collect();
        let machines_moved = input.changes.iter().any(machines::is_touched);
        if first || machines_moved || !moved.is_empty() {
            for set in input.view.list(&DAEMON_SETS) {
                let is_moved =
                    if self.has_no_pods(set) { machines_moved } else { moves_daemons(&moved, set) };
                if first || is_moved {
                    self.queue.add(DAEMON_SETS.key_of(set));
                }
            }
        }
        for change in input.changes {
            if change.key.is_kind(&DAEMON_SETS) {
                self.queue.add(change.key.clone());
            } else if let Some(set) = owners::controller_of(&change.object, &DAEMON_SETS) {
                self.queue.add(set);
            }
        }
        let answers = self.queue.settle_answers(input.answers, input.now);
        add_pod_events(&mut self.events, &DAEMON_SETS, &answers);
    }

    /// Adds the Events about ended daemons that are deleted.
    fn add_end_events(&mut self, key: &Key, writes: &[Write], view: &View) {
        let deletions = writes.iter().filter(|write| write.verb() == "delete" && write.resource == PODS);
        for pod in deletions.filter_map(|write| view.get_key(&write.key())) {
            let (namespace, name, node) = (pod.namespace(), pod.name(), pod::node_name(pod));
            let found = |phase: &str| format!("Found {phase} daemon pod {namespace}/{name} on node {node}");
            let notice = match pod::phase(pod) {
                "Failed" => Notice::warning("FailedDaemonPod", found("failed") + ", will try to kill it"),
                "Succeeded" => {
                    Notice::normal("SucceededDaemonPod", found("succeeded") + ", will try to delete it")
                }
                _ => continue,
            };
            self.events.add(key, notice);
        }
    }

    /// Continues a rollout on machines.
    fn roll_on_machines(&mut self, key: &Key, set: &Object, view: &View, now: Time) -> Option<Write> {
        if set.is_terminating() {
            return None;
        }
        if let Some(at) = machines::available_at(set, view, self.streams, now) {
            let at = *self.available_at.entry(key.clone()).or_insert(at);
            if at > now {
                self.queue.add_at(key.clone(), at);
                return None;
            }
        }
        self.available_at.remove(key);
        let round = machines::next(set, view)?;
        self.restarted.extend(round.restarted.into_iter().map(|node| (key.clone(), node)));
        Some(round.write)
    }
}

/// Whether a change of a node may affect DaemonSets: its spec or labels changed. Its status does not matter.
fn may_move_daemons(change: &Change) -> bool {
    let same = |old: &Object| {
        old["spec"] == change.object["spec"]
            && old["metadata"]["labels"] == change.object["metadata"]["labels"]
    };
    change.key.is_kind(&NODES) && !change.old.as_ref().is_some_and(same)
}

/// Whether any of the changes affects the fit of a node for a DaemonSet. Most do not; this check avoids
/// processing all nodes.
fn moves_daemons(changes: &[&Change], set: &Object) -> bool {
    let model = Model::of(set, "");
    changes.iter().any(|change| {
        let before = change.old.as_ref().map(|old| model.fit(old)).unwrap_or_default();
        change.kind == ChangeKind::Deleted || model.fit(&change.object) != before
    })
}

impl Reconcile for DaemonSetController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(set) = view.get_key(key).filter(|set| !self.payload.runs_without_pods(set)) else {
            self.available_at.remove(key);
            self.events.forget(key);
            return Vec::new();
        };
        if self.has_no_pods(set) {
            return self.roll_on_machines(key, set, view, now).into_iter().collect();
        }
        let daemons = Daemons::of(set, view, now);
        if let Some(at) = daemons.recheck_at {
            self.queue.add_at(key.clone(), at);
        }
        let mut writes = Vec::new();
        if !set.is_terminating() {
            if owners::runs_on_machines(set) {
                let nodes = daemons.nodes_without_daemon().map(str::to_owned);
                self.restarted.extend(nodes.map(|node| (key.clone(), node)));
            }
            writes.extend(revisions::revision_writes(set, &daemons, view));
            let of_pods = daemons.next_writes();
            self.add_end_events(key, &of_pods, view);
            writes.extend(of_pods);
        }
        writes.extend(daemon_set_status::write_status(set, &daemons));
        writes
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.events)
    }
}

impl Actor for DaemonSetController {
    fn name(&self) -> &'static str {
        "daemonset-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "daemon-set-controller")
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        self.payload.set_environment(environment);
    }

    fn interests(&self) -> Vec<Interest> {
        [DAEMON_SETS, PODS, NODES].into_iter().map(Interest::Kind).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = self.reconcile(input);
        let restart = |(set, node): (Key, String)| Effect::Restart { node, program: set.name };
        step.effects.extend(self.restarted.drain(..).map(restart));
        step
    }
}

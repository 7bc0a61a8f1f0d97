//! The DaemonSet controller: a pod on each node that fits and whose taints are tolerated.
//!
//! Pods name their node by an affinity and tolerate what daemons tolerate (nodes that are cordoned, not ready or under
//! pressure); the scheduler binds them. What a release payload brings is left alone, as its Deployments are. There is no surge.

mod daemons;
mod revisions;
mod status;

#[cfg(test)]
mod tests;

use self::daemons::{Daemons, Model};
use super::workqueue::{Reconcile, WorkQueue};
use super::{Actor, Input, Interest, Step, owners};
use crate::base::clock::Time;
use crate::model::resources::{CONTROLLER_REVISIONS, DAEMON_SETS, NODES, PODS};
use crate::model::{Change, ChangeKind, Identity, Key, Object, View, Write};

/// The DaemonSet controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct DaemonSetController {
    queue: WorkQueue,
    started: bool,
}

impl DaemonSetController {
    /// A controller that has not looked at anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        let first = !std::mem::replace(&mut self.started, true);
        let moved: Vec<&Change> = input.changes.iter().filter(|change| may_move_daemons(change)).collect();
        if first || !moved.is_empty() {
            for set in input.view.list(&DAEMON_SETS).filter(|set| first || moves_daemons(&moved, set)) {
                self.queue.add(DAEMON_SETS.key(set.namespace(), set.name()));
            }
        }
        for change in input.changes {
            if change.key.is(&DAEMON_SETS) {
                self.queue.add(change.key.clone());
            } else if let Some(set) = owners::controller_of(&change.object, &DAEMON_SETS) {
                self.queue.add(set);
            }
        }
        self.queue.answered(input.answers, input.now);
    }
}

/// Whether it is a change of a node that some DaemonSet may mind. What a node says of its state does not matter, but what it
/// is called and what keeps pods away from it.
fn may_move_daemons(change: &Change) -> bool {
    let same = |old: &Object| {
        old["spec"] == change.object["spec"]
            && old["metadata"]["labels"] == change.object["metadata"]["labels"]
    };
    change.key.is(&NODES) && !change.old.as_ref().is_some_and(same)
}

/// Whether a node is something else to a DaemonSet than it was before one of these changes. Most changes of nodes are nothing
/// to a DaemonSet, which would look at all nodes for them.
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
        let Some(set) = view.get_key(key).filter(|set| !owners::is_of_payload(set)) else {
            return Vec::new();
        };
        let daemons = Daemons::of(set, view, now);
        if let Some(at) = daemons.look_again {
            self.queue.add_at(key.clone(), at);
        }
        let mut writes = Vec::new();
        if !set.is_terminating() {
            writes.extend(revisions::told(set, &daemons.hash, &daemons.hashes(), view));
            writes.extend(daemons.next());
        }
        writes.extend(status::told(set, &daemons));
        writes
    }
}

impl Actor for DaemonSetController {
    fn name(&self) -> &'static str {
        "daemonset-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "daemon-set-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        [DAEMON_SETS, CONTROLLER_REVISIONS, PODS, NODES].into_iter().map(Interest::Kind).collect()
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}

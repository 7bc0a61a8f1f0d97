//! The garbage collector deletes objects of any kind when their last owner is gone.
//!
//! It implements the propagation policies of deletions:
//! - Background: dependents are deleted after their owner.
//! - Foreground (finalizer `foregroundDeletion`): the owner stays until all blocking dependents are gone.
//! - Orphan (finalizer `orphan`): dependents lose the owner reference and stay.
//!
//! An index of dependents by owner uid limits the cost of a change to the affected objects.

mod references;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windtunnel_core::clock::Time;
use windtunnel_core::{
    Change, ChangeKind, DeleteOptions, Identity, Key, Object, Propagation, Resource, View, Write,
};

use self::references::{Owners, has_finalizer, is_waiting, owners, resolve_owner};
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step, marks};

/// The finalizer of an owner that waits for the deletion of its dependents.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner whose dependents are kept.
const ORPHAN: &str = "orphan";

/// The garbage collector of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct GarbageCollector {
    queue: WorkQueue,
    /// The keys of objects by the uids of their owners.
    dependents: BTreeMap<String, BTreeSet<Key>>,
    started: bool,
}

impl GarbageCollector {
    /// Creates a garbage collector.
    pub fn new() -> Self {
        Self::default()
    }

    fn queue_changes(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            self.index_all(input.view);
        }
        for change in input.changes {
            self.follow(change, input.view);
        }
        self.queue.process_answers(input.answers, input.now);
    }

    /// Indexes all objects and queues those that may need a write.
    fn index_all(&mut self, view: &View) {
        let mut candidates = Vec::new();
        for (key, object) in view.objects() {
            let owned = !owners(object).is_empty();
            if owned {
                self.index(&key, object);
            }
            if owned || object.is_terminating() {
                candidates.push((key, object));
            }
        }
        for (key, object) in candidates {
            if object.is_terminating() || self.sync_by_owners(&key, object, view).is_some() {
                self.queue.add(key);
            }
        }
    }

    /// Updates the index with a change and queues the object, its dependents, and the owners that may wait
    /// for it.
    fn follow(&mut self, change: &Change, view: &View) {
        let is_gone = change.kind == ChangeKind::Deleted;
        let object = &change.object;
        let old = change.old.as_ref().or(is_gone.then_some(object));
        if let Some(old) = old {
            self.forget(&change.key, old);
        }
        if !is_gone {
            self.index(&change.key, object);
            self.queue.add(change.key.clone());
        }
        if is_gone || object.is_terminating() && !old.is_some_and(Object::is_terminating) {
            self.queue_dependents(object.uid());
        }
        if let Some(old) = old.filter(|old| is_gone || owners(old) != owners(object)) {
            self.queue_waiting_owners(old, view);
        }
    }

    fn index(&mut self, key: &Key, object: &Object) {
        for owner in owners(object) {
            self.dependents.entry(uid(owner).to_owned()).or_default().insert(key.clone());
        }
    }

    fn forget(&mut self, key: &Key, object: &Object) {
        for owner in owners(object) {
            if let Some(dependents) = self.dependents.get_mut(uid(owner)) {
                dependents.remove(key);
                if dependents.is_empty() {
                    self.dependents.remove(uid(owner));
                }
            }
        }
    }

    /// Queues the dependents of an owner that is gone or terminating.
    fn queue_dependents(&mut self, owner: &str) {
        for dependent in self.dependents.get(owner).into_iter().flatten() {
            self.queue.add(dependent.clone());
        }
    }

    /// Queues the terminating owners of an object, which may wait for it.
    fn queue_waiting_owners(&mut self, object: &Object, view: &View) {
        for reference in owners(object) {
            if let Some((key, found)) = resolve_owner(reference, object.namespace(), view).into_found()
                && found.is_terminating()
            {
                self.queue.add(key);
            }
        }
    }

    /// The indexed dependents of an object that still exist.
    fn dependents<'v>(&self, of: &Object, view: &'v View) -> Vec<(&Key, &'v Object)> {
        let keys = self.dependents.get(of.uid()).into_iter().flatten();
        keys.filter_map(|key| Some((key, view.get_key(key)?))).collect()
    }

    /// Removes the owner references from dependents and then the `orphan` finalizer from their owner.
    fn orphan_dependents(&self, key: &Key, owner: &Object, view: &View) -> Vec<Write> {
        let dependents = self.dependents(owner, view);
        marks::DEPENDENTS_ORPHANED.reach_if(!dependents.is_empty());
        let mut writes: Vec<Write> = dependents
            .into_iter()
            .map(|(key, dependent)| with_owners(key, dependent, |reference| uid(reference) != owner.uid()))
            .collect();
        if writes.is_empty() {
            writes.push(without_finalizer(key, owner, ORPHAN));
        }
        writes
    }

    /// Whether no dependent blocks the deletion of the owner.
    fn is_unblocked(&self, owner: &Object, view: &View) -> bool {
        !self.dependents(owner, view).iter().any(|(_, dependent)| {
            owners(dependent)
                .iter()
                .any(|reference| uid(reference) == owner.uid() && reference["blockOwnerDeletion"] == true)
        })
    }

    /// The write that the state of an object's owners requires, if any.
    fn sync_by_owners(&self, key: &Key, object: &Object, view: &View) -> Option<Write> {
        let Owners { solid, waiting, dangling } = Owners::classify(object, view);
        if dangling.is_empty() && waiting.is_empty() {
            return None;
        }
        if !solid.is_empty() {
            return Some(with_owners(key, object, |reference| solid.contains(&uid(reference))));
        }
        let dependents = self.dependents(object, view);
        if !waiting.is_empty() && !dependents.is_empty() {
            // In a cycle of owners, each would wait for the other.
            if dependents.iter().any(|(_, dependent)| is_waiting(dependent)) && blocks(object) {
                marks::OWNERS_IN_A_CYCLE.reach();
                return Some(unblocked(key, object));
            }
            return Some(deletion(key, object, Propagation::Foreground));
        }
        marks::OWNER_GONE.reach();
        let policy = match object {
            _ if has_finalizer(object, ORPHAN) => Propagation::Orphan,
            _ if has_finalizer(object, FOREGROUND) => Propagation::Foreground,
            _ => Propagation::Background,
        };
        Some(deletion(key, object, policy))
    }
}

fn uid(reference: &Value) -> &str {
    reference["uid"].as_str().unwrap_or_default()
}

fn blocks(object: &Object) -> bool {
    owners(object).iter().any(|reference| reference["blockOwnerDeletion"] == true)
}

fn deletion(key: &Key, object: &Object, policy: Propagation) -> Write {
    let options = DeleteOptions {
        uid: Some(object.uid().to_owned()),
        propagation: Some(policy),
        ..DeleteOptions::default()
    };
    Write::delete_with(&Resource::from_object(key, object), &key.namespace, &key.name, options)
}

/// Patches metadata of an object unless another client has changed it.
fn patch(key: &Key, object: &Object, field: &str, list: &[Value]) -> Write {
    let patch = json!({ "metadata": { "resourceVersion": object.resource_version(), field: list } });
    Write::merge_patch(&Resource::from_object(key, object), &key.namespace, &key.name, patch)
}

fn without_finalizer(key: &Key, object: &Object, finalizer: &str) -> Write {
    let mut finalizers = object.list("/metadata/finalizers").to_vec();
    finalizers.retain(|name| name != finalizer);
    patch(key, object, "finalizers", &finalizers)
}

fn with_owners(key: &Key, object: &Object, stays: impl Fn(&Value) -> bool) -> Write {
    let mut references = owners(object).to_vec();
    references.retain(stays);
    patch(key, object, "ownerReferences", &references)
}

fn unblocked(key: &Key, object: &Object) -> Write {
    let mut references = owners(object).to_vec();
    for reference in &mut references {
        reference["blockOwnerDeletion"] = json!(false);
    }
    patch(key, object, "ownerReferences", &references)
}

impl Reconcile for GarbageCollector {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, _now: Time) -> Vec<Write> {
        let Some(object) = view.get_key(key) else { return Vec::new() };
        if !object.is_terminating() {
            return self.sync_by_owners(key, object, view).into_iter().collect();
        }
        if has_finalizer(object, ORPHAN) {
            return self.orphan_dependents(key, object, view);
        }
        if has_finalizer(object, FOREGROUND) && self.is_unblocked(object, view) {
            return vec![without_finalizer(key, object, FOREGROUND)];
        }
        Vec::new()
    }
}

impl Actor for GarbageCollector {
    fn name(&self) -> &'static str {
        "garbage-collector"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "generic-garbage-collector")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Ownership]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.queue_changes(input);
        self.reconcile(input)
    }
}

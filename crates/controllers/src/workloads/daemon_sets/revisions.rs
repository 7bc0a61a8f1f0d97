//! The revisions of a DaemonSet: one for the current template, and former ones for a rollback.

use serde_json::json;
use windtunnel_core::resources::{CONTROLLER_REVISIONS, DAEMON_SETS, PODS};
use windtunnel_core::{Object, Resource, View, Write};

use super::daemons::Daemons;
use crate::owners;
use crate::workloads::revisions::{History, REVISION};

/// The writes that keep one revision of the current template, and those that pods or a rollback may need.
pub(super) fn revision_writes(set: &Object, daemons: &Daemons<'_>, view: &View) -> Vec<Write> {
    let history = History::of(set, DAEMON_SETS, REVISION, view);
    let used = daemons.hashes();
    let mut writes = Vec::from_iter(history.update(&daemons.hash));
    if let Some(current) = history.current() {
        if current.label(REVISION).is_none() {
            writes.push(label(&CONTROLLER_REVISIONS, current, &daemons.hash));
        }
        for duplicate in history.equal().filter(|revision| revision.uid() != current.uid()) {
            let pods = owners::pods_of(view, set);
            let of_duplicate = pods.filter(|pod| pod.label(REVISION) == Some(history.hash(duplicate)));
            writes.extend(of_duplicate.map(|pod| label(&PODS, pod, &daemons.hash)));
            writes.push(Write::delete(&CONTROLLER_REVISIONS, duplicate.namespace(), duplicate.name()));
        }
    }
    writes.extend(history.deletions(|revision| {
        let hash = history.hash(revision);
        hash == daemons.hash || used.contains(&hash)
    }));
    writes
}

fn label(kind: &Resource, object: &Object, hash: &str) -> Write {
    let patch = json!({ "metadata": { "labels": { REVISION: hash } } });
    Write::merge_patch(kind, object.namespace(), object.name(), patch)
}

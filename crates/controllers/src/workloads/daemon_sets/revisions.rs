//! The revision history of a DaemonSet as ControllerRevisions, for `kubectl rollout` (`history` and `undo`).

use serde_json::{Value, json};
use windtunnel_core::resources::{CONTROLLER_REVISIONS, DAEMON_SETS};
use windtunnel_core::{Object, View, Write};

use crate::owners;

/// The label with the hash of the template, on pods and revisions.
pub(super) const HASH: &str = "controller-revision-hash";
/// The default `spec.revisionHistoryLimit`: the number of revisions without pods that are kept.
const LIMIT_DEFAULT: usize = 10;

/// The writes that make the revision of the current template the newest one and delete excess old revisions.
/// `hashes` are the template hashes of the pods.
pub(super) fn revision_writes(set: &Object, hash: &str, hashes: &[&str], view: &View) -> Vec<Write> {
    let mut revisions: Vec<&Object> = view
        .list_in(&CONTROLLER_REVISIONS, set.namespace())
        .filter(|revision| owners::controls(set, revision))
        .collect();
    revisions.sort_by_key(|revision| number(revision));
    let newest = revisions.last().map_or(0, |revision| number(revision));
    let mut writes = Vec::new();
    match revisions.iter().find(|revision| revision.label(HASH) == Some(hash)) {
        None => writes.push(Write::create(&CONTROLLER_REVISIONS, revision(set, hash, newest + 1))),
        Some(current) if number(current) < newest => {
            let patch = json!({ "revision": newest + 1 });
            writes.push(Write::merge_patch(&CONTROLLER_REVISIONS, set.namespace(), current.name(), patch));
        }
        Some(_) => {}
    }
    let limit = set.number("/spec/revisionHistoryLimit").and_then(|limit| usize::try_from(limit).ok());
    let old: Vec<&&Object> = revisions
        .iter()
        .filter(|revision| {
            let own = revision.label(HASH).unwrap_or_default();
            own != hash && !hashes.contains(&own)
        })
        .collect();
    let too_many = old.len().saturating_sub(limit.unwrap_or(LIMIT_DEFAULT));
    writes.extend(
        old.into_iter()
            .take(too_many)
            .map(|revision| Write::delete(&CONTROLLER_REVISIONS, set.namespace(), revision.name())),
    );
    writes
}

fn number(revision: &Object) -> i64 {
    revision.number("/revision").unwrap_or(0)
}

fn revision(set: &Object, hash: &str, number: i64) -> Value {
    let template = &set["spec"]["template"];
    let mut data = json!({ "spec": { "template": template } });
    data["spec"]["template"]["$patch"] = json!("replace");
    let mut metadata = json!({
        "namespace": set.namespace(),
        "name": format!("{}-{hash}", set.name()),
        "labels": template["metadata"]["labels"],
        "ownerReferences": [owners::reference(set, &DAEMON_SETS)],
    });
    metadata["labels"][HASH] = json!(hash);
    // They include the cause of the change (`kubernetes.io/change-cause`).
    if let Value::Object(annotations) = &set["metadata"]["annotations"] {
        metadata["annotations"] = json!(annotations);
    }
    json!({ "metadata": metadata, "data": data, "revision": number })
}

//! The ControllerRevisions of StatefulSets and DaemonSets. Dumps lack them, and without them the controllers would take the
//! templates for new ones, and replace all pods.

use serde_json::{Value, json};
use windtunnel_core::resources::{CONTROLLER_REVISIONS, DAEMON_SETS, PODS, STATEFUL_SETS};
use windtunnel_core::{Object, Resource};

use super::storage::Storage;

/// The label of pods, and of the revisions of DaemonSets, with their revision.
const REVISION: &str = "controller-revision-hash";
/// The label of the revisions of StatefulSets with the hash of their template.
const HASH: &str = "controller.kubernetes.io/hash";

/// Adds the current revision of each StatefulSet and DaemonSet among `objects`, or replaces its data: a dump and the copy can write
/// the same template in different ways.
pub(super) fn complete(objects: &mut Vec<Object>, storage: &Storage) {
    let added: Vec<Object> = objects
        .iter()
        .filter_map(|object| {
            let kind = [STATEFUL_SETS, DAEMON_SETS].into_iter().find(|kind| kind.is_kind_of(object))?;
            let stored = storage.object(&kind, object)?;
            let hash = current_hash(&kind, object, objects)?;
            Some(revision(&kind, &stored, &hash))
        })
        .collect();
    let is_added = |object: &Object| {
        CONTROLLER_REVISIONS.is_kind_of(object)
            && added.iter().any(|new| CONTROLLER_REVISIONS.key_of(new) == CONTROLLER_REVISIONS.key_of(object))
    };
    objects.retain(|object| !is_added(object));
    objects.extend(added);
}

/// The end of the name of the current revision: a StatefulSet reports it, and the pods of a DaemonSet agree on it.
fn current_hash(kind: &Resource, workload: &Object, objects: &[Object]) -> Option<String> {
    if *kind == STATEFUL_SETS {
        let name = workload.text("/status/updateRevision");
        return name.strip_prefix(workload.name())?.strip_prefix('-').map(str::to_owned);
    }
    let is_own = |pod: &&Object| {
        let owners = pod.list("/metadata/ownerReferences");
        PODS.is_kind_of(pod) && owners.iter().any(|owner| owner["uid"] == *workload.uid())
    };
    let mut hashes = objects.iter().filter(is_own).filter_map(|pod| pod.label(REVISION));
    let first = hashes.next()?;
    hashes.all(|hash| hash == first).then(|| first.to_owned())
}

fn revision(kind: &Resource, workload: &Object, hash: &str) -> Object {
    let mut template = workload["spec"]["template"].clone();
    let mut labels = template["metadata"]["labels"].clone();
    template["$patch"] = json!("replace");
    if labels.is_null() {
        labels = json!({});
    }
    labels[if *kind == STATEFUL_SETS { HASH } else { REVISION }] = Value::from(hash);
    Object::new(json!({
        "apiVersion": CONTROLLER_REVISIONS.api_version(),
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": {
            "namespace": workload.namespace(),
            "name": format!("{}-{hash}", workload.name()),
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": kind.api_version(),
                "kind": kind.kind,
                "name": workload.name(),
                "uid": workload.uid(),
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "data": { "spec": { "template": template } },
        "revision": 1,
    }))
}

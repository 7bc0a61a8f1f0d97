//! Adoption and release of pods by the controller of a workload.

use serde_json::{Value, json};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Object, Resource, View, Write};

use crate::owners;

/// The writes that give a workload the active pods that it selects and that have no controller, and take from it those
/// that it no longer selects.
pub(super) fn claim_pods(
    workload: &Object,
    kind: &Resource,
    view: &View,
    selects: impl Fn(&Object) -> bool,
) -> Vec<Write> {
    let adopted = view
        .list_in(&PODS, workload.namespace())
        .filter(|pod| owners::controller(pod).is_none() && owners::is_active(pod) && selects(pod))
        .map(|pod| adopt(workload, kind, pod));
    let released =
        owners::pods_of(view, workload).filter(|pod| !selects(pod)).map(|pod| release(workload, pod));
    adopted.chain(released).collect()
}

fn adopt(workload: &Object, kind: &Resource, pod: &Object) -> Write {
    let mut references = pod.list("/metadata/ownerReferences").to_vec();
    references.push(owners::reference(workload, kind));
    patch_owners(pod, &references)
}

fn release(workload: &Object, pod: &Object) -> Write {
    let others = pod.list("/metadata/ownerReferences").iter().filter(|owner| owner["uid"] != *workload.uid());
    patch_owners(pod, &others.cloned().collect::<Vec<_>>())
}

fn patch_owners(pod: &Object, references: &[Value]) -> Write {
    let patch = json!({ "metadata": { "uid": pod.uid(), "ownerReferences": references } });
    Write::merge_patch(&PODS, pod.namespace(), pod.name(), patch)
}

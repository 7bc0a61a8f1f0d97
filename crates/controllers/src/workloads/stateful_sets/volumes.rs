//! The claims of a StatefulSet for volumes, one for each pod and template.

use serde_json::{Value, json};
use windtunnel_core::resources::{PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS};
use windtunnel_core::{Object, Resource, View, Write, name_of};

use super::ordinals;
use crate::owners;

/// The part of a retention policy that applies when the set is deleted, or scaled down.
fn deletes(set: &Object, when: &str) -> bool {
    set["spec"]["persistentVolumeClaimRetentionPolicy"][when] == "Delete"
}

fn templates(set: &Object) -> &[Value] {
    set.list("/spec/volumeClaimTemplates")
}

fn claim_name(set: &Object, template: &Value, ordinal: i64) -> String {
    format!("{}-{}", name_of(template), ordinals::name(set, ordinal))
}

/// The existing claims of the pod with this ordinal.
fn claims<'v>(set: &'v Object, ordinal: i64, view: &'v View) -> impl Iterator<Item = &'v Object> {
    let names = templates(set).iter().map(move |template| claim_name(set, template, ordinal));
    names.filter_map(move |name| view.get(&PERSISTENT_VOLUME_CLAIMS, set.namespace(), &name))
}

/// Creations of the missing claims of the pod with this ordinal.
pub(super) fn creations(set: &Object, ordinal: i64, view: &View) -> Vec<Write> {
    let missing = templates(set).iter().filter_map(|template| {
        let name = claim_name(set, template, ordinal);
        let exists = view.get(&PERSISTENT_VOLUME_CLAIMS, set.namespace(), &name).is_some();
        (!exists).then(|| Write::create(&PERSISTENT_VOLUME_CLAIMS, claim(set, template, &name)))
    });
    missing.collect()
}

fn claim(set: &Object, template: &Value, name: &str) -> Value {
    let mut claim = template.clone();
    claim["metadata"]["name"] = json!(name);
    claim["metadata"]["namespace"] = json!(set.namespace());
    for (label, value) in set["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten() {
        claim["metadata"]["labels"][label] = value.clone();
    }
    claim
}

/// Whether a claim of the pod with this ordinal delays its creation: it is being deleted, or belongs to a former pod of
/// the name.
pub(super) fn delay_creation(set: &Object, ordinal: i64, view: &View) -> bool {
    let name = ordinals::name(set, ordinal);
    let is_stale = |claim: &Object| {
        let owners = claim.list("/metadata/ownerReferences").iter();
        deletes(set, "whenScaled") && owners.into_iter().any(|owner| refers_to(owner, &PODS, &name))
    };
    claims(set, ordinal, view).any(|claim| claim.is_terminating() || is_stale(claim))
}

/// Whether the volumes of a pod are those of its claims.
pub(super) fn matches(set: &Object, pod: &Object, ordinal: i64) -> bool {
    templates(set).iter().all(|template| {
        let mut volumes = pod.list("/spec/volumes").iter();
        let volume = volumes.find(|volume| volume["name"] == *name_of(template));
        volume.is_some_and(|volume| {
            volume["persistentVolumeClaim"]["claimName"] == claim_name(set, template, ordinal)
        })
    })
}

/// The volumes of a pod, of which those with the name of a template have its claim. `None` if there are no templates.
pub(super) fn mounted(set: &Object, pod: &Value, ordinal: i64) -> Option<Vec<Value>> {
    if templates(set).is_empty() {
        return None;
    }
    let claimed = templates(set).iter().map(|template| {
        let claim = json!({ "claimName": claim_name(set, template, ordinal) });
        json!({ "name": name_of(template), "persistentVolumeClaim": claim })
    });
    let is_claimed = |volume: &&Value| templates(set).iter().any(|claim| volume["name"] == *name_of(claim));
    let others = pod["spec"]["volumes"].as_array().into_iter().flatten();
    Some(claimed.chain(others.filter(|volume| !is_claimed(volume)).cloned()).collect())
}

/// Updates of the owners of a pod's claims, by which the garbage collector applies the retention policy of the set.
/// `is_removed`: the set was scaled down below the ordinal of the pod.
pub(super) fn owner_updates(
    set: &Object,
    pod: &Object,
    ordinal: i64,
    is_removed: bool,
    view: &View,
) -> Vec<Write> {
    let wanted = wanted_owner(set, pod, is_removed);
    let updates = claims(set, ordinal, view).filter_map(|claim| {
        let owners = owners_of_claim(claim, set, pod, wanted.as_ref())?;
        let patch = json!({ "metadata": { "uid": claim.uid(), "ownerReferences": owners } });
        Some(Write::merge_patch(&PERSISTENT_VOLUME_CLAIMS, claim.namespace(), claim.name(), patch))
    });
    updates.collect()
}

/// The owner that claims of a pod should have: the set, the pod, or none.
fn wanted_owner(set: &Object, pod: &Object, is_removed: bool) -> Option<Value> {
    if deletes(set, "whenScaled") && is_removed {
        return Some(owners::reference(pod, &PODS));
    }
    deletes(set, "whenDeleted").then(|| owners::reference(set, &STATEFUL_SETS))
}

/// The owners that a claim should have; `None` if it has them already, or has owners that the controller does not touch.
fn owners_of_claim(claim: &Object, set: &Object, pod: &Object, wanted: Option<&Value>) -> Option<Vec<Value>> {
    let present = claim.list("/metadata/ownerReferences");
    let is_ours =
        |owner: &&Value| refers_to(owner, &STATEFUL_SETS, set.name()) || refers_to(owner, &PODS, pod.name());
    let is_current = |owner: &&Value| owner["uid"] == *set.uid() || owner["uid"] == *pod.uid();
    if present.iter().filter(is_ours).any(|owner| !is_current(&owner)) {
        return None;
    }
    let retains = !deletes(set, "whenScaled") && !deletes(set, "whenDeleted");
    let has_other_controller =
        !retains && present.iter().any(|owner| owner["controller"] == true && !is_ours(&owner));
    let others = present.iter().filter(|owner| !is_ours(owner)).cloned();
    let expected: Vec<Value> = others.chain(wanted.filter(|_| !has_other_controller).cloned()).collect();
    let identity = |owner: &Value| (owner["uid"].clone(), owner["controller"] == true);
    let same = expected.len() == present.len()
        && expected.iter().all(|owner| present.iter().any(|found| identity(found) == identity(owner)));
    (!same).then_some(expected)
}

/// Whether an owner reference is to an object of this kind and name.
fn refers_to(owner: &Value, kind: &Resource, name: &str) -> bool {
    owner["apiVersion"] == kind.api_version() && owner["kind"] == *kind.kind && owner["name"] == *name
}

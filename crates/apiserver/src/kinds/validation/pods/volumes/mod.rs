//! Validation of the volumes of pods.

mod claims;
mod disks;
mod files;
mod network;
mod projected;
mod sources;

pub(in crate::kinds::validation) use disks::{azure as azure_disk, flocker, is_iscsi_name};
pub(in crate::kinds::validation) use network::quobyte;

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::label;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::names;

/// Validates the volumes of a pod with this name, or of a template, and returns the indices of those with
/// errors (`ValidateVolumes`).
pub(super) fn volumes(
    list: &Value,
    pod_name: Option<&str>,
    is_pod: bool,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) -> Vec<usize> {
    let list = items(list);
    let mut broken = Vec::new();
    let mut valid = BTreeSet::new();
    let is_ephemeral = |volume: &&Value| volume["ephemeral"].is_object();
    let ephemeral: BTreeSet<&str> =
        list.iter().filter(is_ephemeral).map(|volume| text(&volume["name"])).collect();
    for (index, volume) in list.iter().enumerate() {
        let at = at.index(index);
        let before = errors.found.len();
        sources::source(volume, is_pod, at, errors);
        portal_length(volume, at, errors);
        label(&volume["name"], at.child("name"), errors);
        claim_of_ephemeral(volume, pod_name, at, errors);
        if valid.contains(text(&volume["name"])) {
            errors.duplicate(at.child("name"), text(&volume["name"]));
        }
        if errors.found.len() > before {
            broken.push(index);
        } else {
            valid.insert(text(&volume["name"]));
        }
        created_claim(volume, &ephemeral, pod_name, at, errors);
    }
    broken
}

/// The name of a volume and the address of its portal become one name, if there is an initiator name.
fn portal_length(volume: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (name, iscsi) = (text(&volume["name"]), &volume["iscsi"]);
    if !iscsi["initiatorName"].is_null() && name.len() + 1 + text(&iscsi["targetPortal"]).len() > 64 {
        let why = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                   iscsi.initiatorName is specified.";
        errors.invalid(at.child("name"), name, why);
    }
}

/// Requires that the claim of an ephemeral volume gets a valid name.
fn claim_of_ephemeral(volume: &Value, pod_name: Option<&str>, at: Path<'_>, errors: &mut Errors<'_>) {
    let name = text(&volume["name"]);
    let Some(pod_name) = pod_name.filter(|_| volume["ephemeral"].is_object() && !name.is_empty()) else {
        return;
    };
    let claim = format!("{pod_name}-{name}");
    for why in names::subdomain(&claim) {
        errors.invalid(at.child("name"), name, format!("PVC name \"{claim}\": {why}"));
    }
}

/// Rejects a reference to the claim of an ephemeral volume of the same pod.
fn created_claim(
    volume: &Value,
    ephemeral: &BTreeSet<&str>,
    pod_name: Option<&str>,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    let claim = text(&volume["persistentVolumeClaim"]["claimName"]);
    let Some(volume) = pod_name.and_then(|name| claim.strip_prefix(name)?.strip_prefix('-')) else { return };
    if ephemeral.contains(volume) {
        let why = "must not reference a PVC that gets created for an ephemeral volume";
        let at = at.child("persistentVolumeClaim");
        errors.invalid(at.child("claimName"), claim, why);
    }
}

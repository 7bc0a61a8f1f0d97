//! Validation of status writes of pods.

mod addresses;
mod claims;
mod containers;
mod transitions;

use serde_json::Value;

use super::annotations;
use super::names::qualified;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::names;
use crate::profile::since;

const LISTS: [&str; 3] = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];
const GENERATION: &str = "must be a non-negative integer";

/// Validates a status (`ValidatePodStatusUpdate`).
pub(in crate::kinds::validation) fn status(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let Some(old) = old else { return };
    let at = Path::Root.child("status");
    let metadata = Path::Root.child("metadata");
    let own = &object["metadata"]["annotations"];
    if *own != old["metadata"]["annotations"] {
        annotations::update(object, old, metadata.child("annotations"), errors);
        annotations::annotations(own, &object["spec"], metadata.child("annotations"), errors);
    }
    let status = &object["status"];
    conditions(&status["conditions"], at.child("conditions"), errors);
    if text(&object["spec"]["nodeName"]) != text(&old["spec"]["nodeName"]) {
        errors.forbidden(at.child("nodeName"), "may not be changed directly");
    }
    nomination(object, old, at.child("nominatedNodeName"), errors);
    if let Some(generation) = status["observedGeneration"].as_i64().filter(|generation| *generation < 0) {
        errors.invalid(at.child("observedGeneration"), generation, GENERATION);
    }
    if text(&status["qosClass"]) != text(&old["status"]["qosClass"]) {
        errors.invalid(at.child("qosClass"), text(&status["qosClass"]), "field is immutable");
    }
    transitions::transitions(status, old, at, errors);
    claims::claims(object, at, errors);
    addresses::pod_addresses(status, &old["status"], at, errors);
    addresses::host_addresses(status, &old["status"], at, errors);
    containers::containers(object, at, errors);
}

/// Validates the types of conditions (`validatePodConditions`).
fn conditions(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, condition) in items(list).iter().enumerate() {
        let at = at.index(index);
        let generation = condition["observedGeneration"].as_i64();
        if let Some(generation) = generation.filter(|generation| *generation < 0) {
            errors.invalid(at.child("observedGeneration"), generation, GENERATION);
        }
        let kind = text(&condition["type"]);
        if !SYSTEM_CONDITIONS.contains(&kind) {
            qualified(kind, at.child("Type"), errors);
        }
    }
}

/// Requires the name of a node, for a pod that has no node yet.
fn nomination(object: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let name = text(&object["status"]["nominatedNodeName"]);
    if name.is_empty() || name == text(&old["status"]["nominatedNodeName"]) {
        return;
    }
    errors.each(at, name, names::subdomain(name));
    let is_bound = !text(&old["spec"]["nodeName"]).is_empty();
    if is_bound && errors.profile.minor >= since::CLEARED_NOMINATIONS {
        errors.forbidden(at, "may not be set on pods that are already bound to a node");
    }
}

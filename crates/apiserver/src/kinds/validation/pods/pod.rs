//! Validation of new and updated pods.

use serde_json::Value;

use super::{annotations, container, security, spec as specification, update};
use crate::kinds::validation::{Errors, Path, items, text};

/// Validates a new pod (`ValidatePodCreate`) or an update (`ValidatePodUpdate`).
pub(in crate::kinds::validation) fn pod(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    match old {
        Some(old) => update::update(object, old, errors),
        None => create(object, errors),
    }
}

/// Validates the specification of a template.
pub(in crate::kinds::validation) fn spec(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    specification::spec(spec, None, at, errors);
}

fn create(pod: &Value, errors: &mut Errors<'_>) {
    metadata_and_spec(pod, errors);
    let (spec, at) = (&pod["spec"], Path::Field(&Path::Root, "spec"));
    if !items(&spec["ephemeralContainers"]).is_empty() {
        errors.forbidden(at.child("ephemeralContainers"), "cannot be set on create");
    }
    if !text(&spec["nodeName"]).is_empty() && !items(&spec["schedulingGates"]).is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        errors.forbidden(at.child("nodeName"), why);
    }
    security::matching_annotations(&pod["metadata"]["annotations"], spec, at, errors);
}

/// Validates annotations and specification, for new and for updated pods (`validatePodMetadataAndSpec`).
pub(super) fn metadata_and_spec(pod: &Value, errors: &mut Errors<'_>) {
    let (spec, at) = (&pod["spec"], Path::Field(&Path::Root, "spec"));
    let metadata = Path::Field(&Path::Root, "metadata");
    annotations::annotations(&pod["metadata"]["annotations"], spec, metadata.child("annotations"), errors);
    specification::spec(spec, Some(pod), at, errors);
    if text(&spec["serviceAccountName"]).is_empty() {
        reject_tokens(&spec["volumes"], at.child("volumes"), errors);
    }
    for list in ["containers", "initContainers"] {
        let at = at.child(list);
        for (index, one) in items(&spec[list]).iter().enumerate() {
            container::trimmed_image(one, at.index(index), errors);
        }
    }
}

/// Rejects tokens in volumes of a pod without a service account.
fn reject_tokens(volumes: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, volume) in items(volumes).iter().enumerate() {
        for (position, source) in items(&volume["projected"]["sources"]).iter().enumerate() {
            if source["serviceAccountToken"].is_object() {
                let volume = at.index(index);
                let projected = volume.child("projected");
                let sources = projected.child("sources");
                let why = "must not be specified when serviceAccountName is not set";
                errors.forbidden(sources.index(position).child("serviceAccountToken"), why);
            }
        }
    }
}

//! Validation of the parts of a pod that new and updated pods share.

use serde_json::Value;

use super::{annotations, container, spec as specification};
use crate::kinds::validation::{Errors, Path, items, text};

/// Validates annotations and specification, for new and for updated pods (`validatePodMetadataAndSpec`).
pub(super) fn metadata_and_spec(pod: &Value, errors: &mut Errors<'_>) {
    let (spec, at) = (&pod["spec"], Path::Root.child("spec"));
    let metadata = Path::Root.child("metadata");
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

//! Validation of the claims that pods create for their ephemeral volumes.

use serde_json::Value;

use crate::kinds::validation::networking::label_map;
use crate::kinds::validation::storage::claim;
use crate::kinds::validation::{Errors, Path};

/// Requires a template for the claim (`validateEphemeralVolumeSource`).
pub(super) fn ephemeral(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let template = &source["volumeClaimTemplate"];
    let at = at.child("volumeClaimTemplate");
    if template.is_object() {
        metadata(&template["metadata"], at.child("metadata"), errors);
        claim::check_spec(&template["spec"], None, at.child("spec"), errors);
    } else {
        errors.required(at, "");
    }
}

/// Accepts labels and annotations only (`ValidateTemplateObjectMeta`).
fn metadata(metadata: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    label_map(&metadata["labels"], at.child("labels"), errors);
    for (field, value) in metadata.as_object().into_iter().flatten() {
        if !matches!(&**field, "labels" | "annotations" | "creationTimestamp") && !value.is_null() {
            errors.forbidden(at.child(field), "cannot be set");
        }
    }
}

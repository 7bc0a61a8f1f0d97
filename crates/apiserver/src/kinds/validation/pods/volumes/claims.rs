//! Validation of the claims that pods create for their ephemeral volumes.

use serde_json::Value;

use crate::kinds::validation::storage::claim;
use crate::kinds::validation::{Errors, Path, template_metadata};

/// Requires a template for the claim (`validateEphemeralVolumeSource`).
pub(super) fn ephemeral(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let template = &source["volumeClaimTemplate"];
    let at = at.child("volumeClaimTemplate");
    if template.is_object() {
        template_metadata::check(&template["metadata"], at.child("metadata"), errors);
        claim::check_spec(&template["spec"], None, at.child("spec"), errors);
    } else {
        errors.required(at, "");
    }
}

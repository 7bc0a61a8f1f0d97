//! Validation of the annotations of pod templates.

use serde_json::Value;

use super::{annotations, security};
use crate::kinds::validation::{Errors, Path};

/// Validates the annotations of a template that have a meaning for pods (the part of `ValidatePodTemplateSpec` that is
/// special for pods). The path is that of the template; a real server leaves `metadata` out.
pub(in crate::kinds::validation) fn annotations(template: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let given = &template["metadata"]["annotations"];
    annotations::annotations(given, &template["spec"], at.child("annotations"), errors);
    security::matching_annotations(given, &template["spec"], at.child("spec"), errors);
}

//! Validation of new and updated pods.

use serde_json::Value;

use super::object::metadata_and_spec;
use super::{security, spec as specification, update};
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
    let (spec, at) = (&pod["spec"], Path::Root.child("spec"));
    if !items(&spec["ephemeralContainers"]).is_empty() {
        errors.forbidden(at.child("ephemeralContainers"), "cannot be set on create");
    }
    if !text(&spec["nodeName"]).is_empty() && !items(&spec["schedulingGates"]).is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        errors.forbidden(at.child("nodeName"), why);
    }
    security::matching_annotations(&pod["metadata"]["annotations"], spec, at, errors);
}

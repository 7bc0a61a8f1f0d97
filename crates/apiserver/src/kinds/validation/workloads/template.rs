//! Validation of pod templates, and of the selectors that must match their labels.

use serde_json::Value;

use crate::kinds::validation::networking::label_map;
use crate::kinds::validation::pods::{self, pod};
use crate::kinds::validation::{Errors, Path, items, selector, template_metadata, text};

const MISMATCH: &str = "`selector` does not match template `labels`";

/// Validates a template (`ValidatePodTemplateSpec`).
pub(super) fn check(template: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    // A real server leaves `metadata` out of these paths.
    check_labels(template, at, errors);
    template_metadata::annotations(&template["metadata"]["annotations"], at.child("annotations"), errors);
    pods::template::annotations(template, at, errors);
    let spec = at.child("spec");
    pod::spec(&template["spec"], spec, errors);
    if !items(&template["spec"]["ephemeralContainers"]).is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        errors.forbidden(spec.child("ephemeralContainers"), why);
    }
}

/// Validates the labels of a template (`ValidateLabels`).
pub(super) fn check_labels(template: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    label_map(&template["metadata"]["labels"], at.child("labels"), errors);
}

/// Requires that the pods of a template restart always and without a deadline. `kind` is in the message.
pub(super) fn runs_forever(template: &Value, kind: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("spec");
    let spec = &template["spec"];
    if spec["restartPolicy"] != "Always" {
        errors.unsupported(at.child("restartPolicy"), text(&spec["restartPolicy"]), &["Always"]);
    }
    if !spec["activeDeadlineSeconds"].is_null() {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.forbidden(at.child("activeDeadlineSeconds"), why);
    }
}

/// Requires a valid selector with requirements, and returns whether it is valid. `kind` is in the message.
pub(super) fn check_selector(spec: &Value, kind: &str, at: Path<'_>, errors: &mut Errors<'_>) -> bool {
    let at = at.child("selector");
    let choice = &spec["selector"];
    if choice.is_null() {
        errors.required(at, "");
        return true;
    }
    let before = errors.found.len();
    selector::check(choice, at, errors);
    let is_valid = errors.found.len() == before;
    if selector::is_empty(choice) {
        let why = format!("empty selector is invalid for {kind}");
        selector::invalid(choice, at, &why, errors);
    }
    is_valid
}

/// Requires that the selector matches the labels of the template; an absent selector matches nothing. `at` is the
/// path of the specification that has both.
pub(super) fn matches(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let labels = &spec["template"]["metadata"]["labels"];
    let choice = &spec["selector"];
    let selects_all = !choice.is_null() && selector::is_empty(choice);
    if !selects_all && !windtunnel_core::selector::selector_matches(choice, labels) {
        mismatch(labels, at, errors);
    }
}

/// Rejects labels that the selector does not match. `at` is the path of the specification with the template.
pub(super) fn mismatch(labels: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (template, metadata) = ("template", "metadata");
    errors.invalid_map(at.child(template).child(metadata).child("labels"), labels, MISMATCH);
}

//! Validation of policy bindings.

use serde_json::{Value, json};

use super::{kinds, list, text};
use crate::admission::matching::check::check_selector;
use crate::field::{Cause, FieldError, Shown};
use crate::names;
use crate::repeats::repeated;

const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];

/// Validates a binding. Bindings of mutating policies have no actions.
pub(super) fn check(spec: &Value, mutating: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let policy = text(&spec["policyName"]);
    if policy.is_empty() {
        errors.push(FieldError::required("spec.policyName", ""));
    } else {
        let wrong = names::subdomain(&policy).into_iter();
        errors.extend(wrong.map(|why| FieldError::invalid("spec.policyName", policy.as_str(), why)));
    }
    if spec["paramRef"].is_object() {
        errors.extend(param_ref(&spec["paramRef"]));
    }
    if spec["matchResources"].is_object() {
        errors.extend(kinds::match_resources(&spec["matchResources"], "spec.matchResources"));
        if mutating {
            let at = "spec.matchResources.resourceRules.operations";
            errors.extend(kinds::mutating_operations(&spec["matchResources"], at));
        }
    }
    if !mutating {
        errors.extend(actions(list(&spec["validationActions"])));
    }
    errors
}

/// `validateValidationActions`.
fn actions(actions: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_repeated = repeated(actions.iter().map(Value::to_string));
    for (index, action) in actions.iter().enumerate() {
        let at = format!("spec.validationActions[{index}]");
        if !ACTIONS.iter().any(|known| action == known) {
            errors.push(FieldError::not_supported(at.as_str(), Shown::Json(action.clone()), &ACTIONS));
        }
        if is_repeated[index] {
            errors.push(FieldError::new(Cause::Duplicate, at, action.clone(), ""));
        }
    }
    let has = |name: &str| actions.iter().any(|action| action == name);
    if has("Deny") && has("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the \
                   API response and headers serves no purpose)";
        let of = "admissionregistration.ValidationAction";
        errors.push(FieldError::invalid_list("spec.validationActions", &json!(actions), of, why));
    }
    if actions.is_empty() {
        let why = "at least one validation action is required";
        errors.push(FieldError::required("spec.validationActions", why));
    }
    errors
}

/// `validateParamRef`.
fn param_ref(reference: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = text(&reference["name"]);
    let named = !name.is_empty();
    let selected = reference["selector"].is_object();
    let wrong = names::path_segment(&name).into_iter();
    errors.extend(wrong.map(|why| FieldError::invalid("spec.paramRef.name", name.as_str(), why)));
    check_selector(&reference["selector"], "spec.paramRef.selector", &mut errors);
    if named && selected {
        let why = "name and selector are mutually exclusive";
        errors.push(FieldError::forbidden("spec.paramRef.name", why));
        errors.push(FieldError::forbidden("spec.paramRef.selector", why));
    } else if !named && !selected {
        errors.push(FieldError::required("spec.paramRef", "one of name or selector must be specified"));
    }
    match reference["parameterNotFoundAction"].as_str() {
        Some("Allow" | "Deny") => {}
        None | Some("") => errors.push(FieldError::required("spec.paramRef.parameterNotFoundAction", "")),
        Some(other) => {
            let at = "spec.paramRef.parameterNotFoundAction";
            errors.push(FieldError::not_supported(at, Shown::Json(json!(other)), &["Deny", "Allow"]));
        }
    }
    errors
}

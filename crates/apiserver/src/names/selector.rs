//! Rules for label selectors (`ValidateLabelSelector`).

use serde_json::Value;

use super::labels;
use crate::field::FieldError;

/// The errors of a selector, with their paths within it.
pub(crate) fn check(selector: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        errors.extend(invalid("matchLabels", key, labels::label_key(key)));
        let value = value.as_str().unwrap_or_default();
        errors.extend(invalid("matchLabels", value, labels::label_value(value)));
    }
    for (index, requirement) in selector["matchExpressions"].as_array().into_iter().flatten().enumerate() {
        let found = check_requirement(requirement);
        errors.extend(found.into_iter().map(|error| error.below(&format!("matchExpressions[{index}]"))));
    }
    errors
}

/// The errors of a requirement (`ValidateLabelSelectorRequirement`).
fn check_requirement(requirement: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let text = |field: &str| requirement[field].as_str().unwrap_or_default();
    let values = requirement["values"].as_array().map(Vec::as_slice).unwrap_or_default();
    match text("operator") {
        "In" | "NotIn" if values.is_empty() => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required("values", why));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden("values", why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => errors.push(FieldError::invalid("operator", other, "not a valid selector operator")),
    }
    let key = text("key");
    errors.extend(invalid("key", key, labels::label_key(key)));
    for (index, value) in values.iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        errors.extend(invalid(&format!("values[{index}]"), value, labels::label_value(value)));
    }
    errors
}

fn invalid(field: &str, value: &str, problems: Vec<String>) -> impl Iterator<Item = FieldError> {
    problems.into_iter().map(move |why| FieldError::invalid(field, value, why))
}

//! Validation of node selectors, in the affinity of pods and of volumes.

use serde_json::Value;

use super::{Errors, Path, items, text};
use crate::names;

const OPERATOR: &str = "not a valid selector operator";

/// Requires terms that choose nodes (`ValidateNodeSelector`).
pub(super) fn check(selector: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("nodeSelectorTerms");
    let terms = items(&selector["nodeSelectorTerms"]);
    if terms.is_empty() {
        errors.required(at, "must have at least one node selector term");
    }
    for (index, one) in terms.iter().enumerate() {
        term(one, false, at.index(index), errors);
    }
}

/// Validates a term. A preferred one may have any values (`ValidateNodeSelectorTerm`).
pub(super) fn term(term: &Value, any_values: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    let (labels, fields) = (at.child("matchExpressions"), at.child("matchFields"));
    for (index, one) in items(&term["matchExpressions"]).iter().enumerate() {
        expression(one, any_values, labels.index(index), errors);
    }
    for (index, one) in items(&term["matchFields"]).iter().enumerate() {
        field(one, fields.index(index), errors);
    }
}

/// Validates a requirement for labels (`ValidateNodeSelectorRequirement`).
fn expression(requirement: &Value, any_values: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    let values = items(&requirement["values"]);
    let place = at.child("values");
    match text(&requirement["operator"]) {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(place, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            errors.forbidden(place, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        "Gt" | "Lt" if values.len() != 1 => {
            errors.required(place, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => errors.invalid(at.child("operator"), other, OPERATOR),
    }
    let key = text(&requirement["key"]);
    errors.each(at.child("key"), key, names::labels::label_key(key));
    for (index, value) in values.iter().map(text).enumerate().filter(|_| !any_values) {
        errors.each(place.index(index), value, names::labels::label_value(value));
    }
}

/// Validates a requirement for the name of the node (`ValidateNodeFieldSelectorRequirement`).
fn field(requirement: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let values = items(&requirement["values"]);
    let place = at.child("values");
    match text(&requirement["operator"]) {
        "In" | "NotIn" if values.len() != 1 => {
            let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.required(place, why);
        }
        "In" | "NotIn" => {}
        other => errors.invalid(at.child("operator"), other, OPERATOR),
    }
    match text(&requirement["key"]) {
        "metadata.name" => {
            for (index, value) in values.iter().map(text).enumerate() {
                errors.each(place.index(index), value, names::subdomain(value));
            }
        }
        other => errors.invalid(at.child("key"), other, "not a valid field selector key"),
    }
}

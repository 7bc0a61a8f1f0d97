//! Taints of devices and their tolerations (`validateDeviceTaint`, `validateDeviceToleration`).

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, absent, one_of, one_of_if_given, text};
use crate::names::labels;

const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

/// Validates a taint.
pub(super) fn taint(taint: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    label_name(text(&taint["key"]), at.child("key"), errors);
    label_value(text(&taint["value"]), at.child("value"), errors);
    one_of(&taint["effect"], &EFFECTS, at.child("effect"), errors);
}

/// Validates a toleration.
pub(super) fn toleration(toleration: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !absent(&toleration["key"]) {
        label_name(text(&toleration["key"]), at.child("key"), errors);
    }
    let (value, place) = (text(&toleration["value"]), at.child("value"));
    match text(&toleration["operator"]) {
        "Exists" if !value.is_empty() => {
            errors.invalid(place, value, "must be empty for operator `Exists`");
        }
        "Exists" => {}
        "Equal" => label_value(value, place, errors),
        _ => one_of(&toleration["operator"], &["Equal", "Exists"], at.child("operator"), errors),
    }
    one_of_if_given(&toleration["effect"], &EFFECTS, at.child("effect"), errors);
}

/// Requires the name of a label (`ValidateLabelName`).
pub(super) fn label_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    errors.each(at, name, labels::label_key(name));
}

fn label_value(value: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    errors.each(at, value, labels::label_value(value));
}

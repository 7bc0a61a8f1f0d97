//! Validation of tolerations.

use serde_json::Value;

use crate::kinds::validation::pods::names::qualified;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::names::labels;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Validates tolerations (`ValidateTolerations`).
pub(in crate::kinds::validation::pods) fn tolerations(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, one) in items(list).iter().enumerate() {
        toleration(one, at.index(index), errors);
    }
}

/// Validates a toleration, also of a runtime class.
pub(in crate::kinds::validation) fn toleration(toleration: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (key, place) = (text(&toleration["key"]), at.child("operator"));
    if !key.is_empty() {
        qualified(key, at.child("key"), errors);
    }
    let operator = text(&toleration["operator"]);
    if key.is_empty() && operator != "Exists" {
        let why =
            "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.invalid(place, operator, why);
    }
    let effect = text(&toleration["effect"]);
    if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.invalid(at.child("effect"), effect, why);
    }
    value(operator, text(&toleration["value"]), place, errors);
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        errors.unsupported(at.child("effect"), effect, &EFFECTS);
    }
}

/// Requires a value that suits the operator. `Lt` and `Gt` are known, but no minor has them on by default
/// (`TaintTolerationComparisonOperators`).
fn value(operator: &str, value: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    match operator {
        "Equal" | "" => {
            let problems = labels::label_value(value);
            if !problems.is_empty() {
                errors.invalid(at, value, problems.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            errors.invalid(at, value, "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        "Lt" | "Gt" if errors.profile.minor >= crate::profile::since::COMPARING_TOLERATIONS => {
            errors.unsupported(at, operator, &["Equal", "Exists", "Lt", "Gt"]);
        }
        other => errors.unsupported(at, other, &["Equal", "Exists"]),
    }
}

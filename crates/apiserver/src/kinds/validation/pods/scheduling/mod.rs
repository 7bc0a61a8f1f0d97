//! Validation of the fields that decide on which node a pod runs.

mod affinity;
mod spread;
mod tolerations;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::names::qualified;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::repeats::repeated;
pub(super) use affinity::affinity;
pub(super) use spread::spread_constraints;
pub(in crate::kinds::validation) use tolerations::toleration;
pub(super) use tolerations::tolerations;

/// Requires distinct qualified names of scheduling gates (`validateSchedulingGates`).
pub(super) fn gates(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(list);
    let is_repeated = repeated(list.iter().map(|gate| text(&gate["name"])));
    for (index, gate) in list.iter().enumerate() {
        let (name, at) = (text(&gate["name"]), at.index(index));
        qualified(name, at, errors);
        if is_repeated[index] {
            errors.duplicate(at, name);
        }
    }
}

/// Requires qualified names of readiness gates (`validateReadinessGates`).
pub(super) fn readiness_gates(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, gate) in items(list).iter().enumerate() {
        qualified(text(&gate["conditionType"]), at.index(index).child("conditionType"), errors);
    }
}

/// Validates keys of labels whose values the server adds to a selector (`validateLabelKeys`).
fn label_keys(keys: &Value, choice: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let keys = items(keys);
    if keys.is_empty() {
        return;
    }
    if choice.is_null() {
        errors.forbidden(at, "must not be specified when labelSelector is not set");
        return;
    }
    for (index, key) in keys.iter().enumerate() {
        qualified(text(key), at.index(index), errors);
    }
}

/// Validates keys of labels that must match and those that must differ
/// (`ValidateMatchLabelKeysAndMismatchLabelKeys`).
fn match_and_mismatch_keys(term: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let choice = &term["labelSelector"];
    label_keys(&term["matchLabelKeys"], choice, at.child("matchLabelKeys"), errors);
    label_keys(&term["mismatchLabelKeys"], choice, at.child("mismatchLabelKeys"), errors);
    let keys = items(&term["matchLabelKeys"]);
    // The server itself adds one expression for each key. A second one is an error.
    let expressions = items(&choice["matchExpressions"]);
    let is_repeated = repeated(expressions.iter().map(|one| text(&one["key"])));
    let places: BTreeMap<&str, usize> =
        keys.iter().enumerate().map(|(index, key)| (text(key), index)).collect();
    for (position, expression) in expressions.iter().enumerate() {
        let key = text(&expression["key"]);
        let has_other = choice["matchLabels"].get(key).is_some() || is_repeated[position];
        if let Some(index) = places.get(key).filter(|_| has_other) {
            errors.invalid(at.index(*index), key, "exists in both matchLabelKeys and labelSelector");
        }
    }
    let at = at.child("matchLabelKeys");
    let others: BTreeSet<&str> = items(&term["mismatchLabelKeys"]).iter().map(text).collect();
    for (index, key) in keys.iter().enumerate() {
        if others.contains(text(key)) {
            let why = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.invalid(at.index(index), text(key), why);
        }
    }
}

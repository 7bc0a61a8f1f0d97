//! Conditions under which a device is bound to a pod (`validateDeviceBindingParameters`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::collections::each;
use super::taint::label_name;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::repeats::repeated;

const MOST_CONDITIONS: usize = 4;
const READY: &str = "bindingConditions";
const FAILED: &str = "bindingFailureConditions";

/// Validates the two lists of conditions of a device or an allocation. They need each other, and share no condition.
pub(super) fn conditions(owner: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in [READY, FAILED] {
        each(&owner[field], MOST_CONDITIONS, at.child(field), errors, |name, at, errors| {
            label_name(text(name), at, errors);
        });
    }
    let (ready, failed) = (items(&owner[READY]), items(&owner[FAILED]));
    duplicates(ready, &[], at.child(READY), errors);
    duplicates(failed, ready, at.child(FAILED), errors);
    if ready.is_empty() && !failed.is_empty() {
        let why = "bindingConditions are required to use bindingFailureConditions";
        errors.invalid(at.child(READY), Value::Null, why);
    }
    if failed.is_empty() && !ready.is_empty() {
        let why = "bindingFailureConditions are required to use bindingConditions";
        errors.invalid(at.child(FAILED), Value::Null, why);
    }
}

fn duplicates(list: &[Value], others: &[Value], at: Path<'_>, errors: &mut Errors<'_>) {
    let is_repeated = repeated(list.iter().map(text));
    let others: BTreeSet<&str> = others.iter().map(text).collect();
    for (index, name) in list.iter().enumerate() {
        if is_repeated[index] {
            errors.duplicate(at.index(index), name.clone());
        }
        if others.contains(text(name)) {
            let why = "bindingFailureConditions must not overlap with bindingConditions";
            errors.invalid(at.index(index), name.clone(), why);
        }
    }
}

//! Validation of conditions of the common type (`metav1.Condition`).

use serde_json::Value;

use super::{Errors, Path, absent, items, text};
use crate::names::labels;
use crate::repeats::repeated;

const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const MOST_REASON: usize = 1024;
const MOST_MESSAGE: usize = 32 * 1024;
const REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
    alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or \
    'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
    '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// Validates a list of conditions (`ValidateConditions`).
pub(super) fn check(conditions: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(conditions);
    let is_repeated = repeated(list.iter().map(|one| text(&one["type"])));
    for (index, condition) in list.iter().enumerate() {
        let at = at.index(index);
        let kind = text(&condition["type"]);
        if is_repeated[index] {
            errors.duplicate(at.child("type"), kind);
        }
        check_one(condition, at, errors);
    }
}

fn check_one(condition: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (kind, status) = (text(&condition["type"]), text(&condition["status"]));
    errors.each(at.child("type"), kind, labels::label_key(kind));
    if !STATUSES.contains(&status) {
        errors.unsupported(at.child("status"), status, &STATUSES);
    }
    if let Some(number) = condition["observedGeneration"].as_i64().filter(|number| *number < 0) {
        errors.invalid(at.child("observedGeneration"), number, "must be greater than or equal to zero");
    }
    if absent(&condition["lastTransitionTime"]) {
        errors.required(at.child("lastTransitionTime"), "");
    }
    let (reason, place) = (text(&condition["reason"]), at.child("reason"));
    if reason.is_empty() {
        errors.required(place, "");
    } else if !is_reason(reason) {
        errors.invalid(place, reason, REASON);
    }
    if reason.len() > MOST_REASON {
        errors.too_long(place, MOST_REASON as u64);
    }
    if text(&condition["message"]).len() > MOST_MESSAGE {
        errors.too_long(at.child("message"), MOST_MESSAGE as u64);
    }
}

fn is_reason(reason: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"_,:".contains(&b);
    reason.bytes().all(is_inner)
        && reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

//! Validation of the conditions of certificate signing requests.

use serde_json::Value;

use crate::gotext;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::repeats::repeated;

/// Conditions that can only be true.
const TRUE_ONLY: [&str; 3] = ["Approved", "Denied", "Failed"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const EXCLUSIVE: &str = "Approved and Denied conditions are mutually exclusive";

fn list(request: &Value) -> &[Value] {
    items(&request["status"]["conditions"])
}

fn of_type<'a>(request: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    list(request).iter().filter(move |one| one["type"] == kind)
}

/// Validates the conditions. Problems that the stored request has too are tolerated (`validateConditions`).
pub(super) fn conditions(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let status = Path::Root.child("status");
    let at = status.child("conditions");
    let had = |problem: fn(&Value) -> bool| old.is_some_and(problem);
    let may_repeat = had(has_duplicates);
    let may_be_untyped = had(|old| list(old).iter().any(|one| text(&one["type"]).is_empty()));
    let may_contradict =
        had(|old| ["Approved", "Denied"].into_iter().all(|kind| of_type(old, kind).next().is_some()));
    let (mut approved, mut denied) = (false, false);
    let is_repeated = repeated(list(object).iter().map(|one| text(&one["type"])));
    for (index, condition) in list(object).iter().enumerate() {
        let place = at.index(index);
        let kind = text(&condition["type"]);
        if kind.is_empty() && !may_be_untyped {
            errors.required(place.child("type"), "");
        }
        check_status(condition, kind, place.child("status"), errors);
        let contradicts = match kind {
            "Approved" => {
                approved = true;
                denied
            }
            "Denied" => {
                denied = true;
                approved
            }
            _ => false,
        };
        if contradicts && !may_contradict {
            errors.invalid(at, kind, EXCLUSIVE);
        }
        if !may_repeat && is_repeated[index] {
            errors.duplicate(place.child("type"), kind);
        }
    }
}

fn has_duplicates(request: &Value) -> bool {
    repeated(list(request).iter().map(|one| text(&one["type"]))).contains(&true)
}

fn check_status(condition: &Value, kind: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let known: &[&str] = if TRUE_ONLY.contains(&kind) { &["True"] } else { &STATUSES };
    match text(&condition["status"]) {
        "" => errors.required(at, ""),
        given if !known.contains(&given) => errors.unsupported(at, given, known),
        _ => {}
    }
}

/// The endpoint of an update, which decides what may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The subresource `approval`: conditions that approve and deny.
    Approval,
    /// The subresource `status`: other conditions, and the certificate once.
    Status,
    Other,
}

impl Change {
    /// Rejects changes that the endpoint cannot make (`validateCertificateSigningRequestUpdate`).
    pub(super) fn check(self, object: &Value, old: &Value, errors: &mut Errors<'_>) {
        let status = Path::Root.child("status");
        let at = status.child("conditions");
        for kind in TRUE_ONLY {
            let (now, before) = (of_type(object, kind).count(), of_type(old, kind).count());
            let name = gotext::quote(kind);
            if now < before {
                errors.forbidden(at, format!("updates may not remove a condition of type {name}"));
            } else if self == Self::Approval || kind == "Failed" {
                // These may be added and changed.
            } else if now > before {
                errors.forbidden(at, format!("updates may not add a condition of type {name}"));
            } else if !of_type(object, kind).eq(of_type(old, kind)) {
                errors.forbidden(at, format!("updates may not modify a condition of type {name}\n"));
            }
        }
        let certificate = |request: &Value| text(&request["status"]["certificate"]).to_owned();
        let (now, before) = (certificate(object), certificate(old));
        if now == before {
            return;
        }
        let at = status.child("certificate");
        if self != Self::Status {
            errors.forbidden(at, "updates may not set certificate content");
        } else if !before.is_empty() {
            errors.forbidden(at, "updates may not modify existing certificate content");
        }
    }
}

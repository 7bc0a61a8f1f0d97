//! Requests for devices in a claim (`validateDeviceRequest`).

use serde_json::Value;

use super::collections::{by, each_unique};
use super::selector::selectors;
use super::{names, taint};
use crate::kinds::validation::{Errors, Path, absent, items, text};

const MOST_ALTERNATIVES: usize = 8;
const UNION: &str = "exactly one of `exactly` or `firstAvailable` is required";

/// Requires either one kind of device or a list of alternatives.
pub(super) fn request(request: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    names::label(text(&request["name"]), at.child("name"), errors);
    let (exactly, first) = (&request["exactly"], &request["firstAvailable"]);
    match (exactly.is_null(), absent(first)) {
        (true, true) => errors.required(at, UNION),
        (false, false) => {
            errors.invalid(at, Value::Null, format!("{UNION}, but multiple fields are set"));
        }
        (false, true) => devices(exactly, at.child("exactly"), errors),
        (true, false) => {
            let at = at.child("firstAvailable");
            each_unique(first, MOST_ALTERNATIVES, by("name"), at, errors, |alternative, at, errors| {
                names::label(text(&alternative["name"]), at.child("name"), errors);
                devices(alternative, at, errors);
            });
        }
    }
}

/// Validates which devices are requested, and how many (`validateExactDeviceRequest`, `validateDeviceSubRequest`).
fn devices(request: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    names::class(text(&request["deviceClassName"]), at.child("deviceClassName"), errors);
    selectors(&request["selectors"], false, at.child("selectors"), errors);
    count(request, at, errors);
    let list = at.child("tolerations");
    for (index, toleration) in items(&request["tolerations"]).iter().enumerate() {
        taint::toleration(toleration, list.index(index), errors);
    }
}

/// Validates the number of devices (`validateDeviceAllocationMode`).
fn count(request: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (count, place) = (request["count"].as_i64().unwrap_or(0), at.child("count"));
    match text(&request["allocationMode"]) {
        "All" if count != 0 => {
            errors.invalid(place, count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" if count <= 0 => errors.invalid(place, count, "must be greater than zero"),
        "All" | "ExactCount" => {}
        mode => errors.unsupported(at.child("allocationMode"), mode, &["All", "ExactCount"]),
    }
}

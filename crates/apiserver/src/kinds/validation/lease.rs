//! Validation of leases (`ValidateLeaseSpec`).

use serde_json::Value;

use super::{Errors, NON_NEGATIVE, Path};

pub(super) fn lease(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|seconds| *seconds <= 0) {
        errors.invalid(at.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    if let Some(count) = spec["leaseTransitions"].as_i64().filter(|count| *count < 0) {
        errors.invalid(at.child("leaseTransitions"), count, NON_NEGATIVE);
    }
}

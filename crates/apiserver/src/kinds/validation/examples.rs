//! Helpers for tests: a valid object, changes of it, and the errors that they cause.

use serde_json::Value;

use super::Validator;
use super::path::Errors;
use crate::profile::Profile;

/// The errors of an object in Kubernetes 1.`minor`, separated by `; `.
pub(super) fn errors(validator: Validator, object: &Value, old: Option<&Value>, minor: u32) -> String {
    let profile = Profile::of(minor, false);
    let mut errors = Errors::new(&profile);
    validator(object, old, &mut errors);
    let texts: Vec<String> = errors.found.iter().map(|error| error.text(&profile)).collect();
    texts.join("; ")
}

/// A copy of an object with a merge patch.
pub(super) fn patched(object: &Value, patch: &Value) -> Value {
    let mut object = object.clone();
    json_patch::merge(&mut object, patch);
    object
}

/// Asserts that an object is valid, and which errors each patch of it causes in Kubernetes 1.36.
#[track_caller]
pub(super) fn rejects(validator: Validator, valid: &Value, table: &[(Value, &str)]) {
    assert_eq!(errors(validator, valid, None, 36), "");
    for (patch, wanted) in table {
        assert_eq!(errors(validator, &patched(valid, patch), None, 36), *wanted, "{patch}");
    }
}

/// Asserts which errors an update of a valid object by each patch causes in Kubernetes 1.36.
#[track_caller]
pub(super) fn rejects_updates(validator: Validator, old: &Value, table: &[(Value, &str)]) {
    for (patch, wanted) in table {
        assert_eq!(errors(validator, &patched(old, patch), Some(old), 36), *wanted, "{patch}");
    }
}

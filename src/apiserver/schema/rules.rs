//! The place of `x-kubernetes-validations`.
//!
//! Rules are not evaluated yet: [`check`] is where an evaluator plugs in. What is there is their one visible effect on
//! objects that break the schema: the remark that they were not checked.

use serde_json::Value;

use super::structural::Structural;
use crate::apiserver::field::{Cause, FieldError};
use crate::apiserver::profile::Profile;

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the \
                           existing errors to complete validation";

/// The errors of the rules of a schema, given the errors that were found before them.
pub(crate) fn check(schema: &Structural, found: &[FieldError], profile: &Profile) -> Vec<FieldError> {
    if !schema.has_rules {
        return Vec::new();
    }
    if found.iter().any(|error| blocks(error.cause, profile)) {
        return vec![FieldError::invalid("", Value::Null, NOT_CHECKED)];
    }
    Vec::new()
}

/// Whether rules could meet values of the wrong shape after an error of this kind.
fn blocks(cause: Cause, profile: &Profile) -> bool {
    match cause {
        Cause::Required | Cause::TypeInvalid | Cause::TooLong | Cause::TooMany => true,
        Cause::NotSupported => profile.enum_blocks_rules,
        Cause::Invalid | Cause::Duplicate | Cause::NotFound | Cause::Forbidden => false,
    }
}

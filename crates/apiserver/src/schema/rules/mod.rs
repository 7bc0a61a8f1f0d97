//! Rules of schemas (`x-kubernetes-validations`).
//!
//! [`declare`] declares a schema for expressions, [`compile`] compiles its rules once, and [`evaluate`]
//! evaluates them on an object and its stored version. `crd::rules` validates rules when a definition is
//! written.

pub(crate) mod compile;
pub(crate) mod declare;
mod evaluate;
pub(crate) mod field_path;
mod message;

use serde_json::Value;

pub(crate) use compile::Rules;

use super::structural::Structural;
use crate::field::{Cause, FieldError};
use crate::profile::Profile;

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the \
                           existing errors to complete validation";

/// An object to validate with rules, and the object to compare it with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValidatedObject<'a> {
    pub(crate) object: &'a Value,
    /// The stored object, if there is one.
    pub(crate) old: Option<&'a Value>,
    /// Whether rules that unchanged parts break only cause warnings.
    pub(crate) ratchets: bool,
}

/// Returns the errors of the rules of a schema, and warnings about rules that unchanged parts break. `found`
/// are the errors of earlier validation.
pub(crate) fn check(
    rules: &Rules,
    schema: &Structural,
    judged: ValidatedObject<'_>,
    found: &[FieldError],
    profile: &Profile,
) -> (Vec<FieldError>, Vec<String>) {
    if !schema.has_rules || !profile.rules {
        return (Vec::new(), Vec::new());
    }
    if found.iter().any(|error| blocks_rules(error.cause, profile)) {
        return (vec![FieldError::invalid("", Value::Null, NOT_CHECKED)], Vec::new());
    }
    evaluate::evaluate(rules, schema, judged, profile)
}

/// Whether an error of this kind means that rules could read values of the wrong shape.
fn blocks_rules(cause: Cause, profile: &Profile) -> bool {
    match cause {
        Cause::Required | Cause::TypeInvalid | Cause::TooLong | Cause::TooMany => true,
        Cause::NotSupported => profile.enum_blocks_rules,
        _ => false,
    }
}

//! Rules of schemas (`x-kubernetes-validations`).
//!
//! [`declare`] says what a schema looks like to expressions, [`compile`] compiles its rules once, and [`evaluate`]
//! judges an object by them, with the stored one beside it. What is checked of rules when a definition is written
//! stands in `crd::rules`.

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

/// An object to be judged by rules, and what it is compared with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged<'a> {
    pub(crate) object: &'a Value,
    /// The stored object, if there is one.
    pub(crate) old: Option<&'a Value>,
    /// Whether rules that fail on unchanged parts only warn.
    pub(crate) ratchets: bool,
}

/// The errors of the rules of a schema, given the errors that were found before them, and warnings about rules that
/// unchanged parts break.
pub(crate) fn check(
    rules: &Rules,
    schema: &Structural,
    judged: Judged<'_>,
    found: &[FieldError],
    profile: &Profile,
) -> (Vec<FieldError>, Vec<String>) {
    if !schema.has_rules || !profile.rules {
        return (Vec::new(), Vec::new());
    }
    if found.iter().any(|error| blocks(error.cause, profile)) {
        return (vec![FieldError::invalid("", Value::Null, NOT_CHECKED)], Vec::new());
    }
    evaluate::evaluate(rules, schema, judged, profile)
}

/// Whether rules could meet values of the wrong shape after an error of this kind.
fn blocks(cause: Cause, profile: &Profile) -> bool {
    match cause {
        Cause::Required | Cause::TypeInvalid | Cause::TooLong | Cause::TooMany => true,
        Cause::NotSupported => profile.enum_blocks_rules,
        _ => false,
    }
}

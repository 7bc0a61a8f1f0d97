//! The ways to say which nodes can use a device.

use serde_json::Value;

use crate::kinds::validation::{Errors, Path};
use crate::names;

/// Validates an optional name of a node, and adds it to the given fields.
pub(super) fn node_name(
    name: &Value,
    empty: &str,
    at: Path<'_>,
    given: &mut Vec<&str>,
    errors: &mut Errors<'_>,
) {
    let Some(name) = name.as_str() else { return };
    let at = at.child("nodeName");
    if name.is_empty() {
        errors.invalid(at, name, empty);
    } else {
        given.push("`nodeName`");
        errors.each(at, name, names::subdomain(name));
    }
}

/// Validates an optional flag, which is true if it is given, and adds it to the given fields.
pub(super) fn flag<'s>(
    flag: &Value,
    field: &str,
    shown: &'s str,
    at: Path<'_>,
    given: &mut Vec<&'s str>,
    errors: &mut Errors<'_>,
) {
    match flag.as_bool() {
        Some(true) => given.push(shown),
        Some(false) => errors.invalid(at.child(field), false, "must be either unset or set to true"),
        None => {}
    }
}

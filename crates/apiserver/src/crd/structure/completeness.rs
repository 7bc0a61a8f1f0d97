//! Fields in compositions must also be specified outside of them (`validateStructuralCompleteness`).

use serde_json::Value;

use super::{branches, nested, properties};
use crate::field::FieldError;

/// Checks a node and all nodes below it.
pub(super) fn check(schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    for (branch, at_branch) in branches(schema, at) {
        compare(branch, Some(schema), at, &at_branch, errors);
    }
    if let Some(items) = nested(schema, "items") {
        check(items, &format!("{at}.items"), errors);
    }
    if let Some(values) = nested(schema, "additionalProperties") {
        check(values, &format!("{at}.additionalProperties"), errors);
    }
    for (name, property) in properties(schema) {
        check(property, &format!("{at}.properties[{name}]"), errors);
    }
}

/// Compares a branch with the schema at its place.
fn compare(
    branch: &Value,
    specified: Option<&Value>,
    at: &str,
    at_branch: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(specified) = specified else {
        errors.push(FieldError::required(at, format!("because it is defined in {at_branch}")));
        return;
    };
    for (inner, at_inner) in branches(branch, at_branch) {
        compare(inner, Some(specified), at, &at_inner, errors);
    }
    if let Some(items) = nested(branch, "items") {
        let (at, at_branch) = (format!("{at}.items"), format!("{at_branch}.items"));
        compare(items, nested(specified, "items"), &at, &at_branch, errors);
    }
    for (name, property) in properties(branch) {
        let at = format!("{at}.properties[{name}]");
        let at_branch = format!("{at_branch}.properties[{name}]");
        compare(property, specified["properties"].get(name), &at, &at_branch, errors);
    }
}

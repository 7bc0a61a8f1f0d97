//! Validation of references to objects of other kinds (`ValidateCrossVersionObjectReference`).

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, text};
use crate::names;

/// The API groups that a reference may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Groups {
    /// Only groups with a name.
    Named,
    /// Also the core group.
    Any,
    /// Anything, even a malformed version.
    Unchecked,
}

pub(super) fn check(reference: &Value, groups: Groups, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["kind", "name"] {
        let (given, at) = (text(&reference[field]), at.child(field));
        if given.is_empty() {
            errors.required(at, "");
        } else {
            errors.each(at, given, names::path_segment(given));
        }
    }
    let version = text(&reference["apiVersion"]);
    if let Some(why) = version_problem(version, groups) {
        errors.invalid(at.child("apiVersion"), version, why);
    }
}

/// The problem of the API version of a reference (`ValidateAPIVersion`).
pub(super) fn version_problem(version: &str, groups: Groups) -> Option<String> {
    if groups == Groups::Unchecked {
        return None;
    }
    if version.matches('/').count() > 1 {
        return Some(format!("unexpected GroupVersion string: {version}"));
    }
    let group = version.split_once('/').map_or("", |(group, _)| group);
    (groups == Groups::Named && group.is_empty()).then(|| "apiVersion must specify API group".to_owned())
}

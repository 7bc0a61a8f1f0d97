//! Validation of quotas, limit ranges, disruption budgets and API services.

pub(super) mod api_service;
pub(super) mod budget;
pub(super) mod limit_range;
pub(super) mod quota;
mod scopes;

use super::{Errors, Path};
use crate::names;

/// The resource without a domain that quotas do not have (the rest of `standardResources`).
const STORAGE: &str = "storage";

/// Requires the name of a resource: a standard one or one with a domain (`validateResourceName`).
fn resource_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let problems = names::labels::label_key(name);
    let is_known = name.contains('/') || quota::is_standard(name) || name == STORAGE;
    if problems.is_empty() && !is_known {
        errors.invalid(at, name, "must be a standard resource type or fully qualified");
    }
    errors.each(at, name, problems);
}

#[cfg(test)]
mod tests;

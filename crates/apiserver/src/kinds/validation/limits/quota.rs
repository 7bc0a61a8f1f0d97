//! Validation of resource quotas (`ValidateResourceQuota`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::scopes;
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::resource_names::{is_counted, is_quota_resource, resource_name};
use crate::kinds::validation::{Errors, NON_NEGATIVE, Path, items, text};

/// The resources whose requests should not exceed their limits.
const COMPARED: [&str; 4] = ["cpu", "memory", "storage", "ephemeral-storage"];

/// Validates a quota.
pub(in crate::kinds::validation) fn resource_quota(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    amounts(&spec["hard"], at.child("hard"), errors);
    scopes::check(spec, at, errors);
    let Some(old) = old else { return };
    let set =
        |spec: &Value| items(&spec["scopes"]).iter().map(text).map(str::to_owned).collect::<BTreeSet<_>>();
    if set(&old["spec"]) != set(spec) {
        scopes::wrong(&spec["scopes"], at.child("scopes"), "field is immutable", errors);
    }
}

/// Validates the status of a quota (`ValidateResourceQuotaStatusUpdate`).
pub(in crate::kinds::validation) fn status(object: &Value, _old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("status");
    for field in ["hard", "used"] {
        amounts(&object["status"][field], at.child(field), errors);
    }
}

/// Requires names of resources of quotas, with amounts that are not negative.
fn amounts(amounts: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (name, amount) in amounts.as_object().into_iter().flatten() {
        let at = at.key(name);
        resource(name, at, errors);
        let quantity = Quantity::parse(text(amount)).ok().flatten();
        if quantity.is_some_and(Quantity::is_negative) {
            errors.invalid(at, text(amount), NON_NEGATIVE);
        }
        if is_counted(name) && quantity.is_some_and(|quantity| !quantity.is_whole()) {
            errors.invalid(at, text(amount), "must be an integer");
        }
    }
}

/// Requires the name of a resource of quotas (`ValidateResourceQuotaResourceName`).
fn resource(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    resource_name(name, at, errors);
    if !name.contains('/') && !is_quota_resource(name) {
        errors.invalid_name(at, name, "must be a standard resource for quota");
    }
}

/// Warns about new quotas whose requests exceed their limits.
pub(in crate::kinds::validation) fn warn(
    object: &Value,
    old: Option<&Value>,
    _minor: u32,
    out: &mut Vec<String>,
) {
    let hard = &object["spec"]["hard"];
    let amount = |name: &str| Quantity::parse(text(&hard[name])).ok().flatten();
    for resource in COMPARED.into_iter().filter(|_| old.is_none()) {
        let (mut request, limit) = (format!("requests.{resource}"), format!("limits.{resource}"));
        if hard[&request].is_null() && matches!(resource, "cpu" | "memory") {
            resource.clone_into(&mut request);
        }
        let (Some(least), Some(most)) = (amount(&request), amount(&limit)) else { continue };
        if least.is_more(most) {
            let (least, most) = (least.text(), most.text());
            out.push(format!("ResourceQuota {request} ({least}) should be less than {limit} ({most})"));
        }
    }
}

//! Validation of resource quotas (`ValidateResourceQuota`).

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::{Errors, NON_NEGATIVE, Path, items, text};
use crate::{gotext, names};

/// Resources that are counted in whole objects (`integerResources`).
const COUNTED: [&str; 9] = [
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "services",
    "services.nodeports",
    "services.loadbalancers",
];
/// Resources that are measured (the rest of `standardQuotaResources`).
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

pub(in crate::kinds::validation) fn resource_quota(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Field(&Path::Root, "spec");
    let hard = Path::Field(&at, "hard");
    for (name, amount) in object["spec"]["hard"].as_object().into_iter().flatten() {
        let at = Path::Key(&hard, name);
        resource(name, at, errors);
        let quantity = Quantity::parse(text(amount)).ok().flatten();
        if quantity.is_some_and(Quantity::is_negative) {
            errors.invalid(at, text(amount), NON_NEGATIVE);
        }
        let whole = COUNTED.contains(&name.as_str()) || name.starts_with("count/");
        if whole && quantity.is_some_and(|quantity| !quantity.is_whole()) {
            errors.invalid(at, text(amount), "must be an integer");
        }
    }
    let scopes = &object["spec"]["scopes"];
    let place = Path::Field(&at, "scopes");
    for scope in items(scopes).iter().map(text) {
        if !SCOPES.contains(&scope) {
            wrong(scopes, place, "unsupported scope", errors);
        }
    }
    for pair in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if pair.iter().all(|scope| items(scopes).iter().any(|given| given == scope)) {
            wrong(scopes, place, "conflicting scopes", errors);
        }
    }
    if old.is_some_and(|old| items(&old["spec"]["scopes"]) != items(scopes)) {
        wrong(scopes, place, "field is immutable", errors);
    }
}

fn resource(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let problems = names::labels::qualified(name, "a valid resource name");
    let known = COUNTED.contains(&name)
        || MEASURED.contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-");
    if problems.is_empty() && !name.contains('/') && !known {
        if name != "storage" {
            errors.invalid(at, name, "must be a standard resource type or fully qualified");
        }
        errors.invalid(at, name, "must be a standard resource for quotas");
    }
    errors.each(at, name, problems);
}

/// An invalid list of scopes.
fn wrong(scopes: &Value, at: Path<'_>, why: &str, errors: &mut Errors<'_>) {
    let quoted: Vec<String> = items(scopes).iter().map(|scope| gotext::quote(text(scope))).collect();
    let syntax = if quoted.is_empty() {
        "[]core.ResourceQuotaScope(nil)".to_owned()
    } else {
        format!("[]core.ResourceQuotaScope{{{}}}", quoted.join(", "))
    };
    errors.invalid_shown(at, scopes.to_string(), syntax, why);
}

//! Names of resources that quotas and limit ranges limit.

use crate::kinds::validation::{Errors, Path};
use crate::names;

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
/// The resource without a domain that quotas do not have (the rest of `standardResources`).
const STORAGE: &str = "storage";

/// Whether amounts of a resource are integers (`IsIntegerResourceName`).
pub(super) fn is_counted(name: &str) -> bool {
    let is_extended =
        name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.");
    is_extended || COUNTED.contains(&name)
}

/// Whether a name without a domain is one of a resource of quotas (`IsStandardQuotaResourceName`).
pub(super) fn is_standard(name: &str) -> bool {
    COUNTED.contains(&name)
        || MEASURED.contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

/// Requires the name of a resource: a standard one or one with a domain (`validateResourceName`).
pub(super) fn check_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let problems = names::labels::label_key(name);
    let is_known = name.contains('/') || is_standard(name) || name == STORAGE;
    if problems.is_empty() && !is_known {
        errors.invalid(at, name, "must be a standard resource type or fully qualified");
    }
    errors.each(at, name, problems);
}

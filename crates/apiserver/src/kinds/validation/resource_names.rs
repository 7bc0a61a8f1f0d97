//! Names of resources: those of Kubernetes, and those of device plug-ins.

use super::{Errors, Path};
use crate::names::labels;

pub(super) const HUGE_PAGES: &str = "hugepages-";
/// Resources that are counted (`integerResources`).
const COUNTED: [&str; 9] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];
/// Resources that are measured (the rest of `standardQuotaResources`, except huge pages).
const MEASURED: [&str; 10] = [
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
];
/// The resource without a domain that quotas do not have (the rest of `standardResources`).
pub(super) const STORAGE: &str = "storage";

/// Requires a qualified name, and without a domain a known one (`validateResourceName`).
pub(super) fn resource_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let problems = labels::label_key(name);
    if !problems.is_empty() {
        errors.each(at, name, problems);
    } else if !name.contains('/') && !is_quota_resource(name) && name != STORAGE {
        errors.invalid_name(at, name, "must be a standard resource type or fully qualified");
    }
}

/// Requires a resource name that is standard for containers or has a domain (`validateContainerResourceName`).
pub(super) fn container_resource_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    resource_name(name, at, errors);
    if !name.contains('/') {
        if !is_container_resource(name) {
            errors.invalid_name(at, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(at, name, "doesn't follow extended resource name standard");
    }
}

/// Requires a resource that pods as a whole can request (`validatePodResourceName`).
pub(super) fn pod_resource_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let before = errors.found.len();
    resource_name(name, at, errors);
    if errors.found.len() == before && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
        errors.unsupported(at, name, &["cpu", HUGE_PAGES, "memory"]);
    }
}

/// Whether a name without a domain is one of a resource of quotas (`IsStandardQuotaResourceName`).
pub(super) fn is_quota_resource(name: &str) -> bool {
    COUNTED.contains(&name)
        || MEASURED.contains(&name)
        || is_huge_page(name.strip_prefix("requests.").unwrap_or(name))
}

/// Whether a name without a domain is one of a resource of containers (`IsStandardContainerResourceName`).
pub(super) fn is_container_resource(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_page(name)
}

pub(super) fn is_huge_page(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// Whether Kubernetes itself defines the resource (`IsNativeResource`).
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a device plug-in defines the resource (`IsExtendedResourceName`).
pub(super) fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && labels::label_key(&format!("requests.{name}")).is_empty()
}

/// Whether a limit may exceed the request (`IsOvercommitAllowed`).
pub(super) fn is_overcommittable(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether a resource is counted, in integers (`IsIntegerResourceName`).
pub(super) fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

//! Names of resources: those of Kubernetes, and those of device plug-ins.

use crate::kinds::validation::{Errors, Path};
use crate::names::labels;

pub(super) const HUGE_PAGES: &str = "hugepages-";
/// Resources without a domain that any list of resources can have (`standardResources`), except huge pages.
const STANDARD: [&str; 20] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];
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

/// Requires a resource name that is standard for containers or has a domain (`validateContainerResourceName`).
pub(in crate::kinds::validation) fn resource_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    qualified_or_standard(name, at, errors);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_page(name) {
            errors.invalid(at, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(at, name, "doesn't follow extended resource name standard");
    }
}

/// Requires a resource that pods as a whole can request (`validatePodResourceName`).
pub(super) fn pod_resource_name(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let before = errors.found.len();
    qualified_or_standard(name, at, errors);
    if errors.found.len() == before && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
        errors.unsupported(at, name, &["cpu", HUGE_PAGES, "memory"]);
    }
}

/// Requires a qualified name, and without a domain a known one (`validateResourceName`).
fn qualified_or_standard(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let problems = labels::label_key(name);
    if !problems.is_empty() {
        errors.each(at, name, problems);
    } else if !name.contains('/') && !STANDARD.contains(&name) && !is_quota_huge_page(name) {
        errors.invalid(at, name, "must be a standard resource type or fully qualified");
    }
}

pub(super) fn is_huge_page(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

fn is_quota_huge_page(name: &str) -> bool {
    is_huge_page(name.strip_prefix("requests.").unwrap_or(name))
}

/// Whether Kubernetes itself defines the resource (`IsNativeResource`).
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a device plug-in defines the resource (`IsExtendedResourceName`).
fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && labels::label_key(&format!("requests.{name}")).is_empty()
}

pub(super) fn is_overcommittable(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether a resource is counted, in integers (`IsIntegerResourceName`).
pub(super) fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || (name.contains('/') && is_extended(name))
}

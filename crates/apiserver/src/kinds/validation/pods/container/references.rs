//! Validation of references to fields of the pod and to resources of its containers (the downward API).

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::pods::names::qualified;
use crate::kinds::validation::{Errors, Path, text};

/// The fields of a pod that a file in a volume can have as its content.
pub(in crate::kinds::validation::pods) const FIELDS_OF_VOLUMES: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// The fields of a pod that have a name in the downward API (`ConvertDownwardAPIFieldLabel`).
const CONVERTIBLE: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];
/// The divisors of amounts in bytes.
const BYTE_DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Validates a reference to a field of the pod (`validateObjectFieldSelector`).
pub(in crate::kinds::validation::pods) fn object_field(
    source: &Value,
    known: &[&str],
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    let (version, path) = (text(&source["apiVersion"]), text(&source["fieldPath"]));
    if version.is_empty() {
        errors.required(at.child("apiVersion"), "");
    } else if path.is_empty() {
        errors.required(at.child("fieldPath"), "");
    } else if version != "v1" {
        unconvertible(path, &format!("unsupported pod version: {version}"), at, errors);
    } else if let Some((field, key)) = subscripted(path) {
        match field {
            "metadata.annotations" => qualified(&key.to_lowercase(), at, errors),
            "metadata.labels" => qualified(key, at, errors),
            _ => unconvertible(path, &format!("field label does not support subscript: {path}"), at, errors),
        }
    } else {
        let converted = if path == "spec.host" { "spec.nodeName" } else { path };
        if !CONVERTIBLE.contains(&converted) {
            unconvertible(path, &format!("field label not supported: {path}"), at, errors);
        } else if !known.contains(&converted) {
            errors.unsupported(at.child("fieldPath"), converted, known);
        }
    }
}

fn unconvertible(path: &str, why: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    errors.invalid(at.child("fieldPath"), path, format!("error converting fieldPath: {why}"));
}

/// The field and the key of `field['key']` (`SplitMaybeSubscriptedPath`).
fn subscripted(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['").filter(|(field, _)| !field.is_empty())
}

/// Validates a reference to a resource of a container, which a volume must name
/// (`validateContainerResourceFieldSelector`).
pub(in crate::kinds::validation::pods) fn container_resource(
    source: &Value,
    in_volume: bool,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    let resource = text(&source["resource"]);
    if in_volume && text(&source["containerName"]).is_empty() {
        errors.required(at.child("containerName"), "");
    } else if resource.is_empty() {
        errors.required(at.child("resource"), "");
    } else if !RESOURCES.contains(&resource) && !HUGE_PAGES.iter().any(|prefix| resource.starts_with(prefix))
    {
        errors.unsupported(at.child("resource"), resource, &RESOURCES);
    }
    divisor(resource, &source["divisor"], at.child("divisor"), errors);
}

/// Requires a divisor that suits the resource (`validateContainerResourceDivisor`).
fn divisor(resource: &str, divisor: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let given = text(divisor);
    if given.is_empty() || Quantity::parse(given).ok().flatten().is_none_or(Quantity::is_zero) {
        return;
    }
    let what = match resource.split_once('.') {
        Some(("limits" | "requests", "cpu")) => {
            if !["1m", "1"].contains(&given) {
                let why = "only divisor's values 1m and 1 are supported with the cpu resource";
                errors.invalid(at, resource, why);
            }
            return;
        }
        Some(("limits" | "requests", "memory")) => "memory",
        Some(("limits" | "requests", "ephemeral-storage")) => "local ephemeral storage",
        Some(("limits" | "requests", name)) if name.starts_with("hugepages-") => "hugepages",
        _ => return,
    };
    if !BYTE_DIVISORS.contains(&given) {
        let known = BYTE_DIVISORS.join(", ");
        let why = format!("only divisor's values {known} are supported with the {what} resource");
        errors.invalid(at, resource, why);
    }
}

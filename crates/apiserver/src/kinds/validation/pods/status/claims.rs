//! Validation of the resource claims in the status of a pod.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::kinds::validation::pods::names::{plain_label, subdomain};
use crate::kinds::validation::{Errors, Path, items, text};
use crate::repeats::repeated;

/// Validates the claims that were created for a pod.
pub(super) fn claims(object: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let status = &object["status"];
    statuses(&status["resourceClaimStatuses"], &object["spec"], at.child("resourceClaimStatuses"), errors);
    let extended = &status["extendedResourceClaimStatus"];
    if extended.is_object() {
        extended_claim(extended, &object["spec"], at.child("extendedResourceClaimStatus"), errors);
    }
}

/// Validates which claim belongs to which entry (`validatePodResourceClaimStatuses`).
fn statuses(list: &Value, spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(list);
    let claims: BTreeSet<&str> =
        items(&spec["resourceClaims"]).iter().map(|claim| text(&claim["name"])).collect();
    let is_repeated = repeated(list.iter().map(|status| text(&status["name"])));
    for (index, status) in list.iter().enumerate() {
        let at = at.index(index);
        let name = text(&status["name"]);
        if !claims.contains(name) {
            let why = "must match the name of an entry in `spec.resourceClaims`";
            errors.invalid(at.child("name"), name, why);
        }
        if is_repeated[index] {
            errors.duplicate(at.child("name"), name);
        }
        if status["resourceClaimName"].is_string() {
            subdomain(&status["resourceClaimName"], at.child("resourceClaimName"), errors);
        }
    }
}

/// Validates the claim for extended resources (`validatePodExtendedResourceClaimStatus`).
fn extended_claim(status: &Value, spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mappings = items(&status["requestMappings"]);
    let list = at.child("requestMappings");
    if mappings.is_empty() {
        errors.required(list, "at least one request mapping is required");
    }
    let mut containers: BTreeMap<&str, &Value> = BTreeMap::new();
    for one in items(&spec["containers"]).iter().chain(items(&spec["initContainers"])) {
        containers.entry(text(&one["name"])).or_insert(one);
    }
    let is_repeated = repeated(mappings.iter().map(Value::to_string));
    for (index, mapping) in mappings.iter().enumerate() {
        let place = list.index(index);
        let (container, resource) = (text(&mapping["containerName"]), text(&mapping["resourceName"]));
        match containers.get(container) {
            Some(one) if one["resources"]["requests"].get(resource).is_none() => {
                let why = "must match the extended resource name of an entry in \
                           spec.initContainers.resources.requests or spec.containers.resources.requests";
                errors.invalid(place.child("resourceName"), resource, why);
            }
            Some(_) => {}
            None => {
                let why =
                    "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                errors.invalid(place.child("containerName"), container, why);
            }
        }
        plain_label(&mapping["requestName"], at.child("requestName"), errors);
        if is_repeated[index] {
            for field in ["containerName", "resourceName", "requestName"] {
                errors.duplicate(place.child(field), text(&mapping[field]));
            }
        }
    }
    if text(&status["resourceClaimName"]).is_empty() {
        errors.required(at.child("resourceClaimName"), "");
    } else {
        subdomain(&status["resourceClaimName"], at.child("resourceClaimName"), errors);
    }
}

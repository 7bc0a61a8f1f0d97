//! Validation of the users and devices in the statuses of containers.

use serde_json::Value;

use super::LISTS;
use crate::kinds::validation::pods::names::user_or_group;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::repeats::repeated;

const HEALTH: [&str; 3] = ["Healthy", "Unhealthy", "Unknown"];
const MESSAGE_MAX: u64 = 1024;

/// Validates the statuses of all containers.
pub(super) fn containers(object: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let spec = &object["spec"];
    let os = if spec["os"].is_object() { text(&spec["os"]["name"]) } else { "linux" };
    for (list, containers) in LISTS.into_iter().zip(["containers", "initContainers", ""]) {
        let at = at.child(list);
        for (index, status) in items(&object["status"][list]).iter().enumerate() {
            let at = at.index(index);
            user(&status["user"]["linux"], os, at.child("user"), errors);
            let devices = &status["allocatedResourcesStatus"];
            let place = at.child("allocatedResourcesStatus");
            if containers.is_empty() {
                if !items(devices).is_empty() {
                    errors.forbidden(place, "must not be specified in container status");
                }
                continue;
            }
            let mut all = items(&spec[containers]).iter();
            let container = all.find(|one| one["name"] == status["name"]);
            for (index, device) in items(devices).iter().enumerate() {
                allocated(device, container, place.index(index), errors);
            }
        }
    }
}

/// Validates the user of a container (`validateContainerStatusUsers`).
fn user(user: &Value, os: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("linux");
    match os {
        "windows" if !user.is_null() => errors.forbidden(at, "cannot be set for a windows pod"),
        "linux" => {
            for field in ["uid", "gid"] {
                user_or_group(&user[field], at.child(field), errors);
            }
            let at = at.child("supplementalGroups");
            for (index, group) in items(&user["supplementalGroups"]).iter().enumerate() {
                user_or_group(group, at.index(index), errors);
            }
        }
        _ => {}
    }
}

/// Validates the health of devices (`validateContainerStatusAllocatedResourcesStatus`).
fn allocated(resource: &Value, container: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let name = text(&resource["name"]);
    if let Some(why) = container.and_then(|container| not_requested(name, &container["resources"])) {
        errors.invalid(at.child("name"), name, why);
    }
    let at = at.child("resources");
    let devices = items(&resource["resources"]);
    let is_repeated = repeated(devices.iter().map(|device| text(&device["resourceID"])));
    for (index, device) in devices.iter().enumerate() {
        let at = at.index(index);
        let health = text(&device["health"]);
        if !HEALTH.contains(&health) {
            errors.unsupported(at.child("health"), health, &HEALTH);
        }
        match device["message"].as_str() {
            Some("") => errors.required(at.child("message"), "must be non-empty if specified"),
            Some(message) if message.len() as u64 > MESSAGE_MAX => {
                errors.too_long(at.child("message"), MESSAGE_MAX);
            }
            _ => {}
        }
        let id = text(&device["resourceID"]);
        if is_repeated[index] {
            errors.duplicate(at.child("resourceID"), id);
        }
    }
}

/// The problem of a resource that a container did not request.
fn not_requested(name: &str, resources: &Value) -> Option<&'static str> {
    let Some(claim) = name.strip_prefix("claim:") else {
        let is_requested = resources["requests"].get(name).is_some();
        return (!is_requested).then_some("must match one of the container's resource requests");
    };
    let is_requested = items(&resources["claims"]).iter().any(|one| match text(&one["request"]) {
        "" => one["name"] == claim,
        request => claim.split_once('/').is_some_and(|(name, rest)| one["name"] == name && rest == request),
    });
    (!is_requested).then_some(
        "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or \
         'claim:<claimName>' if request is empty",
    )
}

//! Validation of ephemeral containers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::validation::pods::context::Pod;
use crate::kinds::validation::{Errors, Path, absent, items, text};
use crate::repeats::repeated;

/// The fields that an ephemeral container cannot have.
const FORBIDDEN: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];
const CANNOT: &str = "cannot be set for an Ephemeral Container";

/// Validates `ephemeralContainers` (`validateEphemeralContainers`).
pub(in crate::kinds::validation::pods) fn ephemeral_containers(
    pod: &Pod<'_>,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    let spec = pod.spec();
    let list = items(&spec["ephemeralContainers"]);
    let others = items(&spec["containers"]).iter().chain(items(&spec["initContainers"]));
    let others: BTreeSet<&str> = others.map(|other| text(&other["name"])).collect();
    let is_repeated = repeated(list.iter().map(|container| text(&container["name"])));
    for (index, container) in list.iter().enumerate() {
        let at = at.index(index);
        super::common(container, pod, at, errors);
        super::trimmed_image(container, at, errors);
        let name = text(&container["name"]);
        if others.contains(name) || is_repeated[index] {
            errors.duplicate(at.child("name"), name);
        }
        let target = text(&container["targetContainerName"]);
        if !target.is_empty() && !others.contains(target) {
            errors.not_found(at.child("targetContainerName"), target);
        }
        for field in FORBIDDEN {
            if is_set(&container[field]) {
                errors.forbidden(at.child(field), CANNOT);
            }
        }
        mounts_of_whole_volumes(container, at.child("volumeMounts"), errors);
    }
}

/// Whether a field is not the zero value of its Go type.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(|inner| !inner.is_null()),
        other => !absent(other),
    }
}

fn mounts_of_whole_volumes(container: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, mount) in items(&container["volumeMounts"]).iter().enumerate() {
        for field in ["subPath", "subPathExpr"] {
            if !text(&mount[field]).is_empty() {
                errors.forbidden(at.index(index).child(field), CANNOT);
            }
        }
    }
}

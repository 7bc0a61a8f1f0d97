//! Validation of updates of pods, and of their subresources `ephemeralcontainers` and `resize`.

mod gated;
mod relaxed;
mod resize;

use serde_json::{Map, Value, json};

use super::object::metadata_and_spec;
use super::{annotations, scheduling};
use crate::kinds::validation::{Errors, Path, internal, items, text};
pub(in crate::kinds::validation) use resize::resize;

const MUTABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const DEADLINE_MAX: i64 = i32::MAX as i64;
const SPEC: Path<'static> = Path::Field(&Path::Root, "spec");

/// Rejects changes that an update of a pod must not make (`ValidatePodUpdate`).
pub(super) fn update(object: &Value, old: &Value, errors: &mut Errors<'_>) {
    let (new, before) = (&object["spec"], &old["spec"]);
    if new == before && object["metadata"]["annotations"] == old["metadata"]["annotations"] {
        // The old pod was validated before.
        return;
    }
    let before_spec = errors.found.len();
    metadata_and_spec(object, errors);
    relaxed::tolerate_stored(object, old, before_spec, errors);
    annotation_changes(object, old, errors);
    for list in ["containers", "initContainers"] {
        if !same_containers(&new[list], &before[list], SPEC.child(list), errors) {
            return;
        }
    }
    if !deadline_shortened(new, before, errors) {
        return;
    }
    kept_tolerations(&new["tolerations"], &before["tolerations"], SPEC.child("tolerations"), errors);
    removed_gates(&new["schedulingGates"], &before["schedulingGates"], errors);
    if new == before {
        return;
    }
    let mut munged = with_mutable_fields_of(new, before);
    if !items(&before["schedulingGates"]).is_empty() {
        gated::gated_changes(&mut munged, before, errors);
    }
    if munged != *before {
        let difference = internal::difference(before, &munged, "PodSpec");
        errors.forbidden(SPEC, format!("{MUTABLE}\n{difference}"));
    }
}

fn annotation_changes(object: &Value, old: &Value, errors: &mut Errors<'_>) {
    let metadata = Path::Root.child("metadata");
    let at = metadata.child("annotations");
    annotations::update(object, old, at, errors);
    annotations::annotations(&object["metadata"]["annotations"], &object["spec"], at, errors);
}

/// Requires as many containers as before, with images (`ValidateContainerUpdates`).
fn same_containers(new: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) -> bool {
    if items(new).len() != items(old).len() {
        errors.forbidden(at, "pod updates may not add or remove containers");
        return false;
    }
    for (index, container) in items(new).iter().enumerate() {
        let (image, at) = (text(&container["image"]), at.index(index));
        if image.is_empty() {
            errors.required(at.child("image"), "");
        }
        if image.trim() != image {
            errors.invalid(at.child("image"), image, "must not have leading or trailing whitespace");
        }
    }
    true
}

/// Requires a deadline that is not later than before. Other rules are not checked if it is.
fn deadline_shortened(new: &Value, old: &Value, errors: &mut Errors<'_>) -> bool {
    let at = SPEC.child("activeDeadlineSeconds");
    match (new["activeDeadlineSeconds"].as_i64(), old["activeDeadlineSeconds"].as_i64()) {
        (Some(new), _) if !(0..=DEADLINE_MAX).contains(&new) => {
            errors.invalid(at, new, format!("must be between 0 and {DEADLINE_MAX}, inclusive"));
            return false;
        }
        (Some(new), Some(old)) if new > old => {
            errors.invalid(at, new, "must be less than or equal to previous value");
            return false;
        }
        (None, Some(_)) => {
            errors.invalid(at, Value::Null, "must not update from a positive integer to nil value");
        }
        _ => {}
    }
    true
}

/// Requires that all tolerations stay; only their seconds may change (`validateOnlyAddedTolerations`).
fn kept_tolerations(new: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let is_kept = |old: &Value| {
        let same = |new: &&Value| {
            ["key", "operator", "value", "effect"]
                .iter()
                .all(|field| text(&new[*field]) == text(&old[*field]))
        };
        items(new).iter().any(|new| same(&new))
    };
    if items(old).iter().all(is_kept) {
        scheduling::tolerations(new, at, errors);
    } else {
        errors.forbidden(at, "existing toleration can not be modified except its tolerationSeconds");
    }
}

/// Rejects new scheduling gates (`validateOnlyDeletedSchedulingGates`).
fn removed_gates(new: &Value, old: &Value, errors: &mut Errors<'_>) {
    let at = SPEC.child("schedulingGates");
    for (index, gate) in items(new).iter().enumerate() {
        if !items(old).iter().any(|old| old["name"] == gate["name"]) {
            let why =
                format!("only deletion is allowed, but found new scheduling gate '{}'", text(&gate["name"]));
            errors.forbidden(at.index(index).child("name"), why);
        }
    }
}

/// The new specification, with the old values of the fields that may change.
fn with_mutable_fields_of(new: &Value, old: &Value) -> Value {
    let mut munged = new.clone();
    for list in ["containers", "initContainers"] {
        let containers = munged.get_mut(list).and_then(Value::as_array_mut);
        for (container, old) in containers.into_iter().flatten().zip(items(&old[list])) {
            container["image"] = old["image"].clone();
        }
    }
    let Some(fields) = munged.as_object_mut() else { return munged };
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        copy(field, old, fields);
    }
    let seconds = |spec: &Value| spec["terminationGracePeriodSeconds"].as_i64();
    if seconds(old).is_some_and(|seconds| seconds < 0) && seconds(new) == Some(1) {
        copy("terminationGracePeriodSeconds", old, fields);
    }
    munged
}

/// Sets a field to its value in another object, or removes it.
fn copy(field: &str, from: &Value, fields: &mut Map<String, Value>) {
    match from.get(field) {
        Some(value) => fields.insert(field.to_owned(), value.clone()),
        None => fields.remove(field),
    };
}

/// Validates new ephemeral containers. Existing ones must not change
/// (`ValidatePodEphemeralContainersUpdate`).
pub(in crate::kinds::validation) fn ephemeral_containers(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let Some(old) = old else { return };
    if annotations::is_mirror(old) {
        errors.forbidden(Path::Root, "static pods do not support ephemeral containers");
        return;
    }
    metadata_and_spec(object, errors);
    annotation_changes(object, old, errors);
    let at = SPEC.child("ephemeralContainers");
    let given = items(&object["spec"]["ephemeralContainers"]);
    for before in items(&old["spec"]["ephemeralContainers"]) {
        let name = json!(text(&before["name"]));
        match given.iter().rev().find(|container| container["name"] == before["name"]) {
            None => {
                errors.forbidden(at, format!("existing ephemeral containers {name} may not be removed\n"));
            }
            Some(after) if after != before => {
                let difference = internal::difference(before, after, "EphemeralContainer");
                let why = format!("existing ephemeral containers {name} may not be changed\n{difference}");
                errors.forbidden(at, why);
            }
            Some(_) => {}
        }
    }
}

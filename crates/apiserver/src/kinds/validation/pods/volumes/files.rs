//! Validation of volumes whose files come from Secrets, ConfigMaps and fields of the pod.

use serde_json::Value;

use crate::kinds::validation::pods::container::{FIELDS_OF_VOLUMES, container_resource, object_field};
use crate::kinds::validation::pods::names::{file_mode, unreserved_path};
use crate::kinds::validation::{Errors, Path, items, text};

/// Validates modes and items of a Secret or ConfigMap (`validateSecretVolumeSource`,
/// `validateConfigMapVolumeSource`).
pub(super) fn keys(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    file_mode(&source["defaultMode"], at.child("defaultMode"), errors);
    let at = at.child("items");
    for (index, item) in items(&source["items"]).iter().enumerate() {
        key_to_path(item, at.index(index), errors);
    }
}

/// Validates a key and the path of its file (`validateKeyToPath`).
pub(super) fn key_to_path(item: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["key", "path"] {
        if text(&item[field]).is_empty() {
            errors.required(at.child(field), "");
        }
    }
    unreserved_path(text(&item["path"]), at.child("path"), errors);
    file_mode(&item["mode"], at.child("mode"), errors);
}

/// Validates files with fields of the pod (`validateDownwardAPIVolumeSource`). A real server reports the errors
/// of a file at the volume.
pub(super) fn downward(source: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    file_mode(&source["defaultMode"], at.child("defaultMode"), errors);
    for file in items(&source["items"]) {
        downward_file(file, at, errors);
    }
}

/// Validates a file with a field of the pod or a resource of a container (`validateDownwardAPIVolumeFile`).
pub(super) fn downward_file(file: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let path = text(&file["path"]);
    if path.is_empty() {
        errors.required(at.child("path"), "");
    }
    unreserved_path(path, at.child("path"), errors);
    let has_resource = file["resourceFieldRef"].is_object();
    if file["fieldRef"].is_object() {
        object_field(&file["fieldRef"], &FIELDS_OF_VOLUMES, at.child("fieldRef"), errors);
        if has_resource {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            errors.invalid(at, "resource", why);
        }
    } else if has_resource {
        container_resource(&file["resourceFieldRef"], true, at.child("resourceFieldRef"), errors);
    } else {
        errors.required(at, "one of fieldRef and resourceFieldRef is required");
    }
    file_mode(&file["mode"], at.child("mode"), errors);
}

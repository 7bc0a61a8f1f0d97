//! Validation of the mounts and devices of containers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::kinds::validation::pods::context::Pod;
use crate::kinds::validation::pods::names::{descending_path, has_backsteps};
use crate::kinds::validation::{Errors, Path, items, text};
use crate::repeats::repeated;

const PROPAGATIONS: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
const RECURSIVE: [&str; 3] = ["Disabled", "Enabled", "IfPossible"];

/// The names and paths of a list. The last element with a name decides which path the name has.
struct Places<'a> {
    names: BTreeMap<&'a str, &'a str>,
    paths: BTreeSet<&'a str>,
}

impl<'a> Places<'a> {
    fn of(list: &'a [Value], field: &str) -> Self {
        let names: BTreeMap<&str, &str> =
            list.iter().map(|one| (text(&one["name"]), text(&one[field]))).collect();
        let paths = names.values().copied().collect();
        Self { names, paths }
    }
}

/// Whether an element before has the same text in a field.
fn repeated_texts(list: &[Value], field: &str) -> Vec<bool> {
    repeated(list.iter().map(|one| text(&one[field])))
}

/// Validates `volumeMounts` (`ValidateVolumeMounts`).
pub(super) fn mounts(container: &Value, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(&container["volumeMounts"]);
    let devices = Places::of(items(&container["volumeDevices"]), "devicePath");
    let has_repeated_path = repeated_texts(list, "mountPath");
    for (index, mount) in list.iter().enumerate() {
        let place = at.index(index);
        let (name, path) = (text(&mount["name"]), text(&mount["mountPath"]));
        if name.is_empty() {
            errors.required(place.child("name"), "");
        }
        if pod.volume(name).is_none() {
            errors.not_found(place.child("name"), name);
        }
        if path.is_empty() {
            errors.required(place.child("mountPath"), "");
        }
        if has_repeated_path[index] {
            errors.invalid(place.child("mountPath"), path, "must be unique");
        }
        if devices.names.contains_key(name) {
            errors.invalid(place.child("name"), name, "must not already exist in volumeDevices");
        }
        if devices.paths.contains(path) {
            let why = "must not already exist as a path in volumeDevices";
            errors.invalid(place.child("mountPath"), path, why);
        }
        // A real server reports the following at the list, without the index.
        sub_paths(mount, place, at, errors);
        propagation(mount, container, at.child("mountPropagation"), errors);
        recursive_read_only(mount, at.child("recursiveReadOnly"), errors);
    }
}

fn sub_paths(mount: &Value, place: Path<'_>, list: Path<'_>, errors: &mut Errors<'_>) {
    let (path, expression) = (text(&mount["subPath"]), text(&mount["subPathExpr"]));
    if !path.is_empty() {
        descending_path(path, list.child("subPath"), errors);
    }
    if !expression.is_empty() {
        if !path.is_empty() {
            let why = "subPathExpr and subPath are mutually exclusive";
            errors.invalid(place.child("subPathExpr"), expression, why);
        }
        descending_path(expression, list.child("subPathExpr"), errors);
    }
}

/// Requires a known propagation, and privileges for `Bidirectional` (`validateMountPropagation`).
fn propagation(mount: &Value, container: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(given) = mount["mountPropagation"].as_str() else { return };
    if !PROPAGATIONS.contains(&given) {
        errors.unsupported(at, given, &PROPAGATIONS);
    }
    if given == "Bidirectional" && container["securityContext"]["privileged"] != true {
        errors.forbidden(at, "Bidirectional mount propagation is available only to privileged containers");
    }
}

/// Requires a mount that can be read-only recursively (`validateMountRecursiveReadOnly`).
fn recursive_read_only(mount: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match mount["recursiveReadOnly"].as_str() {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if mount["readOnly"] != true {
                errors.forbidden(at, "may only be specified when readOnly is true");
            }
            if mount["mountPropagation"].as_str().is_some_and(|given| given != "None") {
                let why = "may only be specified when mountPropagation is None or not specified";
                errors.forbidden(at, why);
            }
        }
        Some(other) => errors.unsupported(at, other, &RECURSIVE),
    }
}

/// Validates `volumeDevices` (`ValidateVolumeDevices`).
pub(super) fn devices(container: &Value, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(&container["volumeDevices"]);
    let mounts = Places::of(items(&container["volumeMounts"]), "mountPath");
    let (has_repeated_name, has_repeated_path) =
        (repeated_texts(list, "name"), repeated_texts(list, "devicePath"));
    for (index, device) in list.iter().enumerate() {
        let at = at.index(index);
        let (name, path) = (text(&device["name"]), text(&device["devicePath"]));
        let (name_at, path_at) = (at.child("name"), at.child("devicePath"));
        if name.is_empty() {
            errors.required(name_at, "");
        }
        if !name.is_empty() && has_repeated_name[index] {
            errors.invalid(name_at, name, "must be unique");
        }
        match pod.volume(name) {
            None => errors.not_found(name_at, name),
            Some(volume) if volume["persistentVolumeClaim"].is_null() && volume["ephemeral"].is_null() => {
                let why =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.invalid(name_at, name, why);
            }
            Some(_) => {}
        }
        if path.is_empty() {
            errors.required(path_at, "");
        }
        if !has_backsteps(path) && has_repeated_path[index] {
            errors.invalid(path_at, path, "must be unique");
        }
        if has_backsteps(path) {
            errors.invalid(path_at, path, "can not contain backsteps ('..')");
        }
        if mounts.names.contains_key(name) {
            errors.invalid(name_at, name, "must not already exist in volumeMounts");
        }
        if mounts.paths.contains(path) {
            errors.invalid(path_at, path, "must not already exist as a path in volumeMounts");
        }
    }
}

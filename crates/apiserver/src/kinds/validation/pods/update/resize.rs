//! Validation of changes of resources while a pod runs.

use serde_json::{Map, Value};

use super::SPEC;
use crate::kinds::quality::quality_of_service;
use crate::kinds::validation::pods::annotations;
use crate::kinds::validation::pods::container::is_sidecar;
use crate::kinds::validation::pods::object::metadata_and_spec;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::profile::since;

const ONLY_COMPUTE: &str = "only cpu and memory resources are mutable";

/// Validates a change of resources (`ValidatePodResize`).
pub(in crate::kinds::validation) fn resize(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let Some(old) = old else { return };
    if annotations::is_mirror(old) {
        errors.forbidden(Path::Root, "static pods cannot be resized");
        return;
    }
    if old["spec"]["os"]["name"] == "windows" {
        errors.forbidden(Path::Root.key(""), "windows pods cannot be resized");
        return;
    }
    let before = errors.found.len();
    metadata_and_spec(object, errors);
    let class = text(&old["status"]["qosClass"]);
    if !class.is_empty() && class != quality_of_service(object, errors.profile.minor) {
        errors.invalid(SPEC, class, "Pod QOS Class may not change as a result of resizing");
    }
    if !is_supported(old) {
        errors.forbidden(SPEC, "Pod running on node without support for resize");
    }
    let (new, stored) = (&object["spec"], &old["spec"]);
    let mut munged = new.clone();
    if !pod_level(&mut munged, stored, errors) || !same_containers(new, stored, errors) {
        return;
    }
    containers(&mut munged, new, stored, errors);
    if errors.found.len() == before && munged != *stored {
        errors.forbidden(SPEC, ONLY_COMPUTE);
    }
}

/// Whether the node of a pod reports the resources of its containers (`isPodResizeRequestSupported`).
fn is_supported(pod: &Value) -> bool {
    let mut statuses = items(&pod["status"]["containerStatuses"]).iter();
    let running = statuses.find(|status| !status["state"]["running"].is_null());
    running.is_none_or(|status| !status["resources"].is_null())
}

/// Validates the resources of the pod as a whole (`validatePodLevelResourcesResize`). Returns whether the rules
/// for containers apply.
fn pod_level(munged: &mut Value, old: &Value, errors: &mut Errors<'_>) -> bool {
    let is_set = |spec: &Value| {
        ["requests", "limits"]
            .iter()
            .any(|list| spec["resources"][*list].as_object().is_some_and(|list| !list.is_empty()))
    };
    if !is_set(old) && !is_set(munged) {
        return true;
    }
    if errors.profile.minor < since::POD_RESIZE {
        let why = "resize of pods with pod-level resources is forbidden when \
                   InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled";
        errors.forbidden(Path::Root, why);
        return false;
    }
    let at = SPEC.child("resources");
    if !old["resources"].is_null() && munged["resources"].is_null() {
        errors.forbidden(at, "pod-level resources cannot be removed");
        return true;
    }
    removed(&munged["resources"], &old["resources"], "pod-level resource", at, errors);
    keep_compute(munged, old);
    if old["resources"].is_null() && amounts(munged) == [None; 3] {
        munged.as_object_mut().map(|spec| spec.remove("resources"));
    }
    if amounts(munged) != amounts(old) {
        errors.forbidden(SPEC, "only cpu and memory resources are mutable at pod-level");
    }
    true
}

/// The resources of a pod as a whole, without empty parts.
fn amounts(spec: &Value) -> [Option<&Value>; 3] {
    ["requests", "limits", "claims"].map(|part| given(&spec["resources"][part]))
}

/// A list or map that is not empty.
fn given(value: &Value) -> Option<&Value> {
    let is_empty = match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    (!is_empty).then_some(value)
}

/// Rejects requests or limits that are missing now (`resourcesRemoved`).
fn removed(new: &Value, old: &Value, what: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    for list in ["requests", "limits"] {
        let mut names = old[list].as_object().into_iter().flat_map(Map::keys);
        if names.any(|name| new[list][name].is_null()) {
            errors.forbidden(at.child(list), format!("{what} {list} cannot be removed"));
        }
    }
}

/// Requires the same containers in the same order (`validatePodResizeContainerOrdering`).
fn same_containers(new: &Value, old: &Value, errors: &mut Errors<'_>) -> bool {
    let before = errors.found.len();
    for list in ["containers", "initContainers"] {
        let at = SPEC.child(list);
        let (new, old) = (items(&new[list]), items(&old[list]));
        if new.len() != old.len() {
            errors.forbidden(at, format!("{list} may not be added or removed on resize"));
            continue;
        }
        for (index, _) in new.iter().zip(old).enumerate().filter(|(_, (new, old))| new["name"] != old["name"])
        {
            let why = format!("{list} may not be renamed or reordered on resize");
            errors.forbidden(at.index(index).child("name"), why);
        }
    }
    errors.found.len() == before
}

/// Validates the resources of all containers, and replaces what may change by the old values.
fn containers(munged: &mut Value, new: &Value, old: &Value, errors: &mut Errors<'_>) {
    let all_init = errors.profile.minor >= since::INIT_RESIZE;
    for list in ["initContainers", "containers"] {
        let at = SPEC.child(list);
        let is_init = list == "initContainers";
        let munged = munged.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for (index, ((one, new), old)) in munged.zip(items(&new[list])).zip(items(&old[list])).enumerate() {
            let at = at.index(index);
            if is_init && !is_sidecar(old) && !all_init {
                if new != old {
                    errors.forbidden(SPEC, "resources for non-sidecar init containers are immutable");
                }
                continue;
            }
            removed(&new["resources"], &old["resources"], "resource", at.child("resources"), errors);
            keep_compute(one, old);
            if one != old {
                if is_init {
                    let why = "only cpu and memory resources for init or sidecar containers are mutable";
                    errors.forbidden(at, why);
                } else {
                    errors.forbidden(SPEC, ONLY_COMPUTE);
                }
            }
            let restarts =
                || items(&new["resizePolicy"]).iter().any(|one| one["restartPolicy"] == "RestartContainer");
            if is_init && new != old && !is_sidecar(new) && restarts() {
                let why =
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                errors.forbidden(at, why);
            }
        }
    }
}

/// Sets processor and memory in `resources` to the old amounts (`dropCPUMemoryUpdates`).
fn keep_compute(holder: &mut Value, old: &Value) {
    for list in ["limits", "requests"] {
        let before = &old["resources"][list];
        let now = &holder["resources"][list];
        if now.is_null() && before.is_null() {
            continue;
        }
        let mut amounts = now.as_object().cloned().unwrap_or_default();
        for name in ["cpu", "memory"] {
            super::copy(name, before, &mut amounts);
        }
        let Some(resources) = holder["resources"].as_object_mut() else { continue };
        if amounts.is_empty() && before.is_null() {
            resources.remove(list);
        } else {
            resources.insert(list.to_owned(), Value::Object(amounts));
        }
    }
}

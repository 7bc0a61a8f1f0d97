//! Validation of the containers of pods.

mod environment;
mod ephemeral;
mod handlers;
mod mounts;
mod ports;
mod references;
mod resources;
mod restarts;

use std::collections::BTreeSet;

use serde_json::Value;

use super::context::Pod;
use super::names::label;
use super::security;
use crate::kinds::validation::{Errors, Path, items, one_of, text};
use crate::repeats::repeated;
pub(super) use ephemeral::ephemeral_containers;
pub(super) use references::{FIELDS_OF_VOLUMES, container_resource, object_field};
pub(in crate::kinds) use resources::aggregate;
pub(in crate::kinds::validation) use resources::overhead;
pub(super) use resources::{container_requirements, pod_resources};
pub(super) use restarts::is_sidecar;

const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES: [&str; 2] = ["File", "FallbackToLogsOnError"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// Validates `containers` (`validateContainers`).
pub(super) fn containers(pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(&pod.spec()["containers"]);
    if list.is_empty() {
        errors.required(at, "");
        return;
    }
    let is_repeated = repeated(list.iter().map(|container| text(&container["name"])));
    for (index, container) in list.iter().enumerate() {
        let at = at.index(index);
        common(container, pod, at, errors);
        if is_repeated[index] {
            errors.duplicate(at.child("name"), text(&container["name"]));
        }
        hooks_and_probes(container, pod, at, errors);
        restarts::of_container(container, at, errors);
    }
    ports::host_port_conflicts(list, at, errors);
}

/// Validates `initContainers` (`validateInitContainers`).
pub(super) fn init_containers(pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(&pod.spec()["initContainers"]);
    let containers: BTreeSet<&str> =
        items(&pod.spec()["containers"]).iter().map(|container| text(&container["name"])).collect();
    let is_repeated = repeated(list.iter().map(|container| text(&container["name"])));
    for (index, container) in list.iter().enumerate() {
        let place = at.index(index);
        common(container, pod, place, errors);
        restarts::of_init_container(container, place, errors);
        let name = text(&container["name"]);
        let is_named = !name.is_empty() || containers.contains("");
        if is_named && (containers.contains(name) || is_repeated[index]) {
            errors.duplicate(place.child("name"), name);
        }
        ports::host_port_conflicts(&list[index..=index], at, errors);
        if restarts::is_sidecar(container) {
            hooks_and_probes(container, pod, place, errors);
        } else {
            reject_hooks_and_probes(container, place, errors);
            restarts::no_restart_on_resize(container, place, errors);
        }
    }
}

/// Rejects spaces around the name of an image, in pods but not in templates (`validateContainerOnlyForPod`).
pub(super) fn trimmed_image(container: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let image = text(&container["image"]);
    if image.trim() != image {
        errors.invalid(at.child("image"), image, "must not have leading or trailing whitespace");
    }
}

/// Validates the fields that all kinds of containers have (`validateContainerCommon`).
fn common(container: &Value, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    label(&container["name"], at.child("name"), errors);
    if text(&container["image"]).is_empty() {
        errors.required(at.child("image"), "");
    }
    let policy = &container["terminationMessagePolicy"];
    one_of(policy, &MESSAGE_POLICIES, at.child("terminationMessagePolicy"), errors);
    ports::ports(&container["ports"], at.child("ports"), errors);
    environment::variables(&container["env"], at.child("env"), errors);
    environment::sources(&container["envFrom"], at.child("envFrom"), errors);
    mounts::mounts(container, pod, at.child("volumeMounts"), errors);
    mounts::devices(container, pod, at.child("volumeDevices"), errors);
    pull_policy(&container["imagePullPolicy"], at.child("imagePullPolicy"), errors);
    container_requirements(&container["resources"], Some(pod), at.child("resources"), errors);
    restarts::resize_policies(container, pod, at.child("resizePolicy"), errors);
    security::container_context(&container["securityContext"], pod, at.child("securityContext"), errors);
}

/// Requires a known pull policy (`validatePullPolicy`).
pub(super) fn pull_policy(policy: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    one_of(policy, &PULL_POLICIES, at, errors);
}

fn hooks_and_probes(container: &Value, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    if container["lifecycle"].is_object() {
        handlers::lifecycle(&container["lifecycle"], pod, at.child("lifecycle"), errors);
    }
    for name in PROBES.into_iter().filter(|name| container[*name].is_object()) {
        handlers::probe(&container[name], name, pod, at.child(name), errors);
    }
}

fn reject_hooks_and_probes(container: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for name in ["lifecycle"].into_iter().chain(PROBES) {
        if !container[name].is_null() {
            let why = "may not be set for init containers without restartPolicy=Always";
            errors.forbidden(at.child(name), why);
        }
    }
}

//! Validation of the operating system of pods, and of what they share with their host.

use serde_json::Value;

use crate::kinds::validation::pods::context::{Pod, all_containers};
use crate::kinds::validation::{Errors, Path, items, text};

const SYSTEMS: [&str; 2] = ["linux", "windows"];
const NOT_FOR_WINDOWS: &str = "cannot be set for a windows pod";
const NOT_FOR_LINUX: &str = "windows options cannot be set for a linux pod";
/// Fields of a specification that Windows does not have.
const WINDOWS_LACKS: [&str; 4] = ["hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"];
/// Fields of the security context of a pod that Windows does not have.
const CONTEXT_LACKS: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
/// Fields of the security context of a container that Windows does not have.
const CONTAINER_LACKS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];
const WITHOUT_HOST_USERS: &str = "when `hostUsers` is false";

/// Validates the operating system of a pod, and rejects fields of the other one (`validateOS`, `validateLinux`,
/// `validateWindows`).
pub(in crate::kinds::validation::pods) fn operating_system(
    spec: &Value,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    if !spec["os"].is_object() {
        return;
    }
    let place = at.child("os");
    match text(&spec["os"]["name"]) {
        "" => errors.required(place.child("name"), ""),
        "linux" => reject(spec, &["windowsOptions"], &["windowsOptions"], NOT_FOR_LINUX, at, errors),
        "windows" => {
            for field in WINDOWS_LACKS.into_iter().filter(|field| is_given(&spec[*field])) {
                errors.forbidden(at.child(field), NOT_FOR_WINDOWS);
            }
            reject(spec, &CONTEXT_LACKS, &CONTAINER_LACKS, NOT_FOR_WINDOWS, at, errors);
        }
        other => errors.unsupported(place, other, &SYSTEMS),
    }
}

/// Rejects fields of the security contexts of a pod and of its containers.
fn reject(
    spec: &Value,
    of_context: &[&str],
    of_containers: &[&str],
    why: &str,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    let context = at.child("securityContext");
    for field in of_context.iter().filter(|field| is_given(&spec["securityContext"][**field])) {
        errors.forbidden(context.child(field), why);
    }
    for (list, index, container) in all_containers(spec) {
        let list = at.child(list);
        let container_at = list.index(index);
        let context = container_at.child("securityContext");
        for field in of_containers.iter().filter(|field| is_given(&container["securityContext"][**field])) {
            errors.forbidden(context.child(field), why);
        }
    }
}

fn is_given(value: &Value) -> bool {
    !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
}

/// Rejects what a pod with users of its own cannot share with its host (`validateHostUsers`).
pub(in crate::kinds::validation::pods) fn host_users(pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    if pod.has_host_users() {
        return;
    }
    let spec = pod.spec();
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec[field] == true {
            errors.forbidden(at.child(shown), WITHOUT_HOST_USERS);
        }
    }
    for (list, index, container) in all_containers(spec) {
        if !items(&container["volumeDevices"]).is_empty() {
            errors.forbidden(at.child(list).index(index).child("volumeDevices"), WITHOUT_HOST_USERS);
        }
    }
}

//! Validation of the security settings of pods and containers.

mod profiles;
mod system;
mod windows;

use serde_json::Value;

use super::context::Pod;
use super::names::user_or_group;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::repeats::repeated;
pub(super) use profiles::{annotation_profiles, matching_annotations};
pub(super) use system::{host_users, operating_system};
pub(super) use windows::host_processes;

const CHANGE_POLICIES: [&str; 2] = ["Always", "OnRootMismatch"];
const GROUPS_POLICIES: [&str; 2] = ["Merge", "Strict"];
const PROC_MOUNTS: [&str; 2] = ["Default", "Unmasked"];
const SYSCTL_NAME: &str = "must have at most 253 characters and match regex \
    ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const IPC_SYSCTLS: [&str; 3] = ["kernel.shm", "kernel.msg", "kernel.sem"];

/// Validates the security context of a pod (`validatePodSpecSecurityContext`).
pub(super) fn pod_context(pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let spec = pod.spec();
    let context = &spec["securityContext"];
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        user_or_group(&context[field], at.child(field), errors);
    }
    let groups = at.child("supplementalGroups");
    for (index, group) in items(&context["supplementalGroups"]).iter().enumerate() {
        user_or_group(group, groups.index(index), errors);
    }
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(at.child("shareProcessNamespace"), true, why);
    }
    sysctls(pod, at.child("sysctls"), errors);
    let se_linux = &["Recursive"][..];
    for (field, known) in [
        ("fsGroupChangePolicy", &CHANGE_POLICIES[..]),
        ("supplementalGroupsPolicy", &GROUPS_POLICIES[..]),
        // `MountOption` needs the gate `SELinuxMount`, which no minor has on by default.
        ("seLinuxChangePolicy", se_linux),
    ] {
        if let Some(policy) = context[field].as_str().filter(|policy| !known.contains(policy)) {
            errors.unsupported(at.child(field), policy, known);
        }
    }
    shared(context, at, errors);
}

/// Validates the profiles and Windows options, which pods and containers have.
fn shared(context: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    profiles::seccomp(&context["seccompProfile"], at.child("seccompProfile"), errors);
    windows::options(&context["windowsOptions"], at.child("windowsOptions"), errors);
    profiles::app_armor(&context["appArmorProfile"], at.child("appArmorProfile"), errors);
}

/// Validates the security context of a container (`ValidateSecurityContext`).
pub(super) fn container_context(context: &Value, pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    if !context.is_object() {
        return;
    }
    for field in ["runAsUser", "runAsGroup"] {
        user_or_group(&context[field], at.child(field), errors);
    }
    if let Some(mount) = context["procMount"].as_str() {
        if !PROC_MOUNTS.contains(&mount) {
            errors.unsupported(at.child("procMount"), mount, &PROC_MOUNTS);
        }
        if pod.has_host_users() && mount == "Unmasked" {
            errors.invalid(at.child("procMount"), mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    if context["allowPrivilegeEscalation"] == false {
        let why = "cannot set `allowPrivilegeEscalation` to false and ";
        let shown = || internal_form(context, "SecurityContext");
        if context["privileged"] == true {
            errors.invalid_shown(at, shown(), shown(), &format!("{why}`privileged` to true"));
        }
        for _ in items(&context["capabilities"]["add"]).iter().filter(|one| *one == "CAP_SYS_ADMIN") {
            errors.invalid_shown(at, shown(), shown(), &format!("{why}`capabilities.Add` CAP_SYS_ADMIN"));
        }
    }
    shared(context, at, errors);
}

/// Validates kernel parameters (`validateSysctls`).
fn sysctls(pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(&pod.spec()["securityContext"]["sysctls"]);
    let is_repeated = repeated(list.iter().map(|sysctl| text(&sysctl["name"])));
    for (index, sysctl) in list.iter().enumerate() {
        let (name, place) = (text(&sysctl["name"]), at.index(index));
        let at = place.child("name");
        if name.is_empty() {
            errors.required(at, "");
        } else if !is_sysctl(name) {
            errors.invalid(at, name, SYSCTL_NAME);
        } else if is_repeated[index] {
            errors.duplicate(at, name);
        }
        let dotted = name.replace('/', ".");
        if pod.is_on_host_network() && dotted.starts_with("net.") {
            errors.invalid(at, name, "may not be specified when 'hostNetwork' is true");
        }
        let is_ipc =
            dotted.starts_with("fs.mqueue.") || IPC_SYSCTLS.iter().any(|prefix| dotted.starts_with(prefix));
        if pod.spec()["hostIPC"] == true && is_ipc {
            errors.invalid(at, name, "may not be specified when 'hostIPC' is true");
        }
    }
}

/// Whether a text is the name of a kernel parameter (`IsValidSysctlName`).
fn is_sysctl(name: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_part = |part: &str| {
        let part = part.as_bytes();
        part.iter().all(|b| inner(*b) || matches!(b, b'-' | b'_'))
            && part.first().is_some_and(|b| inner(*b))
            && part.last().is_some_and(|b| inner(*b))
    };
    name.len() <= 253 && name.split(['.', '/']).all(is_part)
}

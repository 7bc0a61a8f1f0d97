//! The checks of the restricted level, which follow the current practice of hardening pods.

use serde_json::Value;
use windtunnel_core::text_of;

use super::baseline::{add_forbidden, unmasked_proc};
use super::{Versions, Violation};
use crate::admission::builtin::pod_security::pod::{Pod, Texts, containers, plural, quoted};
use crate::profile::since;

/// The first version of the standard that exempts pods for Windows from what Windows does not have.
pub(super) const WINDOWS_EXEMPTION: u32 = 25;
/// The first version of the standard that lets pods with their own user namespace run as root in it.
const OWN_USERS_EXEMPTION: u32 = 35;

/// The allowed sources of volumes.
const ALLOWED_VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// The sources of volumes that messages name.
const KNOWN_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

/// Containers that may gain privileges.
pub(super) fn privilege_escalation(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    if versions.standard >= WINDOWS_EXEMPTION && pod.is_windows() {
        return None;
    }
    let may_escalate = |container: &Value| container["securityContext"]["allowPrivilegeEscalation"] != false;
    let bad = pod.containers_where(may_escalate);
    let detail = || format!("{} must set securityContext.allowPrivilegeEscalation=false", containers(&bad));
    (!bad.is_empty()).then(|| Violation::new("allowPrivilegeEscalation != false", detail()))
}

/// Capabilities that are not dropped, and added ones other than that for low ports.
pub(super) fn capabilities(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    if versions.standard >= WINDOWS_EXEMPTION && pod.is_windows() {
        return None;
    }
    let undropped = pod.containers_where(|container| {
        let dropped = container["securityContext"]["capabilities"]["drop"].as_array();
        !dropped.into_iter().flatten().any(|name| name == "ALL")
    });
    let mut added = Texts::new();
    let adding =
        pod.containers_where(|container| add_forbidden(container, &["NET_BIND_SERVICE"], &mut added));
    let mut details = Vec::new();
    if !undropped.is_empty() {
        let containers = containers(&undropped);
        details.push(format!(r#"{containers} must set securityContext.capabilities.drop=["ALL"]"#));
    }
    if !adding.is_empty() {
        let (containers, added) = (containers(&adding), quoted(&added));
        details.push(format!("{containers} must not include {added} in securityContext.capabilities.add"));
    }
    (!details.is_empty()).then(|| Violation::new("unrestricted capabilities", details.join("; ")))
}

/// An unmasked `/proc`, in user namespaces too.
pub(super) fn proc_mount(pod: Pod<'_>, _versions: Versions) -> Option<Violation> {
    unmasked_proc(pod)
}

/// Volumes of other types than those for configuration, claims and temporary data.
pub(super) fn volumes(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    let allows_images = versions.server >= since::RESTRICTED_IMAGE_VOLUMES;
    let has = |volume: &Value, source: &str| !volume[source].is_null();
    let (mut names, mut types) = (Vec::new(), Texts::new());
    for volume in pod.spec["volumes"].as_array().into_iter().flatten() {
        if ALLOWED_VOLUMES.iter().any(|source| has(volume, source)) || (allows_images && has(volume, "image"))
        {
            continue;
        }
        names.push(text_of(volume, "name"));
        let known = KNOWN_VOLUMES.into_iter().find(|source| has(volume, source));
        types.insert(known.unwrap_or("unknown").to_owned());
    }
    let detail = || {
        let (noun, verb) = (plural(names.len(), "volume", "volumes"), plural(names.len(), "uses", "use"));
        let kinds = plural(types.len(), "restricted volume type", "restricted volume types");
        format!("{noun} {} {verb} {kinds} {}", quoted(&names), quoted(&types))
    };
    (!names.is_empty()).then(|| Violation::new("restricted volume types", detail()))
}

/// Containers that may run as root.
pub(super) fn non_root(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    if versions.standard >= OWN_USERS_EXEMPTION && pod.has_own_users() {
        return None;
    }
    let setters = pod.setters(|context| context["runAsNonRoot"] == false);
    if !setters.is_empty() {
        let setters = setters.join(" and ");
        return Some(Violation::new(
            REASON,
            format!("{setters} must not set securityContext.runAsNonRoot=false"),
        ));
    }
    if pod.spec["securityContext"]["runAsNonRoot"] == true {
        return None;
    }
    let bad = pod.containers_where(|container| container["securityContext"]["runAsNonRoot"].is_null());
    let detail = || format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&bad));
    (!bad.is_empty()).then(|| Violation::new(REASON, detail()))
}

/// The user root.
pub(super) fn user(pod: Pod<'_>, versions: Versions) -> Option<Violation> {
    if versions.standard >= OWN_USERS_EXEMPTION && pod.has_own_users() {
        return None;
    }
    let setters = pod.setters(|context| context["runAsUser"] == 0);
    let detail = || format!("{} must not set runAsUser=0", setters.join(" and "));
    (!setters.is_empty()).then(|| Violation::new("runAsUser=0", detail()))
}

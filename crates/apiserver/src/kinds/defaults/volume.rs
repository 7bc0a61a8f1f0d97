//! Defaults of pod volumes, persistent volumes, claims, storage classes and CSI drivers.

use serde_json::json;

use super::{Fields, container, object_in, objects_in_list, set_default};

/// Default mode of the files that a volume provides: 0644.
const FILE_MODE: i64 = 420;

/// Defaults of the sources that the volumes of pods and persistent volumes have in common.
const VOLUME_SOURCES: [(&str, &str, &str); 10] = [
    ("hostPath", "type", ""),
    ("iscsi", "iscsiInterface", "default"),
    ("rbd", "pool", "rbd"),
    ("rbd", "user", "admin"),
    ("rbd", "keyring", "/etc/ceph/keyring"),
    ("azureDisk", "cachingMode", "ReadWrite"),
    ("azureDisk", "kind", "Shared"),
    ("azureDisk", "fsType", "ext4"),
    ("scaleIO", "storageMode", "ThinProvisioned"),
    ("scaleIO", "fsType", "xfs"),
];

/// Fills the defaults of a source; `owner` is the volume of a pod or the specification of a persistent volume.
fn source(owner: &mut Fields) {
    for (source, field, value) in VOLUME_SOURCES {
        if let Some(source) = object_in(owner, source) {
            set_default(source, field, value);
        }
    }
    if let Some(disk) = object_in(owner, "azureDisk") {
        set_default(disk, "readOnly", false);
    }
}

/// Defaults of a volume of a pod.
pub(super) fn volume(volume: &mut Fields) {
    if volume.keys().all(|name| name == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = object_in(volume, source) {
            set_default(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(downward) = object_in(volume, "downwardAPI") {
        downward_items(downward);
    }
    if let Some(projected) = object_in(volume, "projected") {
        for source in objects_in_list(projected, "sources") {
            if let Some(token) = object_in(source, "serviceAccountToken") {
                set_default(token, "expirationSeconds", 3600);
            }
            if let Some(downward) = object_in(source, "downwardAPI") {
                downward_items(downward);
            }
        }
    }
    source(volume);
    if let Some(image) = object_in(volume, "image") {
        container::set_pull_policy(image, "reference", "pullPolicy");
    }
    if let Some(ephemeral) = object_in(volume, "ephemeral")
        && let Some(template) = object_in(ephemeral, "volumeClaimTemplate")
        && let Some(spec) = object_in(template, "spec")
    {
        claim_spec(spec);
    }
}

fn downward_items(source: &mut Fields) {
    for item in objects_in_list(source, "items") {
        if let Some(field) = object_in(item, "fieldRef") {
            set_default(field, "apiVersion", "v1");
        }
    }
}

fn claim_spec(spec: &mut Fields) {
    set_default(spec, "volumeMode", "Filesystem");
    if let Some(resources) = object_in(spec, "resources") {
        container::resource_lists(resources, &["limits", "requests"]);
    }
}

pub(super) fn claim(claim: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(claim, "spec") {
        claim_spec(spec);
    }
    if let Some(status) = object_in(claim, "status") {
        set_default(status, "phase", "Pending");
        container::resource_lists(status, &["capacity", "allocatedResources"]);
    }
}

pub(super) fn persistent_volume(volume: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(volume, "spec") {
        set_default(spec, "persistentVolumeReclaimPolicy", "Retain");
        set_default(spec, "volumeMode", "Filesystem");
        container::resource_lists(spec, &["capacity"]);
        source(spec);
    }
    if let Some(status) = object_in(volume, "status") {
        set_default(status, "phase", "Pending");
    }
}

pub(super) fn storage_class(class: &mut Fields, _minor: u32) {
    set_default(class, "reclaimPolicy", "Delete");
    set_default(class, "volumeBindingMode", "Immediate");
}

pub(super) fn csi_driver(driver: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(driver, "spec") else { return };
    set_default(spec, "attachRequired", true);
    set_default(spec, "podInfoOnMount", false);
    set_default(spec, "storageCapacity", false);
    set_default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    set_default(spec, "volumeLifecycleModes", json!(["Persistent"]));
    set_default(spec, "requiresRepublish", false);
    set_default(spec, "seLinuxMount", false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_the_same_defaults_in_pods_and_persistent_volumes() {
        let given = json!({ "rbd": { "image": "i" } });
        let mut of_pod = given.as_object().cloned().unwrap();
        volume(&mut of_pod);
        let mut persistent = json!({ "spec": given }).as_object().cloned().unwrap();
        persistent_volume(&mut persistent, 36);
        assert_eq!(of_pod["rbd"]["keyring"], "/etc/ceph/keyring");
        assert_eq!(of_pod["rbd"], persistent["spec"]["rbd"]);
    }
}

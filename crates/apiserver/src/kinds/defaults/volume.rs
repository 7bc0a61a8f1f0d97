//! Defaults of pod volumes, persistent volumes, claims, storage classes and CSI drivers.

use serde_json::json;

use super::{Fields, container, object_in, objects_in_list, set_default};

/// Default mode of the files that a volume provides: 0644.
const FILE_MODE: i64 = 420;

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
    if let Some(path) = object_in(volume, "hostPath") {
        set_default(path, "type", "");
    }
    if let Some(iscsi) = object_in(volume, "iscsi") {
        set_default(iscsi, "iscsiInterface", "default");
    }
    if let Some(image) = object_in(volume, "image") {
        let reference = image.get("reference").and_then(|it| it.as_str()).unwrap_or_default();
        let policy = container::pull_policy(reference);
        set_default(image, "pullPolicy", policy);
    }
    if let Some(ephemeral) = object_in(volume, "ephemeral")
        && let Some(template) = object_in(ephemeral, "volumeClaimTemplate")
        && let Some(spec) = object_in(template, "spec")
    {
        set_default(spec, "volumeMode", "Filesystem");
    }
}

fn downward_items(source: &mut Fields) {
    for item in objects_in_list(source, "items") {
        if let Some(field) = object_in(item, "fieldRef") {
            set_default(field, "apiVersion", "v1");
        }
    }
}

pub(super) fn claim(claim: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(claim, "spec") {
        set_default(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = object_in(claim, "status") {
        set_default(status, "phase", "Pending");
    }
}

/// Defaults of the sources of persistent volumes.
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

pub(super) fn persistent_volume(volume: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(volume, "spec") {
        set_default(spec, "persistentVolumeReclaimPolicy", "Retain");
        set_default(spec, "volumeMode", "Filesystem");
        for (source, field, value) in VOLUME_SOURCES {
            if let Some(source) = object_in(spec, source) {
                set_default(source, field, value);
            }
        }
        if let Some(disk) = object_in(spec, "azureDisk") {
            set_default(disk, "readOnly", false);
        }
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

//! Defaults of pod volumes, persistent volumes, claims, storage classes and CSI drivers.

use serde_json::json;

use super::{Fields, container, each, set, within};

/// Default mode of the files that a volume provides: 0644.
const FILE_MODE: i64 = 420;

/// Defaults of a volume of a pod.
pub(super) fn volume(volume: &mut Fields) {
    if volume.keys().all(|name| name == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = within(volume, source) {
            set(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(downward) = within(volume, "downwardAPI") {
        downward_items(downward);
    }
    if let Some(projected) = within(volume, "projected") {
        for source in each(projected, "sources") {
            if let Some(token) = within(source, "serviceAccountToken") {
                set(token, "expirationSeconds", 3600);
            }
            if let Some(downward) = within(source, "downwardAPI") {
                downward_items(downward);
            }
        }
    }
    if let Some(path) = within(volume, "hostPath") {
        set(path, "type", "");
    }
    if let Some(iscsi) = within(volume, "iscsi") {
        set(iscsi, "iscsiInterface", "default");
    }
    if let Some(image) = within(volume, "image") {
        let reference = image.get("reference").and_then(|it| it.as_str()).unwrap_or_default();
        let policy = container::pull_policy(reference);
        set(image, "pullPolicy", policy);
    }
    if let Some(ephemeral) = within(volume, "ephemeral")
        && let Some(template) = within(ephemeral, "volumeClaimTemplate")
        && let Some(spec) = within(template, "spec")
    {
        set(spec, "volumeMode", "Filesystem");
    }
}

fn downward_items(source: &mut Fields) {
    for item in each(source, "items") {
        if let Some(field) = within(item, "fieldRef") {
            set(field, "apiVersion", "v1");
        }
    }
}

pub(super) fn claim(claim: &mut Fields, _minor: u32) {
    if let Some(spec) = within(claim, "spec") {
        set(spec, "volumeMode", "Filesystem");
    }
    if let Some(status) = within(claim, "status") {
        set(status, "phase", "Pending");
    }
}

pub(super) fn persistent_volume(volume: &mut Fields, _minor: u32) {
    if let Some(spec) = within(volume, "spec") {
        set(spec, "persistentVolumeReclaimPolicy", "Retain");
        set(spec, "volumeMode", "Filesystem");
        if let Some(path) = within(spec, "hostPath") {
            set(path, "type", "");
        }
    }
    if let Some(status) = within(volume, "status") {
        set(status, "phase", "Pending");
    }
}

pub(super) fn storage_class(class: &mut Fields, _minor: u32) {
    set(class, "reclaimPolicy", "Delete");
    set(class, "volumeBindingMode", "Immediate");
}

pub(super) fn csi_driver(driver: &mut Fields, _minor: u32) {
    let Some(spec) = within(driver, "spec") else { return };
    set(spec, "attachRequired", true);
    set(spec, "podInfoOnMount", false);
    set(spec, "storageCapacity", false);
    set(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    set(spec, "volumeLifecycleModes", json!(["Persistent"]));
    set(spec, "requiresRepublish", false);
    set(spec, "seLinuxMount", false);
}

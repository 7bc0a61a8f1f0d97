//! Validation of persistent volumes, claims and storage classes.

use serde_json::Value;

use crate::kinds::quantity::Quantity;
use crate::kinds::validation::{Errors, Path, absent, immutable, items, one_of_if_given, text};
use crate::profile::since;

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const RECLAIM_POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];

fn access_modes(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = Path::Field(&at, "accessModes");
    if items(&spec["accessModes"]).is_empty() {
        errors.required(at, "at least 1 access mode is required");
    }
    for mode in items(&spec["accessModes"]).iter().map(text) {
        if !ACCESS_MODES.contains(&mode) {
            errors.unsupported(at, mode, &ACCESS_MODES);
        }
    }
}

/// Fields that an update of a claim may change, some of them only in part.
const FREE: [&str; 4] = ["resources", "volumeName", "volumeAttributesClassName", "storageClassName"];

pub(in crate::kinds::validation) fn claim(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    access_modes(spec, at, errors);
    let storage = &spec["resources"]["requests"]["storage"];
    if storage.is_null() {
        let resources = Path::Field(&at, "resources");
        errors.required(Path::Key(&resources, "storage"), "");
    }
    one_of_if_given(&spec["volumeMode"], &VOLUME_MODES, Path::Field(&at, "volumeMode"), errors);
    let Some(old) = old.filter(|old| old["spec"] != *spec) else { return };
    let resized = old["spec"]["resources"] != spec["resources"];
    if resized {
        shrunk(object, &old["spec"], errors);
    }
    let fields = |spec: &Value| -> Vec<(String, Value)> {
        let all = spec.as_object().into_iter().flatten();
        all.filter(|(name, _)| !FREE.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let before = &old["spec"];
    let bound = !absent(&before["volumeName"]) && before["volumeName"] != spec["volumeName"];
    let class =
        !before["storageClassName"].is_null() && before["storageClassName"] != spec["storageClassName"];
    let waiting = resized && object["status"]["phase"] != "Bound";
    if fields(spec) != fields(before) || bound || class || waiting {
        let why = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
                   bound claims";
        errors.forbidden(at, why);
    }
}

/// The requested size of a claim must not shrink; since `since::EXPANSION_RECOVERY` only not to its capacity
/// or less.
fn shrunk(object: &Value, old: &Value, errors: &mut Errors<'_>) {
    let amount = |value: &Value| Quantity::parse(text(value)).ok().flatten();
    let size = |spec: &Value| amount(&spec["resources"]["requests"]["storage"]);
    let (Some(new), Some(before)) = (size(&object["spec"]), size(old)) else { return };
    if !new.compare(before).is_lt() {
        return;
    }
    let at = Path::Field(&Path::Root, "spec");
    let resources = Path::Field(&at, "resources");
    let requests = Path::Field(&resources, "requests");
    let at = Path::Field(&requests, "storage");
    if errors.profile.minor < since::EXPANSION_RECOVERY {
        errors.forbidden(at, "field can not be less than previous value");
        return;
    }
    let got = amount(&object["status"]["capacity"]["storage"]);
    if got.is_some_and(|got| !new.compare(got).is_gt()) {
        errors.forbidden(at, "field can not be less than status.capacity");
    }
}

pub(in crate::kinds::validation) fn persistent_volume(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    const PLAIN: [&str; 9] = [
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    ];
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    access_modes(spec, at, errors);
    if absent(&spec["capacity"]) {
        errors.required(Path::Field(&at, "capacity"), "");
    } else if spec["capacity"]["storage"].is_null() {
        let given = spec["capacity"].clone();
        errors.invalid(Path::Field(&at, "capacity"), given, "only [\"storage\"] is expected");
    }
    let policy = Path::Field(&at, "persistentVolumeReclaimPolicy");
    one_of_if_given(&spec["persistentVolumeReclaimPolicy"], &RECLAIM_POLICIES, policy, errors);
    one_of_if_given(&spec["volumeMode"], &VOLUME_MODES, Path::Field(&at, "volumeMode"), errors);
    let sources = |spec: &Value| -> Vec<(String, Value)> {
        let all = spec.as_object().into_iter().flatten();
        all.filter(|(name, _)| !PLAIN.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    let given = sources(spec);
    if given.is_empty() {
        errors.required(at, "must specify a volume type");
    }
    for (field, _) in given.iter().skip(1) {
        errors.forbidden(Path::Field(&at, field), "may not specify more than 1 volume type");
    }
    let Some(old) = old else { return };
    if given != sources(&old["spec"]) {
        let field = Path::Field(&at, "persistentvolumesource");
        errors.forbidden(field, "spec.persistentvolumesource is immutable after creation");
    }
    let mode = Path::Field(&at, "volumeMode");
    immutable(&spec["volumeMode"], Some(&old["spec"]["volumeMode"]), mode, errors);
}

pub(in crate::kinds::validation) fn storage_class(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = |field| Path::Field(&Path::Root, field);
    if absent(&object["provisioner"]) {
        errors.required(at("provisioner"), "");
    }
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of_if_given(&object["volumeBindingMode"], &modes, at("volumeBindingMode"), errors);
    one_of_if_given(&object["reclaimPolicy"], &RECLAIM_POLICIES, at("reclaimPolicy"), errors);
    let Some(old) = old else { return };
    for field in ["parameters", "provisioner"] {
        if object[field] != old[field] {
            errors.forbidden(at(field), "updates to parameters are forbidden.".replace("parameters", field));
        }
    }
    for field in ["reclaimPolicy", "volumeBindingMode"] {
        immutable(&object[field], Some(&old[field]), at(field), errors);
    }
}

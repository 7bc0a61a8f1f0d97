//! Devices and claims for them: fields whose features are off, the times of taints, and reports about devices that are no
//! longer allocated (`pkg/registry/resource`).

use serde_json::{Map, Value, json};
use windtunnel_core::clock::{Time, rfc3339};

use crate::kinds::Kind;
use crate::profile::since;

const NEVER: u32 = u32::MAX;

/// A feature: the plural of a kind, its fields there, and the first minor that has it on by default. In the path of a
/// field, `*` is each element of a list or each value of a map.
type Row = (&'static str, &'static [&'static str], u32);

#[rustfmt::skip]
const FEATURES: &[Row] = &[
    // `DRADeviceTaints`
    ("resourceslices", &["spec/devices/*/taints"], since::DEVICE_FEATURES),
    (CLAIMS, &[
        "spec/devices/requests/*/exactly/tolerations",
        "spec/devices/requests/*/firstAvailable/*/tolerations",
    ], since::DEVICE_FEATURES),
    (TEMPLATES, &[
        "spec/spec/devices/requests/*/exactly/tolerations",
        "spec/spec/devices/requests/*/firstAvailable/*/tolerations",
    ], since::DEVICE_FEATURES),
    // `DRAPartitionableDevices`
    ("resourceslices", &[
        "spec/sharedCounters", "spec/perDeviceNodeSelection", "spec/devices/*/consumesCounters",
        "spec/devices/*/nodeName", "spec/devices/*/nodeSelector", "spec/devices/*/allNodes",
    ], since::DEVICE_FEATURES),
    // `DRADeviceBindingConditions`
    ("resourceslices", &[
        "spec/devices/*/bindingConditions", "spec/devices/*/bindingFailureConditions", "spec/devices/*/bindsToNode",
    ], since::DEVICE_FEATURES),
    (CLAIMS, &[
        "status/allocation/devices/results/*/bindingConditions",
        "status/allocation/devices/results/*/bindingFailureConditions",
    ], since::DEVICE_FEATURES),
    // `DRAConsumableCapacity`
    ("resourceslices", &[
        "spec/devices/*/allowMultipleAllocations", "spec/devices/*/capacity/*/requestPolicy",
    ], since::CONSUMABLE_CAPACITY),
    (CLAIMS, &[
        "spec/devices/constraints/*/distinctAttribute", "spec/devices/requests/*/exactly/capacity",
        "spec/devices/requests/*/firstAvailable/*/capacity", "status/allocation/devices/results/*/shareID",
        "status/allocation/devices/results/*/consumedCapacity", "status/devices/*/shareID",
    ], since::CONSUMABLE_CAPACITY),
    (TEMPLATES, &[
        "spec/spec/devices/constraints/*/distinctAttribute", "spec/spec/devices/requests/*/exactly/capacity",
        "spec/spec/devices/requests/*/firstAvailable/*/capacity",
    ], since::CONSUMABLE_CAPACITY),
    // `DRAExtendedResource`
    ("deviceclasses", &["spec/extendedResourceName"], since::DEVICE_FEATURES),
    // `DRANodeAllocatableResources`
    ("resourceslices", &["spec/devices/*/nodeAllocatableResourceMappings"], NEVER),
    // `DRAListTypeAttributes`
    ("resourceslices", &[
        "spec/devices/*/attributes/*/bools", "spec/devices/*/attributes/*/ints",
        "spec/devices/*/attributes/*/strings", "spec/devices/*/attributes/*/versions",
    ], NEVER),
];
const GROUP: &str = "resource.k8s.io";
const CLAIMS: &str = "resourceclaims";
const TEMPLATES: &str = "resourceclaimtemplates";

/// Drops the fields of features that are off, unless the stored object uses the feature (`dropDisabledFields`).
pub(super) fn drop_disabled(kind: &Kind, object: &mut Value, old: Option<&Value>, minor: u32) {
    for path in disabled(kind, old, minor) {
        remove(object, path);
    }
}

/// Whether a JSON pointer leads to a field that is dropped.
pub(super) fn is_disabled(kind: &Kind, pointer: &str, old: Option<&Value>, minor: u32) -> bool {
    let names: Vec<&str> = pointer.split('/').skip(1).collect();
    disabled(kind, old, minor).any(|path| {
        let path: Vec<&str> = path.split('/').collect();
        path.len() <= names.len() && path.iter().zip(&names).all(|(one, name)| *one == "*" || one == name)
    })
}

/// The paths of the fields that are dropped.
fn disabled(kind: &Kind, old: Option<&Value>, minor: u32) -> impl Iterator<Item = &'static str> {
    FEATURES
        .iter()
        .filter(move |(plural, _, since)| minor < *since && kind.is_resource(GROUP, plural))
        .filter(move |(_, fields, _)| !old.is_some_and(|old| fields.iter().any(|path| has(old, path))))
        .flat_map(|(_, fields, _)| fields.iter().copied())
}

/// Whether a value has a field with this path.
fn has(value: &Value, path: &str) -> bool {
    match path.split_once('/') {
        None => !value[path].is_null(),
        Some(("*", rest)) => match value {
            Value::Array(items) => items.iter().any(|one| has(one, rest)),
            Value::Object(map) => map.values().any(|one| has(one, rest)),
            _ => false,
        },
        Some((field, rest)) => has(&value[field], rest),
    }
}

/// Removes each field with this path.
fn remove(value: &mut Value, path: &str) {
    match (path.split_once('/'), value) {
        (None, Value::Object(map)) => {
            map.remove(path);
        }
        (Some(("*", rest)), Value::Array(items)) => items.iter_mut().for_each(|one| remove(one, rest)),
        (Some(("*", rest)), Value::Object(map)) => map.values_mut().for_each(|one| remove(one, rest)),
        (Some((field, rest)), Value::Object(map)) => {
            if let Some(inner) = map.get_mut(field) {
                remove(inner, rest);
            }
        }
        _ => {}
    }
}

/// Sets the missing times of taints (`SetDefaults_DeviceTaint`).
pub(super) fn set_times(kind: &Kind, object: &mut Value, now: Time) {
    if !kind.is_resource(GROUP, "resourceslices") {
        return;
    }
    let devices = object.pointer_mut("/spec/devices").and_then(Value::as_array_mut);
    for device in devices.into_iter().flatten() {
        let taints = device.get_mut("taints").and_then(Value::as_array_mut);
        for taint in taints.into_iter().flatten().filter_map(Value::as_object_mut) {
            taint.entry("timeAdded").or_insert_with(|| json!(rfc3339(now)));
        }
    }
}

/// Removes reports about devices that the claim no longer has (`dropDeallocatedStatusDevices`).
pub(super) fn drop_deallocated(kind: &Kind, object: &mut Value, old: &Value) {
    if !kind.is_resource(GROUP, CLAIMS) {
        return;
    }
    let (before, after) = (allocated(old), allocated(object));
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    if let Some(devices) = status.get_mut("devices").and_then(Value::as_array_mut) {
        devices.retain(|device| {
            let device = device.as_object().map(identity);
            device.is_none_or(|device| !before.contains(&device) || after.contains(&device))
        });
        if devices.is_empty() {
            status.remove("devices");
        }
    }
}

/// The identities of the devices in a claim's allocation.
fn allocated(claim: &Value) -> Vec<[String; 4]> {
    let results = claim["status"]["allocation"]["devices"]["results"].as_array();
    results.into_iter().flatten().filter_map(Value::as_object).map(identity).collect()
}

/// The identity of a device and its share (`SharedDeviceID`).
fn identity(device: &Map<String, Value>) -> [String; 4] {
    ["driver", "pool", "device", "shareID"]
        .map(|field| device.get(field).and_then(Value::as_str).unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_and_removed_in_lists_and_maps() {
        let mut slice = json!({ "spec": { "devices": [
            { "attributes": { "a": { "ints": [1] }, "b": { "int": 1 } } },
        ] } });
        let path = "spec/devices/*/attributes/*/ints";
        assert!(has(&slice, path));
        remove(&mut slice, path);
        let expected = json!({ "spec": { "devices": [{ "attributes": { "a": {}, "b": { "int": 1 } } }] } });
        assert_eq!(slice, expected);
    }
}

//! The parts of a pod that a write of its status keeps.

use serde_json::{Map, Value};

use crate::metadata;

/// Keeps the class and the observed generations that a status write omits (`podStatusStrategy.PrepareForUpdate`).
pub(in crate::kinds::strategy) fn prepare_status(object: &mut Value, old: &Value) {
    let owners = &old["metadata"]["ownerReferences"];
    if object["metadata"]["ownerReferences"] != *owners {
        let metadata = metadata::metadata_mut(object);
        match owners {
            Value::Null => metadata.remove("ownerReferences"),
            owners => metadata.insert("ownerReferences".to_owned(), owners.clone()),
        };
    }
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    for (field, is_absent) in [
        ("qosClass", status.get("qosClass").is_none_or(|class| class == "")),
        ("observedGeneration", status.get("observedGeneration").is_none_or(|generation| *generation == 0)),
    ] {
        if let Some(value) = old["status"].get(field).filter(|_| is_absent) {
            status.insert(field.to_owned(), value.clone());
        }
    }
    let mut before: Vec<&Value> = old["status"]["conditions"].as_array().into_iter().flatten().collect();
    for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        let position = before.iter().position(|old| old["type"] == condition["type"]);
        let Some(old) = position.map(|position| before.remove(position)) else { continue };
        let is_absent = condition["observedGeneration"].as_i64().unwrap_or(0) == 0;
        if let (true, Some(generation)) = (is_absent, old.get("observedGeneration")) {
            condition["observedGeneration"] = generation.clone();
        }
    }
    drop_disabled_status(status, &old["status"]);
}

/// Removes what needs gates that are off, unless the old status has it (`dropDisabledPodStatusFields`).
fn drop_disabled_status(status: &mut Map<String, Value>, old: &Value) {
    const CLAIMS: &str = "nodeAllocatableResourceClaimStatuses";
    if old[CLAIMS].is_null() {
        status.remove(CLAIMS);
    }
    for list in ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] {
        for container in status.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let mounts = container.get_mut("volumeMounts").and_then(Value::as_array_mut);
            for mount in mounts.into_iter().flatten().filter_map(Value::as_object_mut) {
                mount.remove("volumeStatus");
            }
        }
    }
}

//! Defaults of claims for devices, and of devices.

use crate::kinds::defaults::{Fields, object_in, objects_in_list, set_default};

pub(super) fn claim(claim: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(claim, "spec") {
        specification(spec);
    }
    if let Some(status) = object_in(claim, "status")
        && let Some(allocation) = object_in(status, "allocation")
        && let Some(devices) = object_in(allocation, "devices")
    {
        objects_in_list(devices, "results").for_each(tolerations);
    }
}

pub(super) fn template(template: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(template, "spec")
        && let Some(spec) = object_in(spec, "spec")
    {
        specification(spec);
    }
}

fn specification(spec: &mut Fields) {
    let Some(devices) = object_in(spec, "devices") else { return };
    for request in objects_in_list(devices, "requests") {
        if let Some(exactly) = object_in(request, "exactly") {
            number(exactly);
        }
        objects_in_list(request, "firstAvailable").for_each(number);
    }
}

/// A request is for one device, unless it says otherwise.
fn number(request: &mut Fields) {
    set_default(request, "allocationMode", "ExactCount");
    if request.get("allocationMode").is_some_and(|mode| mode == "ExactCount") {
        set_default(request, "count", 1);
    }
    tolerations(request);
}

fn tolerations(owner: &mut Fields) {
    objects_in_list(owner, "tolerations").for_each(|toleration| set_default(toleration, "operator", "Equal"));
}

pub(super) fn slice(slice: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(slice, "spec") else { return };
    for device in objects_in_list(spec, "devices") {
        let mappings = object_in(device, "nodeAllocatableResourceMappings");
        for (_, mapping) in mappings.into_iter().flatten() {
            if let Some(mapping) = mapping.as_object_mut() {
                set_default(mapping, "allocationMultiplier", "1");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn requests_are_for_one_device_unless_they_say_otherwise() {
        let mut object = json!({ "spec": { "devices": { "requests": [
            { "exactly": { "tolerations": [{}] } },
            { "firstAvailable": [{ "allocationMode": "All" }, { "count": 2 }] },
        ] } } });
        claim(object.as_object_mut().unwrap(), 36);
        let exactly =
            json!({ "allocationMode": "ExactCount", "count": 1, "tolerations": [{ "operator": "Equal" }] });
        let first = json!([{ "allocationMode": "All" }, { "allocationMode": "ExactCount", "count": 2 }]);
        let requests: &Value = &object["spec"]["devices"]["requests"];
        assert_eq!((&requests[0]["exactly"], &requests[1]["firstAvailable"]), (&exactly, &first));
    }
}

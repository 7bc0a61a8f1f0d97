//! Tests of the rules for devices and claims.

use serde_json::{Value, json};

use super::{claim, class, slice, status, template};
use crate::kinds::validation::examples::{errors, patched, rejects, rejects_updates};

fn a_slice() -> Value {
    json!({ "spec": {
        "driver": "d.example.com", "nodeName": "n",
        "pool": { "name": "p", "resourceSliceCount": 1, "generation": 0 },
        "devices": [{ "name": "a", "attributes": { "x": { "int": 1 } }, "capacity": { "c": { "value": "4" } } }],
    } })
}

#[test]
fn slices_say_which_nodes_can_use_them() {
    let union = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    rejects(
        slice,
        &a_slice(),
        &[
            (json!({ "spec": { "nodeName": null } }), &format!("spec: Required value: {union}")),
            (
                json!({ "spec": { "allNodes": true } }),
                &format!(
                    "spec: Invalid value: \"{{`nodeName`, `allNodes`}}\": {union}, but multiple fields are set"
                ),
            ),
            (
                json!({ "spec": { "allNodes": false } }),
                "spec.allNodes: Invalid value: false: must be either unset or set to true",
            ),
            (
                json!({ "spec": { "pool": { "name": "", "resourceSliceCount": 0 } } }),
                "spec.pool.name: Required value; spec.pool.resourceSliceCount: Invalid value: 0: must be greater \
                 than zero",
            ),
        ],
    );
    let other = json!({ "spec": { "nodeName": "m", "pool": { "name": "q" } } });
    let wanted = "spec.pool.name: Invalid value: \"q\": field is immutable; \
                  spec.nodeName: Invalid value: \"m\": field is immutable";
    rejects_updates(slice, &a_slice(), &[(other, wanted)]);
}

/// The errors of the device in a slice, with a merge patch.
fn of_device(patch: &Value) -> String {
    let mut object = a_slice();
    json_patch::merge(&mut object["spec"]["devices"][0], patch);
    errors(slice, &object, None, 36)
}

#[test]
fn attributes_have_one_value() {
    for (attribute, wanted) in [
        (json!({ "int": null }), "[x]: Invalid value: \"\": exactly one value must be specified"),
        (
            json!({ "version": "1" }),
            "[x].version: Invalid value: \"1\": must be a string compatible with semver.org spec 2.0.0; \
             spec.devices[0].attributes[x]: Invalid value: {\"IntValue\":1,\"BoolValue\":null,\"StringValue\":null,\
             \"VersionValue\":\"1\",\"IntValues\":null,\"BoolValues\":null,\"StringValues\":null,\
             \"VersionValues\":null}: exactly one value must be specified",
        ),
    ] {
        let found = of_device(&json!({ "attributes": { "x": attribute } }));
        assert_eq!(found, format!("spec.devices[0].attributes{wanted}"));
    }
    let found = of_device(&json!({ "attributes": { "/x": { "int": 1 } } }));
    assert_eq!(found, "spec.devices[0].attributes: Invalid value: \"\": the domain must not be empty");
}

#[test]
fn capacities_with_a_policy_are_shared() {
    let policy = json!({ "default": "2", "validRange": { "min": "1", "max": "8", "step": "2" } });
    let capacity = json!({ "c": { "requestPolicy": policy } });
    let at = "spec.devices[0].capacity[c].requestPolicy";
    assert_eq!(
        of_device(&json!({ "capacity": capacity })),
        format!("{at}: Forbidden: allowMultipleAllocations must be true")
    );
    assert_eq!(
        of_device(&json!({ "capacity": capacity, "allowMultipleAllocations": true })),
        format!(
            "{at}.validRange.max: Invalid value: \"8\": max is larger than capacity value: 4; \
             {at}.validRange.step: Invalid value: \"2\": value is not a multiple of a given step (2) from (1); \
             {at}.validRange.step: Invalid value: \"8\": value is not a multiple of a given step (2) from (1)"
        )
    );
}

#[test]
fn conditions_for_binding_come_in_pairs() {
    assert_eq!(
        of_device(&json!({ "bindingConditions": ["a", "a"] })),
        "spec.devices[0].bindingConditions[1]: Duplicate value: \"a\"; \
         spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use \
         bindingConditions"
    );
}

fn a_class(expression: &str) -> Value {
    json!({ "spec": {
        "selectors": [{ "cel": { "expression": expression } }],
        "config": [{ "opaque": { "driver": "d.example.com", "parameters": {} } }],
    } })
}

#[test]
fn classes_have_valid_configurations() {
    rejects(
        class,
        &a_class("true"),
        &[
            (json!({ "spec": { "config": [{}] } }), "spec.config[0].opaque: Required value"),
            (
                json!({ "spec": { "config": [{ "opaque": { "driver": "", "parameters": [] } }] } }),
                "spec.config[0].opaque.driver: Required value; spec.config[0].opaque.parameters: Invalid value: \
                 \"<value omitted>\": must be a valid JSON object",
            ),
            (
                json!({ "spec": { "extendedResourceName": "cpu" } }),
                "spec.extendedResourceName: Invalid value: \"cpu\": must be a valid extended resource name",
            ),
        ],
    );
}

#[test]
fn selectors_are_conditions_about_a_device() {
    let at = "spec.selectors[0].cel.expression";
    for (expression, wanted) in [
        ("device.attributes['d.example.com'].x == 1", ""),
        ("device.attributes['d.example.com'].x", ""),
        ("device.attributes['d.example.com'].x.y == 1 && device.allowMultipleAllocations", ""),
        ("device.capacity['d.example.com'].c.compareTo(quantity('1')) > 0", ""),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        (
            "device.attributes['d.example.com'].x.exists(y, y == 1)",
            "compilation failed: ERROR: <input>:1:35: expression of type 'any' cannot be range of a comprehension \
             (must be list, map, or dynamic)\n | device.attributes['d.example.com'].x.exists(y, y == 1)\n | \
             ..................................^",
        ),
        (
            "x",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x\n | ^",
        ),
    ] {
        let found = errors(class, &a_class(expression), None, 36);
        let shown = crate::gotext::quote(expression);
        let wanted =
            if wanted.is_empty() { String::new() } else { format!("{at}: Invalid value: {shown}: {wanted}") };
        assert_eq!(found, wanted);
    }
}

#[test]
fn selectors_have_a_maximum_cost() {
    let loops = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, \
                 device.attributes.all(d, a != b && b != c && c != d))))";
    let wanted = "spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit";
    assert_eq!(errors(class, &a_class(loops), None, 36), wanted);
}

fn a_claim() -> Value {
    let one = json!({ "deviceClassName": "c", "allocationMode": "ExactCount", "count": 1 });
    json!({
        "spec": { "devices": {
            "requests": [{ "name": "r", "exactly": one }],
            "constraints": [{ "requests": ["r"], "matchAttribute": "d.example.com/x" }],
        } },
        "status": {},
    })
}

#[test]
fn requests_are_for_one_class_or_for_alternatives() {
    let union = "exactly one of `exactly` or `firstAvailable` is required";
    let at = "spec.devices.requests[0]";
    for (request, wanted) in [
        (json!({ "name": "r" }), format!("{at}: Required value: {union}")),
        (
            json!({ "name": "r", "exactly": {}, "firstAvailable": [{}] }),
            format!("{at}: Invalid value: null: {union}, but multiple fields are set"),
        ),
        (
            json!({ "name": "r", "exactly": { "allocationMode": "All", "count": 1 } }),
            format!(
                "{at}.exactly.deviceClassName: Required value; {at}.exactly.count: Invalid value: 1: must not be \
                 specified when allocationMode is 'All'"
            ),
        ),
    ] {
        let patch = json!({ "spec": { "devices": { "requests": [request] } } });
        assert_eq!(errors(claim, &patched(&a_claim(), &patch), None, 36), wanted);
    }
    let constraint = json!({ "spec": { "devices": { "constraints": [{ "requests": ["r/x"] }] } } });
    assert_eq!(
        errors(claim, &patched(&a_claim(), &constraint), None, 36),
        "spec.devices.constraints[0].requests[0]: Invalid value: \"r/x\": must be the name of a request in the claim or \
         the name of a request and a subrequest separated by '/'; spec.devices.constraints[0]: Required value: exactly \
         one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set"
    );
}

#[test]
fn claims_are_immutable() {
    let patch = json!({ "spec": { "devices": { "requests": null, "constraints": null } } });
    let wanted = "spec: Invalid value: {\"Devices\":{\"Requests\":null,\"Constraints\":null,\"Config\":null}}: field is \
                  immutable";
    rejects_updates(claim, &a_claim(), &[(patch, wanted)]);
}

#[test]
fn templates_have_labels_and_annotations_only() {
    let valid = json!({ "spec": { "metadata": { "labels": { "a": "b" } }, "spec": a_claim()["spec"] } });
    let patch = json!({ "spec": { "metadata": { "name": "x", "uid": "u" } } });
    let wanted = "spec.metadata.name: Forbidden: cannot be set; spec.metadata.uID: Forbidden: cannot be set";
    rejects(template, &valid, &[(patch, wanted)]);
}

#[test]
fn reports_are_about_allocated_devices() {
    let device = json!({ "driver": "d.example.com", "pool": "p", "device": "a" });
    let mut result = device.clone();
    result["request"] = json!("r");
    let old =
        patched(&a_claim(), &json!({ "status": { "allocation": { "devices": { "results": [result] } } } }));
    let valid = patched(&old, &json!({ "status": { "devices": [device] } }));
    assert_eq!(errors(status, &valid, Some(&a_claim()), 36), "");
    let other = json!({ "driver": "d.example.com", "pool": "p", "device": "b", "networkData": { "ips": ["1.2.3.4"] } });
    rejects_updates(
        status,
        &old,
        &[(
            json!({ "status": { "devices": [other] } }),
            "status.devices[0]: Invalid value: {\"Driver\":\"d.example.com\",\"Pool\":\"p\",\"Device\":\"b\",\
             \"ShareID\":\"\"}: must be an allocated device in the claim; status.devices[0].networkData.ips[0]: Invalid \
             value: \"1.2.3.4\": must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
        )],
    );
    let reserved = json!({ "status": { "reservedFor": [{ "resource": "pods", "name": "p", "uid": "u" }] } });
    let why = "status.reservedFor: Forbidden: may not be specified when `allocated` is not set";
    rejects_updates(status, &a_claim(), &[(reserved, why)]);
}

//! Validation of a device in a slice (`validateDevice`).

use serde_json::Value;

use super::attributes::{attribute, values};
use super::collections::{by, each, each_unique, entries};
use super::counters::counters;
use super::names::{self, LONGEST_NAME};
use super::nodes::{flag, node_name};
use super::{binding, policy, taint};
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::resource_names::is_native;
use crate::kinds::validation::{Errors, Path, node_selector, text};

const MOST_ATTRIBUTES: usize = 32;
const MOST_VALUES: usize = 48;
const MOST_TAINTS: usize = 16;
const MOST_CONSUMPTIONS: usize = 2;
const UNION: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when \
    `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
const NO_SELECTION: &str = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is \
    set to true in the ResourceSlice spec";

/// Validates a device. Unchanged taints of the old device are not validated again.
pub(super) fn device(
    device: &Value,
    old: Option<&Value>,
    per_device: bool,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    names::label(text(&device["name"]), at.child("name"), errors);
    properties(device, at, errors);
    if !old.is_some_and(|old| old["taints"] == device["taints"]) {
        each(&device["taints"], MOST_TAINTS, at.child("taints"), errors, taint::taint);
    }
    let place = at.child("consumesCounters");
    let consumed = &device["consumesCounters"];
    each_unique(consumed, MOST_CONSUMPTIONS, by("counterSet"), place, errors, |one, at, errors| {
        counters(one, "counterSet", at, errors);
    });
    if per_device {
        nodes(device, at, errors);
    } else if ["nodeName", "nodeSelector", "allNodes"].iter().any(|field| !device[*field].is_null()) {
        errors.invalid(at, Value::Null, NO_SELECTION);
    }
    binding::conditions(device, at, errors);
    mappings(device, at.child("nodeAllocatableResourceMappings"), errors);
}

/// Validates the attributes and capacities of a device, and their number.
fn properties(device: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (attributes, capacity) = (&device["attributes"], &device["capacity"]);
    let length = |map: &Value| map.as_object().map_or(0, serde_json::Map::len);
    let count = length(attributes) + length(capacity);
    if count > MOST_ATTRIBUTES {
        let why = format!("the total number of attributes and capacities must not exceed {MOST_ATTRIBUTES}");
        errors.invalid(at, count, why);
    }
    let count: usize = attributes.as_object().into_iter().flatten().map(|(_, value)| values(value)).sum();
    if count > MOST_VALUES {
        let why = format!("the total number of attribute values must not exceed {MOST_VALUES}");
        errors.invalid(at, count, why);
    }
    entries(attributes, LONGEST_NAME, at.child("attributes"), errors, names::qualified, attribute);
    let shared = device["allowMultipleAllocations"] == true;
    entries(capacity, LONGEST_NAME, at.child("capacity"), errors, names::qualified, |one, at, errors| {
        policy::capacity(one, shared, at, errors);
    });
}

/// Requires exactly one way to say which nodes can use a device.
fn nodes(device: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut given = Vec::new();
    node_name(&device["nodeName"], "must not be empty", at, &mut given, errors);
    if !device["nodeSelector"].is_null() {
        given.push("`nodeSelector`");
        node_selector::check(&device["nodeSelector"], at.child("nodeSelector"), errors);
    }
    flag(&device["allNodes"], "allNodes", "`allNodes`", at, &mut given, errors);
    match given.as_slice() {
        [] => errors.required(at, UNION),
        [_] => {}
        _ => errors.invalid(at, format!("{{{}}}", given.join(", ")), UNION),
    }
}

/// Validates how much of a node's own resources a device takes (`validateNodeAllocatableResourceMappings`).
fn mappings(device: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mappings = device["nodeAllocatableResourceMappings"].as_object();
    for (resource, mapping) in mappings.into_iter().flatten() {
        let at = at.key(resource);
        if !is_native(resource) {
            errors.invalid(at, resource.as_str(), "must be a node allocatable resource name");
        }
        let (multiplier, capacity) =
            (mapping["allocationMultiplier"].as_str(), mapping["capacityKey"].as_str());
        if multiplier.is_none() && capacity.is_none() {
            errors.invalid(at, "", "at least one of allocationMultiplier or capacityKey must be set");
        }
        if let Some(amount) = multiplier.and_then(|text| Quantity::parse(text).ok().flatten())
            && !amount.is_more(Quantity::ZERO)
        {
            errors.invalid(at.child("allocationMultiplier"), amount.text(), "must be positive");
        }
        match capacity {
            Some("") => {
                errors.invalid(at.child("capacityKey"), "", "capacityKey must not be an empty string");
            }
            Some(name) if device["capacity"].get(name).is_none() => {
                errors.not_found(at.child("capacityKey"), name);
            }
            _ => {}
        }
    }
}

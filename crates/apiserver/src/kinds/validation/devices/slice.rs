//! Validation of slices, in which drivers publish devices (`ValidateResourceSlice`).

use serde_json::Value;

use super::collections::{by, each_unique};
use super::counters::counters;
use super::device::device;
use super::names;
use super::nodes::{flag, node_name};
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{Errors, Path, absent, immutable, items, node_selector, text};

const MOST_DEVICES: usize = 128;
/// Maximum number of devices if one of them uses a newer feature.
const MOST_ADVANCED_DEVICES: usize = 64;
const MOST_COUNTER_SETS: usize = 8;
const UNION: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

/// Validates a slice or an update of one.
pub(in crate::kinds::validation) fn slice(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let (spec, old) = (&object["spec"], old.map(|old| &old["spec"]));
    names::driver(text(&spec["driver"]), at.child("driver"), errors);
    pool(&spec["pool"], at.child("pool"), errors);
    if let Some(old) = old {
        let place = at.child("pool");
        immutable(&spec["pool"]["name"], Some(&old["pool"]["name"]), place.child("name"), errors);
        for field in ["driver", "nodeName"] {
            immutable(&spec[field], Some(&old[field]), at.child(field), errors);
        }
    }
    nodes(spec, at, errors);
    if !spec["sharedCounters"].is_null() && !spec["devices"].is_null() {
        errors.invalid(at, "", "only one of `sharedCounters` or `devices` is allowed");
    }
    devices(spec, old, at.child("devices"), errors);
    let list = at.child("sharedCounters");
    each_unique(&spec["sharedCounters"], MOST_COUNTER_SETS, by("name"), list, errors, |set, at, errors| {
        counters(set, "name", at, errors);
    });
}

/// Validates the pool of a slice (`validateResourcePool`).
fn pool(pool: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    names::pool(text(&pool["name"]), at.child("name"), errors);
    let number = |field: &str| pool[field].as_i64().unwrap_or(0);
    if number("resourceSliceCount") <= 0 {
        errors.invalid(
            at.child("resourceSliceCount"),
            number("resourceSliceCount"),
            "must be greater than zero",
        );
    }
    if number("generation") < 0 {
        let why = "must be greater than or equal to zero";
        errors.invalid(at.child("generation"), number("generation"), why);
    }
}

/// Requires exactly one way to say which nodes can use the devices.
fn nodes(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut given = Vec::new();
    node_name(&spec["nodeName"], "must be either unset or set to a non-empty string", at, &mut given, errors);
    if !spec["nodeSelector"].is_null() {
        given.push("`nodeSelector`");
        let place = at.child("nodeSelector");
        node_selector::check(&spec["nodeSelector"], place, errors);
        let terms = &spec["nodeSelector"]["nodeSelectorTerms"];
        if items(terms).len() != 1 {
            let shown = internal_form(terms, "[NodeSelectorTerm");
            let why = "must have exactly one node selector term";
            errors.invalid_shown(place.child("nodeSelectorTerms"), shown.clone(), shown, why);
        }
    }
    flag(&spec["allNodes"], "allNodes", "`allNodes`", at, &mut given, errors);
    let field = "perDeviceNodeSelection";
    flag(&spec[field], field, "`perDeviceNodeSelection`", at, &mut given, errors);
    match given.as_slice() {
        [] => errors.required(at, UNION),
        [_] => {}
        _ => {
            let shown = format!("{{{}}}", given.join(", "));
            errors.invalid(at, shown, format!("{UNION}, but multiple fields are set"));
        }
    }
}

fn devices(spec: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = &spec["devices"];
    let is_advanced = items(list).iter().any(|device| {
        !absent(&device["taints"]) || !absent(&device["consumesCounters"]) || has_lists(device)
    });
    let most = if is_advanced { MOST_ADVANCED_DEVICES } else { MOST_DEVICES };
    let per_device = spec["perDeviceNodeSelection"] == true;
    each_unique(list, most, by("name"), at, errors, |one, at, errors| {
        let before = old.and_then(|old| items(&old["devices"]).iter().find(|old| old["name"] == one["name"]));
        device(one, before, per_device, at, errors);
    });
}

/// Whether an attribute of a device is a list.
fn has_lists(device: &Value) -> bool {
    let mut attributes = device["attributes"].as_object().into_iter().flatten();
    attributes.any(|(_, value)| {
        ["bools", "ints", "strings", "versions"].iter().any(|field| !value[*field].is_null())
    })
}

/// Warns about capital letters in the name of the driver.
pub(in crate::kinds::validation) fn warn(
    object: &Value,
    _old: Option<&Value>,
    _minor: u32,
    warnings: &mut Vec<String>,
) {
    let driver = text(&object["spec"]["driver"]);
    if driver != driver.to_lowercase() {
        let shown = crate::gotext::quote(driver);
        warnings.push(format!(
            "spec.driver: driver names should be lowercase; {shown} contains uppercase characters"
        ));
    }
}

//! Validation of the status of claims (`ValidateResourceClaimStatusUpdate`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::claim::{MOST_REQUESTS, RequestNames, immutable};
use super::collections::{by, each, each_unique};
use super::configuration::{MOST_CONFIGURATIONS, configuration, data};
use super::{binding, names};
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::networking::ip;
use crate::kinds::validation::{Errors, Path, absent, conditions, items, node_selector, one_of, text};

const MOST_CONSUMERS: usize = 256;
const MOST_CONDITIONS: usize = 8;
const MOST_ADDRESSES: usize = 16;
/// Maximum lengths of the name and the hardware address of a network interface.
const LONGEST_INTERFACE: usize = 256;
const LONGEST_ADDRESS: usize = 128;

/// Validates the status of a claim.
pub(in crate::kinds::validation) fn status(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("status");
    let (status, old) = (&object["status"], old.map_or(&Value::Null, |old| &old["status"]));
    let list = at.child("reservedFor");
    each_unique(&status["reservedFor"], MOST_CONSUMERS, by("uid"), list, errors, consumer);
    devices(status, at.child("devices"), errors);
    let is_deleted = !object["metadata"]["deletionTimestamp"].is_null();
    reservation(status, old, is_deleted, list, errors);
    let place = at.child("allocation");
    match (&status["allocation"], &old["allocation"]) {
        (Value::Null, _) => {}
        (new, Value::Null) => {
            allocation(new, &RequestNames::of(&object["spec"]["devices"]), place, errors);
        }
        (new, old) => immutable(new, old, "AllocationResult", place, errors),
    }
}

fn consumer(reference: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["resource", "name", "uid"] {
        if absent(&reference[field]) {
            errors.required(at.child(field), "");
        }
    }
}

/// Only an allocated claim is reserved, and a deleted one gets no new consumers.
fn reservation(status: &Value, old: &Value, is_deleted: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    let consumers = items(&status["reservedFor"]);
    let before = items(&old["reservedFor"]);
    if consumers.is_empty() {
        return;
    }
    if status["allocation"].is_null() {
        errors.forbidden(at, "may not be specified when `allocated` is not set");
    } else if is_deleted && consumers.iter().any(|one| !before.contains(one)) {
        let why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        errors.forbidden(at, why);
    }
}

/// The identity of a device and the share of it (`SharedDeviceID`), as JSON.
fn identity(device: &Value) -> String {
    internal_form(device, "SharedDeviceID")
}

/// Validates what drivers report about allocated devices.
fn devices(status: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let results = items(&status["allocation"]["devices"]["results"]);
    let allocated: BTreeSet<String> = results.iter().map(identity).collect();
    let mut seen = BTreeSet::new();
    let list = items(&status["devices"]);
    for (index, device) in list.iter().enumerate() {
        report(device, &allocated, at.index(index), errors);
    }
    for (index, key) in list.iter().map(identity).enumerate() {
        if !seen.insert(key.clone()) {
            errors.duplicate_of(at.index(index), key.clone(), key, "");
        }
    }
}

/// Validates the report about one device (`validateDeviceStatus`).
fn report(device: &Value, allocated: &BTreeSet<String>, at: Path<'_>, errors: &mut Errors<'_>) {
    identified(device, at, errors);
    if let Some(share) = device["shareID"].as_str() {
        names::uid(share, at.child("shareID"), errors);
    }
    let shown = identity(device);
    if !allocated.contains(&shown) {
        errors.invalid_shown(at, shown.clone(), shown, "must be an allocated device in the claim");
    }
    let place = at.child("conditions");
    let count = items(&device["conditions"]).len();
    if count > MOST_CONDITIONS {
        errors.too_many(place, count, MOST_CONDITIONS);
    }
    conditions::check(&device["conditions"], place, errors);
    if !device["data"].is_null() {
        data(&device["data"], false, at.child("data"), errors);
    }
    network(&device["networkData"], at.child("networkData"), errors);
}

/// Requires the names that identify a device.
fn identified(device: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    names::driver(text(&device["driver"]), at.child("driver"), errors);
    names::pool(text(&device["pool"]), at.child("pool"), errors);
    names::label(text(&device["device"]), at.child("device"), errors);
}

/// Validates the data of a network interface (`validateNetworkDeviceData`).
fn network(network: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for (field, longest) in [("interfaceName", LONGEST_INTERFACE), ("hardwareAddress", LONGEST_ADDRESS)] {
        if text(&network[field]).len() > longest {
            errors.too_long(at.child(field), longest as u64);
        }
    }
    let key = |address: &Value| text(address).to_owned();
    each_unique(&network["ips"], MOST_ADDRESSES, key, at.child("ips"), errors, |address, at, errors| {
        ip::check_interface(text(address), at, errors);
    });
}

/// Validates a new allocation (`validateAllocationResult`).
fn allocation(allocation: &Value, requests: &RequestNames<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = at.child("devices");
    let devices = &allocation["devices"];
    each(&devices["results"], MOST_REQUESTS, place.child("results"), errors, |result, at, errors| {
        requests.reference(text(&result["request"]), at.child("request"), errors);
        identified(result, at, errors);
        binding::conditions(result, at, errors);
        if let Some(share) = result["shareID"].as_str() {
            names::uid(share, at.child("shareID"), errors);
        }
    });
    // Configurations of the classes and of the claim.
    let most = 2 * MOST_CONFIGURATIONS;
    each(&devices["config"], most, place.child("config"), errors, |config, at, errors| {
        one_of(&config["source"], &["FromClaim", "FromClass"], at.child("source"), errors);
        requests.references(&config["requests"], at.child("requests"), errors);
        configuration(config, false, at, errors);
    });
    if !allocation["nodeSelector"].is_null() {
        node_selector::check(&allocation["nodeSelector"], at.child("nodeSelector"), errors);
    }
}

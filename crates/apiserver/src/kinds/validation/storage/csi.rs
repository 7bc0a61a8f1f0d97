//! Validation of the objects of CSI drivers (`ValidateCSIDriver`, `ValidateCSINode`,
//! `ValidateCSIStorageCapacity`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{class_name, driver_name, quantity};
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::{
    Errors, NON_NEGATIVE, Path, absent, immutable, items, non_negative, one_of_if_set, selector, text,
};
use crate::names::{self, labels};
use crate::profile::since;
use crate::repeats::repeated;

const GROUP_POLICIES: [&str; 3] = ["File", "None", "ReadWriteOnceWithFSType"];
const MOST_NODE_BYTES: usize = 256;
/// The shortest life of a token in seconds.
const LEAST_SECONDS: i64 = 600;

pub(in crate::kinds::validation) fn driver(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    one_of_if_set(&spec["fsGroupPolicy"], &GROUP_POLICIES, at.child("fsGroupPolicy"), errors);
    tokens(&spec["tokenRequests"], at.child("tokenRequests"), errors);
    let modes = at.child("volumeLifecycleModes");
    for mode in items(&spec["volumeLifecycleModes"]).iter().map(text) {
        if !["Persistent", "Ephemeral"].contains(&mode) {
            errors.unsupported(modes, mode, &["Persistent", "Ephemeral"]);
        }
    }
    if let Some(seconds) = spec["nodeAllocatableUpdatePeriodSeconds"].as_i64().filter(|given| *given < 10) {
        let place = at.child("nodeAllocatableUpdatePeriodSeconds");
        errors.invalid(place, seconds, "must be greater than or equal to 10 seconds");
    }
    let in_secrets = &spec["serviceAccountTokenInSecrets"];
    if !in_secrets.is_null() && absent(&spec["tokenRequests"]) {
        let why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.invalid(at.child("serviceAccountTokenInSecrets"), in_secrets.clone(), why);
    }
    let Some(old) = old.map(|old| &old["spec"]) else { return };
    let attached = at.child("attachedRequired");
    immutable(&spec["attachRequired"], Some(&old["attachRequired"]), attached, errors);
    immutable(&spec["volumeLifecycleModes"], Some(&old["volumeLifecycleModes"]), modes, errors);
}

/// Validates the requested tokens, one for each audience (`validateTokenRequests`).
fn tokens(requests: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut seen = BTreeSet::new();
    for (index, request) in items(requests).iter().enumerate() {
        let at = at.index(index);
        if !seen.insert(text(&request["audience"])) {
            errors.duplicate(at.child("audience"), text(&request["audience"]));
            continue;
        }
        let Some(seconds) = request["expirationSeconds"].as_i64() else { continue };
        let at = at.child("expirationSeconds");
        if seconds < LEAST_SECONDS {
            errors.invalid(at, seconds, "may not specify a duration less than 10 minutes");
        }
        if seconds > 1 << 32 {
            errors.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds");
        }
    }
}

pub(in crate::kinds::validation) fn node(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let list = at.child("drivers");
    let drivers = items(&object["spec"]["drivers"]);
    let is_repeated = repeated(drivers.iter().map(|driver| text(&driver["name"])));
    for (index, driver) in drivers.iter().enumerate() {
        let at = list.index(index);
        node_driver(driver, at, errors);
        if is_repeated[index] {
            errors.duplicate(at.child("name"), text(&driver["name"]));
        }
    }
    let mut by_name: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for driver in drivers {
        by_name.entry(text(&driver["name"])).or_default().push(driver);
    }
    for stored in old.map(|old| items(&old["spec"]["drivers"])).unwrap_or_default() {
        for driver in by_name.get(text(&stored["name"])).into_iter().flatten() {
            fixed_driver(driver, stored, list, errors);
        }
    }
}

/// Forbids changes of a driver; its limits may change since `since::MUTABLE_LIMITS`.
fn fixed_driver(driver: &Value, old: &Value, list: Path<'_>, errors: &mut Errors<'_>) {
    let mutable = errors.profile.minor >= since::MUTABLE_LIMITS;
    let same = |field: &&str| driver[*field] == old[*field];
    let fixed = ["nodeID", "topologyKeys"].iter().all(same);
    if !fixed || !(mutable || same(&"allocatable")) {
        // A real server clears the limits before it compares drivers.
        let mut driver = driver.clone();
        driver["allocatable"] = Value::Null;
        let shown = internal_form(&driver, "CSINodeDriver");
        errors.invalid_shown(list, shown.clone(), shown, "field is immutable");
    }
}

/// Validates a driver of a node (`validateCSINodeDriver`).
fn node_driver(driver: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    driver_name(text(&driver["name"]), at.child("name"), errors);
    let node = text(&driver["nodeID"]);
    match node.len() {
        0 => errors.required(at.child("nodeID"), ""),
        1..=MOST_NODE_BYTES => {}
        _ => {
            let why = format!("must be {MOST_NODE_BYTES} characters or less");
            errors.invalid(at.child("nodeID"), node, why);
        }
    }
    let allocatable = at.child("allocatable");
    non_negative(&driver["allocatable"]["count"], allocatable.child("count"), errors);
    let keys = items(&driver["topologyKeys"]);
    let is_repeated = repeated(keys.iter().map(text));
    for (index, key) in keys.iter().enumerate() {
        if text(key).is_empty() {
            errors.required(at, "");
        }
        if is_repeated[index] {
            errors.duplicate(at, text(key));
        }
        errors.each(at, text(key), labels::label_key(text(key)));
    }
}

pub(in crate::kinds::validation) fn capacity(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = |field| Path::Root.child(field);
    if object["nodeTopology"].is_object() {
        selector::check(&object["nodeTopology"], at("nodeTopology"), errors);
    }
    match text(&object["storageClassName"]) {
        "" => errors.each(at("storageClassName"), "", names::subdomain("")),
        _ => class_name(&object["storageClassName"], at("storageClassName"), errors),
    }
    if quantity(&object["capacity"]).is_some_and(Quantity::is_negative) {
        errors.invalid(at("capacity"), text(&object["capacity"]), NON_NEGATIVE);
    }
    let Some(old) = old else { return };
    selector::immutable(&object["nodeTopology"], Some(&old["nodeTopology"]), at("nodeTopology"), errors);
    let class = json!(text(&object["storageClassName"]));
    immutable(&class, Some(&json!(text(&old["storageClassName"]))), at("storageClassName"), errors);
}

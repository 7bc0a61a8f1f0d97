//! Validation of storage classes and classes of volume attributes (`ValidateStorageClass`,
//! `ValidateVolumeAttributesClass`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::kinds::validation::{Errors, Path, absent, immutable, items, one_of, one_of_if_given, text};
use crate::names::labels;
use crate::profile::since;

const MOST_PARAMETERS: usize = 512;
const MOST_PARAMETER_BYTES: usize = 256 * 1024;

pub(in crate::kinds::validation) fn storage(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = |field| Path::Root.child(field);
    driver(&object["provisioner"], at("provisioner"), errors);
    parameters(&object["parameters"], at("parameters"), errors);
    one_of_if_given(&object["reclaimPolicy"], &["Delete", "Retain"], at("reclaimPolicy"), errors);
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of(&object["volumeBindingMode"], &modes, at("volumeBindingMode"), errors);
    topologies(&object["allowedTopologies"], at("allowedTopologies"), errors);
    let Some(old) = old else { return };
    for field in ["parameters", "provisioner"] {
        if errors.profile.minor < since::STORAGE_CLASS_IMMUTABLE {
            forbid_update(object, old, field, errors);
        } else {
            immutable(&object[field], Some(&old[field]), at(field), errors);
        }
    }
    for field in ["reclaimPolicy", "volumeBindingMode"] {
        immutable(&object[field], Some(&old[field]), at(field), errors);
    }
}

pub(in crate::kinds::validation) fn attributes(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = |field| Path::Root.child(field);
    if let Some(old) = old {
        forbid_update(object, old, "driverName", errors);
        forbid_update(object, old, "parameters", errors);
    }
    driver(&object["driverName"], at("driverName"), errors);
    parameters(&object["parameters"], at("parameters"), errors);
    if absent(&object["parameters"]) {
        errors.required(at("parameters"), "must contain at least one key/value pair");
    }
}

fn forbid_update(object: &Value, old: &Value, field: &str, errors: &mut Errors<'_>) {
    if object[field] != old[field] {
        let why = format!("updates to {field} are forbidden.");
        errors.forbidden(Path::Root.child(field), why);
    }
}

/// Validates the name of a provisioner (`validateProvisioner`).
fn driver(name: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    match text(name) {
        "" => errors.required(at, ""),
        name => {
            let name = name.to_lowercase();
            errors.each(at, &name, labels::label_key(&name));
        }
    }
}

/// Limits the number and size of parameters, and requires keys (`validateParameters`).
fn parameters(parameters: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(parameters) = parameters.as_object() else { return };
    if parameters.len() > MOST_PARAMETERS {
        errors.too_long(at, MOST_PARAMETERS as u64);
        return;
    }
    if parameters.contains_key("") {
        errors.invalid(at, "", "field can not be empty.");
    }
    let size: usize = parameters.iter().map(|(key, value)| key.len() + text(value).len()).sum();
    if size > MOST_PARAMETER_BYTES {
        errors.too_long(at, MOST_PARAMETER_BYTES as u64);
    }
}

/// Validates the topologies, which must differ from each other (`validateAllowedTopologies`).
fn topologies(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut seen: Vec<BTreeMap<&str, BTreeSet<&str>>> = Vec::new();
    for (index, term) in items(list).iter().enumerate() {
        let at = at.index(index);
        let list = at.child("matchLabelExpressions");
        let mut expressions = BTreeMap::new();
        for (index, one) in items(&term["matchLabelExpressions"]).iter().enumerate() {
            let at = list.index(index);
            let (key, values) = (text(&one["key"]), topology_values(one, at, errors));
            if expressions.insert(key, values).is_some() {
                errors.duplicate(at.child("key"), key);
            }
        }
        if seen.contains(&expressions) {
            errors.duplicate(list, "");
        }
        seen.push(expressions);
    }
}

/// Validates a requirement and returns its values (`validateTopologySelectorLabelRequirement`).
fn topology_values<'a>(one: &'a Value, at: Path<'_>, errors: &mut Errors<'_>) -> BTreeSet<&'a str> {
    let (list, mut values) = (at.child("values"), BTreeSet::new());
    if items(&one["values"]).is_empty() {
        errors.required(list, "");
    }
    for (index, value) in items(&one["values"]).iter().map(text).enumerate() {
        if !values.insert(value) {
            errors.duplicate(list.index(index), value);
        }
    }
    let key = text(&one["key"]);
    errors.each(at.child("key"), key, labels::label_key(key));
    values
}

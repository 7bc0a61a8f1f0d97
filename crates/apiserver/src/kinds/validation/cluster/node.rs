//! Validation of nodes (`ValidateNode`, `ValidateNodeUpdate`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gotext::quote;
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::internal::internal_form;
use crate::kinds::validation::networking::ip::{self, Range};
use crate::kinds::validation::resource_names::is_counted;
use crate::kinds::validation::{Errors, NON_NEGATIVE, Path, absent, items, one_of, text};
use crate::names::labels;
use crate::repeats::repeated;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(in crate::kinds::validation) fn node(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    common(object, errors);
    swap(&object["status"]["nodeInfo"]["swap"]["capacity"], errors);
    pod_ranges(&object["spec"]["podCIDRs"], errors);
    if old.is_some() {
        status(object, old, errors);
    }
}

/// Validates an update, of the status too. An update of the node repeats the checks of a new one, which shows in
/// the causes.
pub(in crate::kinds::validation) fn status(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    common(object, errors);
    let status = Path::Root.child("status");
    let (list, addresses) = (status.child("addresses"), items(&object["status"]["addresses"]));
    let is_repeated = repeated(addresses.iter().map(Value::to_string));
    for (index, address) in addresses.iter().enumerate() {
        if is_repeated[index] {
            let shown = internal_form(address, "NodeAddress");
            let syntax = format!(
                "core.NodeAddress{{Type:{}, Address:{}}}",
                quote(text(&address["type"])),
                quote(text(&address["address"]))
            );
            errors.duplicate_of(list.index(index), shown, syntax, "");
        }
    }
    if let Some(old) = old {
        fixed(&object["spec"], &old["spec"], errors);
    }
}

/// The checks of new and updated nodes.
fn common(object: &Value, errors: &mut Errors<'_>) {
    // A real server reports the taints under `metadata`.
    let metadata = Path::Root.child("metadata");
    taints(&object["spec"]["taints"], metadata.child("taints"), errors);
    let at = Path::Root.child("status");
    for list in ["capacity", "allocatable"] {
        let list_at = at.child(list);
        for (name, amount) in object["status"][list].as_object().into_iter().flatten() {
            resource(name, amount, list_at.child(name), errors);
        }
    }
    features(items(&object["status"]["declaredFeatures"]), at.child("declaredFeatures"), errors);
}

/// Validates an amount of a resource (`ValidateResourceQuantityValue`).
fn resource(name: &str, amount: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(given) = amount.as_str().and_then(|text| Quantity::parse(text).ok().flatten()) else { return };
    if given.is_negative() {
        errors.invalid(at, given.text(), NON_NEGATIVE);
    }
    if is_counted(name) && !given.is_whole() {
        errors.invalid(at, given.text(), "must be an integer");
    }
}

fn swap(capacity: &Value, errors: &mut Errors<'_>) {
    if let Some(capacity) = capacity.as_i64().filter(|capacity| *capacity <= 0) {
        let metadata = Path::Root.child("metadata");
        let swap = metadata.child("nodeSwapStatus");
        errors.invalid(swap.child("capacity"), capacity, "must be greater than zero");
    }
}

/// Validates the features that the kubelet declares: names in order (`validateNodeDeclaredFeatures`).
fn features(features: &[Value], at: Path<'_>, errors: &mut Errors<'_>) {
    for (index, name) in features.iter().map(text).enumerate() {
        let good = |part: &str, first: bool| {
            part.bytes().all(|b| b.is_ascii_alphanumeric())
                && part.bytes().next().is_some_and(|b| !first || b.is_ascii_uppercase())
        };
        if !name.split('/').enumerate().all(|(index, part)| good(part, index == 0)) {
            let why = format!(
                "invalid feature name {}: must start with an UpperCamelCase segment, with subsequent segments \
                 separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric \
                 characters and slashes",
                quote(name)
            );
            errors.invalid(at.index(index), name, why);
        }
        match features.get(index + 1).map(text) {
            Some(next) if next == name => errors.duplicate(at.index(index + 1), next),
            Some(next) if next < name => {
                errors.invalid(at.index(index + 1), next, "list must be sorted alphabetically");
            }
            _ => {}
        }
    }
}

/// The ranges of pods are valid, two of them of different families.
fn pod_ranges(ranges: &Value, errors: &mut Errors<'_>) {
    let spec = Path::Root.child("spec");
    let list = spec.child("podCIDRs");
    let given = items(ranges);
    for (index, range) in given.iter().enumerate() {
        ip::check_range(text(range), list.index(index), errors);
    }
    let families: Vec<bool> =
        given.iter().filter_map(|range| Range::parse(text(range))).map(|range| range.is_v6()).collect();
    let is_dual = families.len() == given.len() && families.contains(&true) && families.contains(&false);
    if given.len() > 2 || given.len() == 2 && !is_dual {
        let why = "may specify no more than one CIDR for each IP family";
        errors.invalid_list(list, ranges, "string", why);
    }
}

/// The ranges of pods and the provider's name for the node are set once.
fn fixed(new: &Value, old: &Value, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let (ranges, before) = (items(&new["podCIDRs"]), items(&old["podCIDRs"]));
    let changes = if before.is_empty() {
        0
    } else if ranges.len() != before.len() {
        1
    } else {
        ranges.iter().zip(before).filter(|(new, old)| new != old).count()
    };
    for _ in 0..changes {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.forbidden(at.child("podCIDRs"), why);
    }
    if !absent(&old["providerID"]) && new["providerID"] != old["providerID"] {
        let why = "node updates may not change providerID except from \"\" to valid";
        errors.forbidden(at.child("providerID"), why);
    }
    if text(&new["externalID"]) != text(&old["externalID"]) {
        errors.forbidden(at.child("externalID"), "may not be updated");
    }
}

fn taints(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut seen = BTreeSet::new();
    for (index, taint) in items(list).iter().enumerate() {
        let at = at.index(index);
        let (key, value, effect) = (text(&taint["key"]), text(&taint["value"]), text(&taint["effect"]));
        errors.each(at.child("key"), key, labels::label_key(key));
        let wrong = labels::label_value(value);
        if !wrong.is_empty() {
            errors.invalid(at.child("value"), value, wrong.join(";"));
        }
        one_of(&taint["effect"], &EFFECTS, at.child("effect"), errors);
        if !seen.insert((key, effect)) {
            duplicate_taint(taint, at, errors);
        }
    }
}

/// Reports a repeated taint as Go prints the internal struct, in the order of its fields.
fn duplicate_taint(taint: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (key, value, effect) = (text(&taint["key"]), text(&taint["value"]), text(&taint["effect"]));
    let added = &taint["timeAdded"];
    let shown = format!(
        "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{added}}}",
        json!(key),
        json!(value),
        json!(effect)
    );
    let time = if added.is_null() { "<nil>".to_owned() } else { added.to_string() };
    let syntax = format!(
        "core.Taint{{Key:{}, Value:{}, Effect:{}, TimeAdded:{time}}}",
        quote(key),
        quote(value),
        quote(effect)
    );
    errors.duplicate_of(at, shown, syntax, "taints must be unique by key and effect pair");
}

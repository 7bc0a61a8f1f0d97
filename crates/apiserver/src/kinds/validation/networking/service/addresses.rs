//! Validation of the cluster IPs of a service and their families (`ValidateServiceClusterIPsRelatedFields`).

use serde_json::Value;

use super::super::ip;
use super::is_headless;
use crate::kinds::validation::{Errors, Path, items, text};
use crate::repeats::repeated;

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/// Validates the fields of the addresses against each other. `old` is the stored specification.
pub(crate) fn check(spec: &Value, errors: &mut Errors<'_>, old: Option<&Value>) {
    if spec["type"] == "ExternalName" {
        return;
    }
    let at = Path::Root.child("spec");
    let (list, addresses) = (at.child("clusterIPs"), items(&spec["clusterIPs"]));
    let shown = || Value::Array(addresses.to_vec());
    match (text(&spec["clusterIP"]), addresses.first()) {
        ("", Some(_)) => {
            errors.invalid_list(list, &shown(), "string", "must be empty when `clusterIP` is not specified");
        }
        ("", None) => {}
        (_, None) => errors.required(list, ""),
        (one, Some(first)) if one != text(first) => {
            errors.invalid_list(list, &shown(), "string", "first value must match `clusterIP`");
        }
        _ => {}
    }
    families(spec, at, errors);
    let known = old.map(|old| items(&old["clusterIPs"])).unwrap_or_default();
    let mut valid = true;
    for (index, address) in addresses.iter().enumerate() {
        if index == 0 && address == "None" {
            if addresses.len() > 1 {
                valid = false;
                errors.invalid_list(list, &shown(), "string", "'None' must be the first and only value");
            }
        } else if !known.contains(address) {
            let before = errors.found.len();
            ip::check(text(address), list.index(index), errors);
            valid &= errors.found.len() == before;
        }
    }
    if addresses.len() > 2 {
        errors.invalid_list(list, &shown(), "string", "may only hold up to 2 values");
    }
    if valid {
        stacks(spec, addresses, list, errors);
    }
}

fn families(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (list, families) = (at.child("ipFamilies"), items(&spec["ipFamilies"]));
    let is_repeated = repeated(families.iter().map(text));
    for (index, family) in families.iter().enumerate() {
        if !FAMILIES.contains(&text(family)) {
            errors.unsupported(list.index(index), text(family), &FAMILIES);
        }
        if is_repeated[index] {
            errors.duplicate(list.index(index), text(family));
        }
    }
    if let Some(policy) = spec["ipFamilyPolicy"].as_str().filter(|policy| !POLICIES.contains(policy)) {
        errors.unsupported(at.child("ipFamilyPolicy"), policy, &POLICIES);
    }
}

/// Two addresses have different families, and each has the family at its place.
fn stacks(spec: &Value, addresses: &[Value], list: Path<'_>, errors: &mut Errors<'_>) {
    let has = |v6: bool| addresses.iter().any(|address| ip::is_v6(text(address)) == v6);
    if addresses.len() > 1 && !(has(true) && has(false)) {
        let why = "may specify no more than one IP for each IP family";
        errors.invalid(list, Value::Array(addresses.to_vec()), why);
    }
    if is_headless(spec) {
        return;
    }
    for (index, (address, family)) in addresses.iter().zip(items(&spec["ipFamilies"])).enumerate() {
        let (address, family) = (text(address), text(family));
        if FAMILIES.contains(&family) && ip::is_v6(address) != (family == "IPv6") {
            let why = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            errors.invalid(list.index(index), address, why);
        }
    }
}

/// The first address and family stay, and an update removes a second one only with the policy `SingleStack`
/// (`validateUpgradeDowngradeClusterIPs`, `validateUpgradeDowngradeIPFamilies`).
pub(super) fn check_update(spec: &Value, old: &Value, errors: &mut Errors<'_>) {
    if spec["type"] == "ExternalName" || old["type"] == "ExternalName" {
        return;
    }
    let (headless, was_headless) = (is_headless(spec), is_headless(old));
    if !(headless && was_headless) {
        kept(spec, old, ("clusterIPs", "clusterIP"), errors);
    }
    if !headless && !was_headless {
        kept(spec, old, ("ipFamilies", "ipFamily"), errors);
    }
}

fn kept(spec: &Value, old: &Value, (field, singular): (&str, &str), errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let list = at.child(field);
    let (new, before) = (items(&spec[field]), items(&old[field]));
    let shown = |field: &str| Value::Array(items(&spec[field]).to_vec());
    if new.len() == before.len() {
        for (index, _) in new.iter().zip(before).enumerate().filter(|(_, (new, before))| new != before) {
            // The real server reports each changed family at the first place.
            let index = if field == "ipFamilies" { 0 } else { index };
            errors.invalid(list.index(index), shown(field), "may not change once set");
        }
        return;
    }
    let downgraded = before.len() > new.len();
    if downgraded && items(&spec["clusterIPs"]).is_empty() {
        let why = format!("primary {singular} can not be unset");
        errors.invalid(list.index(0), shown(field), why);
    }
    if let (Some(new), Some(before)) = (new.first(), before.first())
        && new != before
    {
        errors.invalid(list.index(0), shown("clusterIPs"), "may not change once set");
    }
    if downgraded && new.len() == 1 && spec["ipFamilyPolicy"] != "SingleStack" {
        let why = format!("must be set to 'SingleStack' when releasing the secondary {singular}");
        errors.invalid(at.child("ipFamilyPolicy"), spec["ipFamilyPolicy"].clone(), why);
    }
}

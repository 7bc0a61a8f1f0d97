//! Validation of the objects that record the addresses of services: IPAddress and ServiceCIDR
//! (`ValidateIPAddress`, `ValidateServiceCIDR`).

use serde_json::{Value, json};

use super::ip::{self, Range};
use crate::kinds::validation::{Errors, Path, immutable_as, items, text};
use crate::names;

const IMMUTABLE: &str = "field is immutable";

/// Validates an IPAddress, except for its name.
pub(in crate::kinds::validation) fn ip_address(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let spec = Path::Root.child("spec");
    let at = spec.child("parentRef");
    let parent = &object["spec"]["parentRef"];
    check_parent(parent, at, errors);
    if let Some(old) = old {
        immutable_as("?ParentReference", parent, Some(&old["spec"]["parentRef"]), at, errors);
    }
}

/// Validates the reference to the object that has the address (`validateIPAddressParentReference`).
fn check_parent(parent: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if !parent.is_object() {
        errors.required(at, "");
        return;
    }
    let group = text(&parent["group"]);
    if !group.is_empty() {
        errors.each(at.child("group"), group, names::subdomain(group));
    }
    for field in ["resource", "name", "namespace"] {
        match text(&parent[field]) {
            "" if field == "namespace" => {}
            "" => errors.required(at.child(field), ""),
            given => errors.each(at.child(field), given, names::path_segment(given)),
        }
    }
}

/// Validates the ranges of a ServiceCIDR.
pub(in crate::kinds::validation) fn service_cidr(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let spec = Path::Root.child("spec");
    let list = spec.child("cidrs");
    let ranges = items(&object["spec"]["cidrs"]);
    let Some(old) = old.map(|old| items(&old["spec"]["cidrs"])) else {
        check_ranges(ranges, list, errors);
        return;
    };
    if old.len() != ranges.len() && (old.len(), ranges.len()) != (1, 2) {
        errors.invalid(list, json!(ranges), IMMUTABLE);
        return;
    }
    for (index, (range, old)) in ranges.iter().zip(old).enumerate() {
        if range != old {
            errors.invalid(list.index(index), range.clone(), IMMUTABLE);
        }
    }
    // A second family may be added.
    if old.len() < ranges.len() {
        check_ranges(ranges, list, errors);
    }
}

fn check_ranges(ranges: &[Value], list: Path<'_>, errors: &mut Errors<'_>) {
    match ranges.len() {
        0 => return errors.required(list, "at least one CIDR required"),
        1 | 2 => {}
        _ => {
            let shown = format!("{{\"CIDRs\":{}}}", json!(ranges));
            return errors.invalid_shown(list, shown.clone(), shown, "may only hold up to 2 values");
        }
    }
    for (index, range) in ranges.iter().enumerate() {
        ip::check_canonical_range(text(range), list.index(index), errors);
    }
    if let [first, second] = ranges
        && let (Some(first), Some(second)) = (Range::parse(text(first)), Range::parse(text(second)))
        && first.is_v6() == second.is_v6()
    {
        let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.invalid(list, json!(ranges), why);
    }
}

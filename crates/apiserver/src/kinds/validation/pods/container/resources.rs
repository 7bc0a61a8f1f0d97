//! Validation of the resources of containers and pods.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::restarts::is_sidecar;
use crate::kinds::quantity::Quantity;
use crate::kinds::validation::pods::context::Pod;
use crate::kinds::validation::pods::names::plain_label;
use crate::kinds::validation::resource_names::{
    HUGE_PAGES, container_resource_name, is_counted, is_huge_page, is_overcommittable, pod_resource_name,
};
use crate::kinds::validation::{Errors, NON_NEGATIVE, Path, items, text};

type NameRule = fn(&str, Path<'_>, &mut Errors<'_>);

fn amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(text(value)).ok().flatten()
}

/// Validates the resources of a container; without a pod, those of an overhead
/// (`ValidateContainerResourceRequirements`).
pub(in crate::kinds::validation::pods) fn container_requirements(
    resources: &Value,
    pod: Option<&Pod<'_>>,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    requirements(resources, container_resource_name, at, errors);
    claims(&resources["claims"], pod, at.child("claims"), errors);
}

/// Validates the resources that pods take beyond those of their containers (`validateOverhead`).
pub(in crate::kinds::validation) fn overhead(amounts: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    requirements(&serde_json::json!({ "limits": amounts }), container_resource_name, at, errors);
}

/// Validates limits and requests (`validateResourceRequirements`).
fn requirements(resources: &Value, name_rule: NameRule, at: Path<'_>, errors: &mut Errors<'_>) {
    let (mut has_compute, mut has_huge_pages) = (false, false);
    for list in ["limits", "requests"] {
        let list_at = at.child(list);
        for (name, value) in resources[list].as_object().into_iter().flatten() {
            let at = list_at.key(name);
            name_rule(name, at, errors);
            resource_amount(name, value, at, errors);
            has_huge_pages |= is_huge_page(name);
            has_compute |= matches!(&**name, "cpu" | "memory");
        }
    }
    for (name, value) in resources["requests"].as_object().into_iter().flatten() {
        request_within_limit(name, value, &resources["limits"][name], at, errors);
    }
    if has_huge_pages && !has_compute {
        errors.forbidden(at, "HugePages require cpu or memory");
    }
}

/// Requires an amount that suits its resource (`ValidateResourceQuantityValue`).
pub(super) fn resource_amount(name: &str, value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let Some(quantity) = amount(value) else { return };
    if quantity.is_negative() {
        errors.invalid(at, text(value), NON_NEGATIVE);
    }
    if is_counted(name) && !quantity.in_thousandths().is_whole() {
        errors.invalid(at, text(value), "must be an integer");
    }
    if is_huge_page(name) && !is_multiple(name, quantity) {
        let why = format!("{} is not positive integer multiple of {name}", text(value));
        errors.invalid(at, text(value), why);
    }
}

/// Whether an amount of huge pages is a number of whole pages (`IsHugePageResourceValueDivisible`).
fn is_multiple(name: &str, quantity: Quantity) -> bool {
    let size = Quantity::parse(name.strip_prefix(HUGE_PAGES).unwrap_or_default()).ok().flatten();
    size.is_some_and(|size| size.is_whole() && size.is_more(Quantity::ZERO) && quantity.is_multiple_of(size))
}

/// Requires a request within its limit, which must equal the request of a resource without overcommitment.
fn request_within_limit(name: &str, value: &Value, limit: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (Some(request), most) = (amount(value), amount(limit)) else { return };
    match most {
        Some(most) if request.compare(most).is_ne() && !is_overcommittable(name) => {
            let why = format!("must be equal to {name} limit of {}", text(limit));
            errors.invalid(at.child("requests"), text(value), why);
        }
        Some(most) if request.is_more(most) => {
            let why = format!("must be less than or equal to {name} limit of {}", text(limit));
            errors.invalid(at.child("requests"), text(value), why);
        }
        None if limit.is_null() && !is_overcommittable(name) => {
            errors.required(at.child("limits"), "Limit must be set for non overcommitable resources");
        }
        _ => {}
    }
}

/// Requires resource claims of the pod (`validateResourceClaimNames`).
fn claims(list: &Value, pod: Option<&Pod<'_>>, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(list);
    // The requests of each claim so far.
    let mut seen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut pairs = BTreeSet::new();
    let known = shown_claims(pod);
    for (index, claim) in list.iter().enumerate() {
        let at = at.index(index);
        let (name, request) = (text(&claim["name"]), text(&claim["request"]));
        if name.is_empty() {
            errors.required(at, "");
            continue;
        }
        let is_whole = pairs.contains(&(name, ""));
        let earlier = seen.entry(name).or_default();
        if !is_whole && !request.is_empty() {
            plain_label(&claim["request"], at.child("request"), errors);
        }
        if is_whole {
            errors.duplicate(at, name);
        } else if pairs.contains(&(name, request)) {
            errors.duplicate(at, format!("{name}/{request}"));
        } else if request.is_empty() {
            for _ in earlier.iter() {
                errors.duplicate(at, name);
            }
        }
        earlier.push(request);
        pairs.insert((name, request));
        if !pod.is_some_and(|pod| pod.claim_names().contains(name)) {
            let why = format!("must be one of the names in pod.spec.resourceClaims{known}");
            errors.not_found_among(at, name, why);
        }
    }
}

/// The most claims that an error lists. A real server lists all of them, in each error.
const MOST_SHOWN: usize = 100;

/// The claims of the pod, for errors.
fn shown_claims(pod: Option<&Pod<'_>>) -> String {
    let known = pod.map(|pod| pod.claim_names().iter().copied().collect::<Vec<_>>()).unwrap_or_default();
    match known.len() {
        0 => " which is empty".to_owned(),
        1..=MOST_SHOWN => format!(": {}", known.join(", ")),
        more => format!(": {} and {} more", known[..MOST_SHOWN].join(", "), more - MOST_SHOWN),
    }
}

/// Validates the resources of a pod as a whole (`validatePodResources`).
pub(in crate::kinds::validation::pods) fn pod_resources(
    pod: &Pod<'_>,
    at: Path<'_>,
    errors: &mut Errors<'_>,
) {
    let resources = &pod.spec()["resources"];
    if !resources.is_object() {
        return;
    }
    if pod.os() == Some("windows") {
        errors.forbidden(at, "may not be set for a windows pod");
        return;
    }
    if !resources["claims"].is_null() {
        errors.forbidden(at.child("claims"), "claims may not be set for Resources at pod-level");
    }
    requirements(resources, pod_resource_name, at, errors);
    claims(&resources["claims"], Some(pod), at.child("claims"), errors);
    fits_containers(pod, at, errors);
}

/// Requires that the containers fit into the resources of their pod (`validatePodResourceConsistency`).
fn fits_containers(pod: &Pod<'_>, at: Path<'_>, errors: &mut Errors<'_>) {
    let resources = &pod.spec()["resources"];
    for (list, only_huge_pages) in [("requests", false), ("limits", true)] {
        let what = list;
        let list_at = at.child(list);
        for (name, sum) in aggregate(pod.spec(), list) {
            let of_pod = &resources[list][name];
            if only_huge_pages && !is_huge_page(name) {
                continue;
            }
            if amount(of_pod).is_some_and(|of_pod| sum.is_more(of_pod)) {
                let why =
                    format!("must be greater than or equal to aggregate container {what} of {}", sum.text());
                errors.invalid(list_at.key(name), text(of_pod), why);
            }
        }
    }
    let containers = at.child("containers");
    for (index, container) in items(&pod.spec()["containers"]).iter().enumerate() {
        for (name, limit) in container["resources"]["limits"].as_object().into_iter().flatten() {
            let of_pod = &resources["limits"][name];
            let (Some(own), Some(most)) = (amount(limit), amount(of_pod)) else { continue };
            if own.is_more(most) {
                let why = format!("must be less than or equal to pod limits of {}", text(of_pod));
                errors.invalid(containers.index(index).key(name).child("limits"), text(limit), why);
            }
        }
    }
}

/// The resources that all containers need at once: the sum of those that run together, or the most that an init
/// container needs (`AggregateContainerRequests`, `AggregateContainerLimits`).
pub(in crate::kinds) fn aggregate<'a>(spec: &'a Value, list: &str) -> BTreeMap<&'a str, Quantity> {
    let mut total = BTreeMap::new();
    for container in items(&spec["containers"]) {
        add(&mut total, &container["resources"][list]);
    }
    let mut sidecars = BTreeMap::new();
    let mut most: BTreeMap<&str, Quantity> = BTreeMap::new();
    for container in items(&spec["initContainers"]) {
        let own = &container["resources"][list];
        let mut needed = sidecars.clone();
        add(&mut needed, own);
        if is_sidecar(container) {
            add(&mut total, own);
            sidecars.clone_from(&needed);
        }
        raise(&mut most, &needed);
    }
    raise(&mut total, &most);
    total
}

fn add<'a>(sum: &mut BTreeMap<&'a str, Quantity>, list: &'a Value) {
    for (name, value) in list.as_object().into_iter().flatten() {
        let Some(value) = amount(value) else { continue };
        sum.entry(name).and_modify(|sum| *sum = sum.plus(value)).or_insert(value);
    }
}

fn raise<'a>(list: &mut BTreeMap<&'a str, Quantity>, other: &BTreeMap<&'a str, Quantity>) {
    for (name, value) in other {
        let entry = list.entry(name).or_insert(*value);
        if value.is_more(*entry) {
            *entry = *value;
        }
    }
}

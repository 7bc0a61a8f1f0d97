//! Validation of services (`ValidateServiceCreate`, `ValidateServiceUpdate`).

pub(crate) mod addresses;
mod ports;
pub(crate) mod traffic;

use serde_json::Value;

use super::{ip, load_balancer};
use crate::kinds::validation::{Errors, Path, absent, items, one_of, text};
use crate::names;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
/// The longest session affinity: a day.
const MOST_AFFINITY_SECONDS: i64 = 86_400;

/// Whether the only cluster IP is `None` (`isHeadlessService`).
pub(super) fn is_headless(spec: &Value) -> bool {
    matches!(items(&spec["clusterIPs"]), [only] if only == "None")
}

pub(in crate::kinds::validation) fn service(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Root.child("spec");
    let (spec, before) = (&object["spec"], old.map(|old| &old["spec"]));
    if let Some(before) = before {
        addresses::check_update(spec, before, errors);
        traffic::check_update(spec, before, at, errors);
    }
    topology_annotations(&object["metadata"]["annotations"], errors);
    check_type(spec, at, errors);
    ports::check(spec, at, errors);
    super::label_map(&spec["selector"], at.child("selector"), errors);
    affinity(spec, at, errors);
    addresses::check(spec, errors, before);
    let list = at.child("externalIPs");
    for (index, address) in items(&spec["externalIPs"]).iter().enumerate() {
        if before.is_some_and(|before| items(&before["externalIPs"]).contains(address)) {
            ip::check_endpoint(text(address), list.index(index), errors);
            continue;
        }
        let count = errors.found.len();
        ip::check(text(address), list.index(index), errors);
        if errors.found.len() == count {
            ip::check_endpoint(text(address), list.index(index), errors);
        }
    }
    one_of(&spec["type"], &TYPES, at.child("type"), errors);
    ports::check_numbers(spec, at, errors);
    traffic::check(object, old, at, errors);
}

/// Validates a status write (`ValidateServiceStatusUpdate`).
pub(in crate::kinds::validation) fn status(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    load_balancer::service(object, old, errors);
}

/// The old and the new annotation for the topology must agree.
fn topology_annotations(annotations: &Value, errors: &mut Errors<'_>) {
    let (hints, mode) = (&annotations[HINTS], &annotations[MODE]);
    if !hints.is_null() && !mode.is_null() && hints != mode {
        let metadata = Path::Root.child("metadata");
        let list = metadata.child("annotations");
        let why = format!("must match annotations[{HINTS}] when both are specified");
        errors.invalid(list.key(MODE), text(mode), why);
    }
}

fn check_type(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (kind, headless) = (text(&spec["type"]), is_headless(spec));
    if items(&spec["ports"]).is_empty() && !headless && kind != "ExternalName" {
        errors.required(at.child("ports"), "");
    }
    match kind {
        "ExternalName" => external_name(spec, at, errors),
        "LoadBalancer" | "NodePort" if headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            errors.invalid(at.child("clusterIPs").index(0), "None", why);
        }
        _ => {}
    }
}

fn external_name(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !absent(&spec[field]) {
            errors.forbidden(at.child(field), "may not be set for ExternalName services");
        }
    }
    let name = text(&spec["externalName"]);
    match name.strip_suffix('.').unwrap_or(name) {
        "" => errors.required(at.child("externalName"), ""),
        name => errors.each(at.child("externalName"), name, names::subdomain(name)),
    }
}

fn affinity(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    one_of(&spec["sessionAffinity"], &["ClientIP", "None"], at.child("sessionAffinity"), errors);
    let config = &spec["sessionAffinityConfig"];
    let at = at.child("sessionAffinityConfig");
    match text(&spec["sessionAffinity"]) {
        "None" if !config.is_null() => {
            errors.forbidden(at, "must not be set when session affinity is None");
        }
        "ClientIP" => {
            let client = at.child("clientIP");
            let seconds = &config["clientIP"]["timeoutSeconds"];
            let why = "when session affinity type is ClientIP";
            match seconds.as_i64() {
                _ if config.is_null() => errors.required(at, why),
                _ if config["clientIP"].is_null() => errors.required(client, why),
                None => errors.required(client.child("timeoutSeconds"), why),
                Some(seconds) if !(1..=MOST_AFFINITY_SECONDS).contains(&seconds) => {
                    let why = format!("must be greater than 0 and less than {MOST_AFFINITY_SECONDS}");
                    errors.invalid(client.child("timeoutSeconds"), seconds, why);
                }
                Some(_) => {}
            }
        }
        _ => {}
    }
}

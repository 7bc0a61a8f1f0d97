//! Validation of how traffic reaches a service: load balancer, policies and distribution.

use serde_json::Value;

use super::super::{ip, port_number};
use crate::kinds::validation::{Errors, Path, absent, items, one_of_if_set, text};
use crate::names::labels;
use crate::profile::since;

const POLICIES: [&str; 2] = ["Cluster", "Local"];
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const ONLY_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

/// Whether clients outside the cluster can reach the service (`ExternallyAccessible`).
pub(crate) fn is_external(spec: &Value) -> bool {
    match text(&spec["type"]) {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !items(&spec["externalIPs"]).is_empty(),
        _ => false,
    }
}

/// Whether load balancers need a port for health checks (`NeedsHealthCheck`).
pub(crate) fn needs_health_check(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

/// Rejects changes of the class and the health check of a load balancer.
pub(super) fn check_update(spec: &Value, old: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let both = spec["type"] == "LoadBalancer" && old["type"] == "LoadBalancer";
    if both && spec["loadBalancerClass"] != old["loadBalancerClass"] {
        let given = spec["loadBalancerClass"].clone();
        errors.invalid(at.child("loadBalancerClass"), given, "may not change once set");
    }
    // The class is validated once more below, as in the real server.
    class(spec, at, errors);
    let changed = spec["healthCheckNodePort"] != old["healthCheckNodePort"];
    if needs_health_check(spec) && needs_health_check(old) && changed {
        errors.forbidden(at.child("healthCheckNodePort"), "field is immutable");
    }
}

pub(super) fn check(object: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let spec = &object["spec"];
    let is_balancer = spec["type"] == "LoadBalancer";
    source_ranges(object, old, at, errors);
    let allocates = &spec["allocateLoadBalancerNodePorts"];
    if !allocates.is_null() && !is_balancer {
        errors.forbidden(at.child("allocateLoadBalancerNodePorts"), ONLY_BALANCER);
    }
    class(spec, at, errors);
    external_policy(spec, at, errors);
    one_of_if_set(&spec["internalTrafficPolicy"], &POLICIES, at.child("internalTrafficPolicy"), errors);
    let known = if errors.profile.minor < since::NODE_DISTRIBUTION { 1 } else { 3 };
    let distribution = &spec["trafficDistribution"];
    if distribution.as_str().is_some_and(|given| !DISTRIBUTIONS[..known].contains(&given)) {
        let at = at.child("trafficDistribution");
        errors.unsupported(at, text(distribution), &DISTRIBUTIONS[..known]);
    }
}

/// Validates the class (`validateLoadBalancerClassField`).
fn class(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let at = at.child("loadBalancerClass");
    match spec["loadBalancerClass"].as_str() {
        None => {}
        Some(class) if spec["type"] == "LoadBalancer" => {
            errors.each(at, class, labels::label_key(class));
        }
        Some(_) => errors.forbidden(at, ONLY_BALANCER),
    }
}

/// Validates the policy and the port for health checks (`validateServiceExternalTrafficPolicy`).
fn external_policy(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = at.child("externalTrafficPolicy");
    let policy = text(&spec["externalTrafficPolicy"]);
    match is_external(spec) {
        true => super::one_of(&spec["externalTrafficPolicy"], &POLICIES, place, errors),
        false if policy.is_empty() => {}
        false => errors.invalid(place, policy, "may only be set for externally-accessible services"),
    }
    let place = at.child("healthCheckNodePort");
    let port = spec["healthCheckNodePort"].as_i64().unwrap_or(0);
    match (needs_health_check(spec), port) {
        (true, 0) => errors.required(place, ""),
        (false, 0) => {}
        (true, _) => port_number(port, place, errors),
        (false, _) => {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.invalid(place, port, why);
        }
    }
}

/// Validates the ranges of clients, in the field or in the annotation that it replaced. A stored range need not be
/// valid.
fn source_ranges(object: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let (ranges, annotation) =
        (&object["spec"]["loadBalancerSourceRanges"], &object["metadata"]["annotations"][RANGES]);
    let is_balancer = object["spec"]["type"] == "LoadBalancer";
    if !absent(ranges) {
        let list = at.child("LoadBalancerSourceRanges");
        if !is_balancer {
            errors.forbidden(list, ONLY_BALANCER);
        }
        let known = |range: &str| {
            let before = old.map(|old| items(&old["spec"]["loadBalancerSourceRanges"])).unwrap_or_default();
            before.iter().any(|stored| text(stored).trim() == range)
        };
        let ranges = items(ranges).iter().map(|range| text(range).trim()).enumerate();
        for (index, range) in ranges.filter(|(_, range)| !known(range)) {
            ip::check_range(range, list.index(index), errors);
        }
    } else if let Some(value) = annotation.as_str() {
        let metadata = Path::Root.child("metadata");
        let list = metadata.child("annotations");
        let at = list.key(RANGES);
        if !is_balancer {
            errors.forbidden(at, ONLY_BALANCER);
        }
        let changed = old.is_none_or(|old| old["metadata"]["annotations"][RANGES] != *annotation);
        if changed && !value.trim().is_empty() {
            value.split(',').for_each(|range| ip::check_range(range.trim(), at, errors));
        }
    }
}

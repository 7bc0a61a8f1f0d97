//! Warnings about accepted network kinds (`WarningsOnCreate`, `WarningsOnUpdate`).

use serde_json::Value;

use super::{ip, network_policy};
use crate::kinds::validation::{Path, absent, items, text};
use crate::profile::since;

const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const MANAGED_SLICE: &str = "endpointslice.kubernetes.io/managed-by";
const MANAGED_ENDPOINTS: &str = "endpoints.kubernetes.io/managed-by";
const CLASS: &str = "kubernetes.io/ingress.class";

/// Warnings about a service (`GetWarningsForService`).
pub(in crate::kinds::validation) fn service(
    object: &Value,
    _old: Option<&Value>,
    minor: u32,
    warnings: &mut Vec<String>,
) {
    let spec = &object["spec"];
    if !object["metadata"]["annotations"][HINTS].is_null() && minor >= since::TOPOLOGY_MODE {
        warnings.push(format!("annotation {HINTS} is deprecated, please use {MODE} instead"));
    }
    let at = Path::Root.child("spec");
    let headless = spec["type"] == "ClusterIP" && spec["clusterIP"] == "None";
    let external = !absent(&spec["externalIPs"]);
    if headless {
        let ignored = [
            (!absent(&spec["loadBalancerIP"]), "loadBalancerIP"),
            (external, "externalIPs"),
            (spec["sessionAffinity"] != "None", "SessionAffinity"),
        ];
        for (_, field) in ignored.into_iter().filter(|(is_set, _)| *is_set) {
            warnings.push(format!("spec.{field} is ignored for headless services"));
        }
    } else {
        addresses(&spec["clusterIPs"], at.child("clusterIPs"), warnings);
    }
    addresses(&spec["externalIPs"], at.child("externalIPs"), warnings);
    if external && !headless && spec["type"] != "ExternalName" && minor >= since::EXTERNAL_ADDRESS_WARNING {
        let why = "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        warnings.push(why.to_owned());
    }
    ip::warn(text(&spec["loadBalancerIP"]), at.child("loadBalancerIP"), warnings);
    let ranges = at.child("loadBalancerSourceRanges");
    for (index, range) in items(&spec["loadBalancerSourceRanges"]).iter().enumerate() {
        ip::warn_range(text(range), ranges.index(index), warnings);
    }
    service_type(spec, external, minor, warnings);
}

/// Warnings about fields that the type of the service ignores, and about an old name.
fn service_type(spec: &Value, external: bool, minor: u32, warnings: &mut Vec<String>) {
    let is_name = spec["type"] == "ExternalName";
    if is_name && external {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !is_name && !absent(&spec["externalName"]) {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec["trafficDistribution"] == "PreferClose" && minor >= since::PREFER_CLOSE_WARNING {
        let why = "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        warnings.push(why.to_owned());
    }
}

fn addresses(list: &Value, at: Path<'_>, warnings: &mut Vec<String>) {
    for (index, address) in items(list).iter().enumerate() {
        ip::warn(text(address), at.index(index), warnings);
    }
}

/// Warnings about the addresses of Endpoints that no controller wrote (`endpointsWarnings`).
pub(in crate::kinds::validation) fn endpoints(
    object: &Value,
    _old: Option<&Value>,
    minor: u32,
    warnings: &mut Vec<String>,
) {
    let is_managed = object["metadata"]["labels"][MANAGED_ENDPOINTS] == "endpoint-controller";
    if is_managed || minor < since::ADDRESS_WARNINGS {
        return;
    }
    let list = Path::Root.child("subsets");
    for (index, subset) in items(&object["subsets"]).iter().enumerate() {
        let at = list.index(index);
        for field in ["addresses", "notReadyAddresses"] {
            let list = at.child(field);
            for (index, address) in items(&subset[field]).iter().enumerate() {
                let at = list.index(index);
                ip::warn(text(&address["ip"]), at.child("ip"), warnings);
            }
        }
    }
}

/// Warnings about an EndpointSlice; those about its type only when it is created.
pub(in crate::kinds::validation) fn slice(
    object: &Value,
    old: Option<&Value>,
    minor: u32,
    warnings: &mut Vec<String>,
) {
    if old.is_none() && object["addressType"] == "FQDN" {
        warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    if minor < since::ADDRESS_WARNINGS {
        return;
    }
    let manager = text(&object["metadata"]["labels"][MANAGED_SLICE]);
    let controllers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];
    if controllers.contains(&manager) {
        return;
    }
    let list = Path::Root.child("endpoints");
    for (index, endpoint) in items(&object["endpoints"]).iter().enumerate() {
        let at = list.index(index);
        addresses(&endpoint["addresses"], at.child("addresses"), warnings);
    }
}

/// Warnings about the ranges of a network policy.
pub(in crate::kinds::validation) fn policy(
    object: &Value,
    _old: Option<&Value>,
    minor: u32,
    warnings: &mut Vec<String>,
) {
    if minor >= since::ADDRESS_WARNINGS {
        network_policy::warn(object, warnings);
    }
}

/// A warning about a new ingress that names its class in an annotation.
pub(in crate::kinds::validation) fn ingress(
    object: &Value,
    old: Option<&Value>,
    _minor: u32,
    warnings: &mut Vec<String>,
) {
    let is_annotated = !object["metadata"]["annotations"][CLASS].is_null();
    if old.is_none() && is_annotated && object["spec"]["ingressClassName"].is_null() {
        warnings.push(format!(
            "annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
        ));
    }
}

//! Defaults of services and other network kinds.

use serde_json::{Value, json};

use super::{Fields, get_or_create, object_in, objects_in_list, set_default};
use crate::profile::since;

/// Default duration of the session affinity in seconds: three hours.
const AFFINITY_SECONDS: i64 = 10_800;

pub(super) fn service(service: &mut Fields, minor: u32) {
    let Some(spec) = get_or_create(service, "spec") else { return };
    set_default(spec, "sessionAffinity", "None");
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("None") => {
            spec.remove("sessionAffinityConfig");
        }
        Some("ClientIP") => {
            if let Some(config) = get_or_create(spec, "sessionAffinityConfig")
                && let Some(client) = get_or_create(config, "clientIP")
            {
                set_default(client, "timeoutSeconds", AFFINITY_SECONDS);
            }
        }
        _ => {}
    }
    set_default(spec, "type", "ClusterIP");
    for port in objects_in_list(spec, "ports") {
        set_default(port, "protocol", "TCP");
        let target = port.get("targetPort");
        if target.is_none_or(|target| *target == json!(0) || *target == json!("") || target.is_null()) {
            let number = port.get("port").cloned().unwrap_or(json!(0));
            port.insert("targetPort".to_owned(), number);
        }
    }
    let external = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let reachable = matches!(kind.as_str(), "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && external);
    if reachable {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
        if minor >= since::BALANCER_MODE {
            address_modes(service);
        }
    }
}

/// Addresses of load balancers are virtual unless the status says otherwise.
fn address_modes(service: &mut Fields) {
    let balancer = object_in(service, "status").and_then(|status| object_in(status, "loadBalancer"));
    for entry in balancer.into_iter().flat_map(|balancer| objects_in_list(balancer, "ingress")) {
        if entry.get("ip").and_then(Value::as_str).is_some_and(|address| !address.is_empty()) {
            set_default(entry, "ipMode", "VIP");
        }
    }
}

pub(super) fn endpoints(endpoints: &mut Fields, _minor: u32) {
    for subset in objects_in_list(endpoints, "subsets") {
        for port in objects_in_list(subset, "ports") {
            set_default(port, "protocol", "TCP");
        }
    }
}

pub(super) fn endpoint_slice(slice: &mut Fields, _minor: u32) {
    for port in objects_in_list(slice, "ports") {
        set_default(port, "name", "");
        set_default(port, "protocol", "TCP");
    }
}

pub(super) fn ingress_class(class: &mut Fields, _minor: u32) {
    if let Some(spec) = object_in(class, "spec")
        && let Some(parameters) = object_in(spec, "parameters")
    {
        set_default(parameters, "scope", "Cluster");
    }
}

pub(super) fn network_policy(policy: &mut Fields, _minor: u32) {
    let Some(spec) = object_in(policy, "spec") else { return };
    for direction in ["ingress", "egress"] {
        for rule in objects_in_list(spec, direction) {
            for port in objects_in_list(rule, "ports") {
                set_default(port, "protocol", "TCP");
            }
        }
    }
    let types = if spec.contains_key("egress") { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    set_default(spec, "policyTypes", types);
}

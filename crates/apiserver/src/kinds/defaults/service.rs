//! Defaults of services and other network kinds.

use serde_json::{Value, json};

use super::{Fields, each, made, set, within};

/// Default duration of the session affinity in seconds: three hours.
const AFFINITY_SECONDS: i64 = 10_800;

pub(super) fn service(service: &mut Fields, _minor: u32) {
    let Some(spec) = within(service, "spec") else { return };
    set(spec, "sessionAffinity", "None");
    match spec.get("sessionAffinity").and_then(Value::as_str) {
        Some("None") => {
            spec.remove("sessionAffinityConfig");
        }
        Some("ClientIP") => {
            if let Some(config) = made(spec, "sessionAffinityConfig")
                && let Some(client) = made(config, "clientIP")
            {
                set(client, "timeoutSeconds", AFFINITY_SECONDS);
            }
        }
        _ => {}
    }
    set(spec, "type", "ClusterIP");
    for port in each(spec, "ports") {
        set(port, "protocol", "TCP");
        let target = port.get("targetPort");
        if target.is_none_or(|target| *target == json!(0) || *target == json!("") || target.is_null()) {
            let number = port.get("port").cloned().unwrap_or(json!(0));
            port.insert("targetPort".to_owned(), number);
        }
    }
    let external = spec.get("externalIPs").is_some();
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let reachable = matches!(kind.as_str(), "NodePort" | "LoadBalancer") || (kind == "ClusterIP" && external);
    if reachable {
        set(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        set(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set(spec, "allocateLoadBalancerNodePorts", true);
    }
}

pub(super) fn endpoints(endpoints: &mut Fields, _minor: u32) {
    for subset in each(endpoints, "subsets") {
        for port in each(subset, "ports") {
            set(port, "protocol", "TCP");
        }
    }
}

pub(super) fn endpoint_slice(slice: &mut Fields, _minor: u32) {
    for port in each(slice, "ports") {
        set(port, "name", "");
        set(port, "protocol", "TCP");
    }
}

pub(super) fn ingress_class(class: &mut Fields, _minor: u32) {
    if let Some(spec) = within(class, "spec")
        && let Some(parameters) = within(spec, "parameters")
    {
        set(parameters, "scope", "Cluster");
    }
}

pub(super) fn network_policy(policy: &mut Fields, _minor: u32) {
    let Some(spec) = within(policy, "spec") else { return };
    for direction in ["ingress", "egress"] {
        for rule in each(spec, direction) {
            for port in each(rule, "ports") {
                set(port, "protocol", "TCP");
            }
        }
    }
    let types = if spec.contains_key("egress") { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    set(spec, "policyTypes", types);
}

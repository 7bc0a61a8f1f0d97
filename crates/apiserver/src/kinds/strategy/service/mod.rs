//! Addresses and ports of services.
//!
//! The cluster has one address family, IPv4. Addresses are allocated in order from the service network, node
//! ports in order from the usual range.

mod allocate;
mod families;
mod network;
mod taken;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub(crate) use allocate::{AllocationError, allocate};
pub use network::ServiceNetwork;
pub(crate) use taken::AllocatedAddresses;

use crate::kinds::validation::networking::service::traffic::{is_external, needs_health_check};

/// Sets the initial status.
pub(super) fn prepare_create(service: &mut Value) {
    service["status"] = json!({ "loadBalancer": {} });
    pair_new(service);
}

/// Sets the plural field of a new service for clients that write only `clusterIP`.
pub(super) fn pair_new(service: &mut Value) {
    if is_empty(&service["spec"]["clusterIPs"]) && has_cluster_ip(&service["spec"]) {
        service["spec"]["clusterIPs"] = json!([service["spec"]["clusterIP"]]);
    }
}

pub(super) fn prepare_update(service: &mut Value, old: &Value) {
    keep_allocated(service, old);
    pair_cluster_ips(service, old);
    drop_type_dependent_fields(service, old);
}

fn has_cluster_ip(spec: &Value) -> bool {
    spec["clusterIP"].as_str().is_some_and(|address| !address.is_empty())
}

fn is_external_name(service: &Value) -> bool {
    service["spec"]["type"] == "ExternalName"
}

/// Keeps allocated values that an update does not mention (`patchAllocatedValues`).
fn keep_allocated(service: &mut Value, old: &Value) {
    if !is_external_name(service) && !is_external_name(old) {
        if !has_cluster_ip(&service["spec"]) && has_cluster_ip(&old["spec"]) {
            service["spec"]["clusterIP"] = old["spec"]["clusterIP"].clone();
        }
        if is_empty(&service["spec"]["clusterIPs"]) && !is_empty(&old["spec"]["clusterIPs"]) {
            service["spec"]["clusterIPs"] = old["spec"]["clusterIPs"].clone();
        }
    }
    if has_node_ports(service) && has_node_ports(old) {
        keep_node_ports(service, ports(old));
    }
    let port = &old["spec"]["healthCheckNodePort"];
    let needed = needs_health_check(&service["spec"]) && needs_health_check(&old["spec"]);
    if needed && !port.is_null() && service["spec"]["healthCheckNodePort"].as_i64().unwrap_or(0) == 0 {
        service["spec"]["healthCheckNodePort"] = port.clone();
    }
}

/// Ports without a node port get that of the old port with their name, unless another port has it.
fn keep_node_ports(service: &mut Value, old: &[Value]) {
    let used: Vec<i64> = ports(service).iter().filter_map(node_port).collect();
    for port in ports_mut(service) {
        if node_port(port).is_some() {
            continue;
        }
        let before = old.iter().rfind(|one| name(one) == name(port)).and_then(node_port);
        if let Some(number) = before.filter(|number| !used.contains(number)) {
            port["nodePort"] = json!(number);
        }
    }
}

/// Updates the plural field for clients that write only `clusterIP` (`normalizeClusterIPs`).
fn pair_cluster_ips(service: &mut Value, old: &Value) {
    let (one, before) = (&service["spec"]["clusterIP"], &old["spec"]["clusterIP"]);
    if one == before || service["spec"]["clusterIPs"] != old["spec"]["clusterIPs"] {
        return;
    }
    if has_cluster_ip(&service["spec"]) {
        service["spec"]["clusterIPs"] = json!([service["spec"]["clusterIP"]]);
    } else if has_cluster_ip(&old["spec"])
        && let Some(spec) = service["spec"].as_object_mut()
    {
        spec.remove("clusterIPs");
    }
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_none_or(Vec::is_empty)
}

fn ports(service: &Value) -> &[Value] {
    service["spec"]["ports"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The ports, to change them. Indexing would add absent ones as null.
fn ports_mut(service: &mut Value) -> impl Iterator<Item = &mut Value> {
    service.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten()
}

fn name(port: &Value) -> &str {
    port["name"].as_str().unwrap_or_default()
}

fn node_port(port: &Value) -> Option<i64> {
    port["nodePort"].as_i64().filter(|number| *number != 0)
}

/// Whether the type has node ports.
fn has_node_ports(service: &Value) -> bool {
    matches!(service["spec"]["type"].as_str(), Some("NodePort" | "LoadBalancer"))
}

/// A test of a specification.
type Test = fn(&Value) -> bool;

/// Removes unchanged fields that the old type had and the new type does not have (`dropTypeDependentFields`).
fn drop_type_dependent_fields(service: &mut Value, old: &Value) {
    let same = |service: &Value, field: &str| service["spec"][field] == old["spec"][field];
    if !is_external_name(old) && is_external_name(service) {
        if same(service, "clusterIP") && same(service, "clusterIPs") {
            remove(service, &["clusterIP", "clusterIPs"]);
        }
        for field in ["ipFamilies", "ipFamilyPolicy"] {
            if same(service, field) {
                remove(service, &[field]);
            }
        }
    }
    if has_node_ports(old) && !has_node_ports(service) {
        let known: Vec<i64> = ports(old).iter().filter_map(node_port).collect();
        if ports(service).iter().filter_map(node_port).all(|number| known.contains(&number)) {
            for port in ports_mut(service) {
                port.as_object_mut().map(|port| port.remove("nodePort"));
            }
        }
    }
    let fields: [(&str, Test); 4] = [
        ("healthCheckNodePort", needs_health_check),
        ("allocateLoadBalancerNodePorts", is_load_balancer),
        ("loadBalancerClass", is_load_balancer),
        ("externalTrafficPolicy", is_external),
    ];
    for (field, has) in fields {
        if has(&old["spec"]) && !has(&service["spec"]) && same(service, field) {
            remove(service, &[field]);
        }
    }
    if service["spec"]["type"] != "LoadBalancer" {
        service["status"]["loadBalancer"] = json!({});
    }
}

fn is_load_balancer(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer"
}

fn remove(service: &mut Value, fields: &[&str]) {
    if let Some(spec) = service["spec"].as_object_mut() {
        spec.retain(|field, _| !fields.contains(&field.as_str()));
    }
}

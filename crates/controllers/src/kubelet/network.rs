//! Addresses of nodes and pods: each node has an address in the machine network and a subnet for its pods.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::rng::fnv1a;

/// The annotation with the pod subnet of a node (OVN-Kubernetes).
const SUBNETS: &str = "k8s.ovn.org/node-subnets";
/// The machine network (`networking.machineNetwork`), followed by its first address.
pub const MACHINE_NETWORK: &str = "10.0.0.0/16";
const MACHINES: u32 = u32::from_be_bytes([10, 0, 0, 0]);
/// The cluster network (`networking.clusterNetwork`, for 16,384 nodes), followed by its first address.
pub const POD_NETWORK: &str = "10.128.0.0/9";
const PODS: u32 = u32::from_be_bytes([10, 128, 0, 0]);
/// The number of node subnets, and the number of host bits in each.
const SUBNETS_MAX: u64 = 1 << 14;
const HOST_BITS: u32 = 9;
/// Reserved addresses at the start of a subnet: the network, the gateway and the management port of the node.
const RESERVED: u32 = 3;
/// Reserved addresses at the start of the machine network.
const RESERVED_MACHINES: u32 = 10;

/// Assigns an address and a pod subnet to node `number` of its cluster (from 0).
pub fn assign_addresses(node: &mut Value, number: u32) {
    let name = node["metadata"]["name"].clone();
    let address = Ipv4Addr::from(MACHINES + RESERVED_MACHINES + number);
    let subnet = Ipv4Addr::from(PODS + (number << HOST_BITS));
    let subnets = json!({ "default": [format!("{subnet}/{}", 32 - HOST_BITS)] });
    node["metadata"]["annotations"][SUBNETS] = json!(subnets.to_string());
    node["status"]["addresses"] =
        json!([{ "type": "InternalIP", "address": address }, { "type": "Hostname", "address": name }]);
}

/// The `InternalIP` of a node.
pub(super) fn address_of(node: &Object) -> Option<&str> {
    let addresses = node.list("/status/addresses");
    addresses.iter().find(|address| address["type"] == "InternalIP")?["address"].as_str()
}

/// The first free pod address of a node. A node without a subnet gets one by the hash of its name.
pub(super) fn free_address(name: &str, node: Option<&Object>, taken: &BTreeSet<Ipv4Addr>) -> Ipv4Addr {
    let by_name = || PODS + (u32::try_from(fnv1a(name.as_bytes()) % SUBNETS_MAX).unwrap_or(0) << HOST_BITS);
    let subnet = node.and_then(subnet_of).map_or_else(by_name, u32::from);
    let free = (RESERVED..).map(|host| Ipv4Addr::from(subnet.wrapping_add(host)));
    free.into_iter().find(|address| !taken.contains(address)).unwrap_or(Ipv4Addr::UNSPECIFIED)
}

fn subnet_of(node: &Object) -> Option<Ipv4Addr> {
    let subnets = node.annotation(SUBNETS).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let of_network = subnets.as_ref().map(|subnets| match &subnets["default"] {
        Value::Array(list) => list.first().unwrap_or(&Value::Null),
        single => single,
    });
    let subnet = of_network.and_then(Value::as_str).unwrap_or_else(|| node.text("/spec/podCIDR"));
    subnet.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(node: Value, address: &str) {
        let node = Object::new(node);
        let mut taken = BTreeSet::new();
        taken.insert(free_address("a", Some(&node), &taken));
        assert_eq!(free_address("a", Some(&node), &taken).to_string(), address);
    }

    #[test]
    fn pods_get_addresses_from_the_subnet_of_their_node() {
        let mut node = json!({ "metadata": { "name": "a" } });
        assign_addresses(&mut node, 129);
        assert_eq!(address_of(&Object::new(node.clone())), Some("10.0.0.139"));
        check(node, "10.129.2.4");
        check(json!({ "spec": { "podCIDR": "10.244.1.0/24" } }), "10.244.1.4");
        let single = json!({ "default": "10.130.0.0/23" }).to_string();
        check(json!({ "metadata": { "annotations": { SUBNETS: single } } }), "10.130.0.4");
    }

    #[test]
    fn a_node_without_a_subnet_gets_one_by_its_name() {
        let address = |name| free_address(name, None, &BTreeSet::new());
        assert_eq!(address("a"), address("a"));
        assert_ne!(address("a"), address("b"));
    }
}

//! Addresses and ports of services.
//!
//! The cluster has one address family, IPv4. Addresses are allocated in order from the service network, node
//! ports in order from the usual range.

mod taken;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::str::FromStr;

use serde_json::{Value, json};

pub(crate) use taken::AllocatedAddresses;

use crate::field::{FieldError, Shown};
use crate::metadata;

/// Ports that a node may listen on for services.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

/// The addresses of services (`--service-cluster-ip-range`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceNetwork {
    first: u32,
    size: u32,
}

impl Default for ServiceNetwork {
    /// That of a kube-apiserver without the flag: 10.0.0.0/24.
    fn default() -> Self {
        Self { first: u32::from(Ipv4Addr::new(10, 0, 0, 0)), size: 1 << 8 }
    }
}

impl ServiceNetwork {
    /// The network of `address` with this prefix; `None` where it has room for no service, or for more than a kube-apiserver takes
    /// (`/12`).
    pub fn new(address: Ipv4Addr, prefix: u8) -> Option<Self> {
        if !(12..=30).contains(&prefix) {
            return None;
        }
        let size = 1_u32 << (32 - u32::from(prefix));
        Some(Self { first: u32::from(address) & !(size - 1), size })
    }

    /// The network as a flag or a ServiceCIDR has it.
    pub(crate) fn range(self) -> String {
        format!("{}/{}", Ipv4Addr::from(self.first), self.size.leading_zeros() + 1)
    }

    /// The address of the API server itself: the first of the network.
    pub(crate) fn first_address(self) -> Ipv4Addr {
        Ipv4Addr::from(self.first + 1)
    }

    /// Size of the band of addresses for services that request a certain address. Other services get these last
    /// (`calculateRangeOffset`).
    fn static_band(self) -> u32 {
        if self.size < 16 { 0 } else { (self.size / 16).clamp(16, 256) }
    }

    /// All addresses in the order in which services get them.
    fn addresses(self) -> impl Iterator<Item = Ipv4Addr> {
        let band = self.static_band().max(1);
        (band..self.size - 1).chain(1..band).map(move |place| Ipv4Addr::from(self.first + place))
    }

    fn contains(self, address: Ipv4Addr) -> bool {
        u32::from(address).checked_sub(self.first).is_some_and(|place| place < self.size)
    }
}

impl FromStr for ServiceNetwork {
    type Err = String;

    /// Reads a range such as `10.96.0.0/16`.
    fn from_str(text: &str) -> Result<Self, String> {
        let network = text
            .split_once('/')
            .and_then(|(address, prefix)| Self::new(address.parse().ok()?, prefix.parse().ok()?));
        network.ok_or_else(|| format!("expected an IPv4 range such as 10.96.0.0/16, found `{text}`"))
    }
}

/// Sets the initial status and the address families.
pub(super) fn prepare_create(service: &mut Value) {
    service["status"] = json!({ "loadBalancer": {} });
    set_ip_families(service);
}

pub(super) fn prepare_update(service: &mut Value, old: &Value) {
    keep_allocated(service, old);
    drop_type_dependent_fields(service, old);
    set_ip_families(service);
}

fn has_address(service: &Value) -> bool {
    matches!(service["spec"]["type"].as_str(), Some("ClusterIP" | "NodePort" | "LoadBalancer"))
}

fn set_ip_families(service: &mut Value) {
    if !has_address(service) {
        return;
    }
    let headless = service["spec"]["clusterIP"] == "None";
    if headless {
        service["spec"]["clusterIPs"] = json!(["None"]);
    } else if let Some(address) = service["spec"]["clusterIP"].as_str().map(str::to_owned)
        && service["spec"]["clusterIPs"].is_null()
    {
        service["spec"]["clusterIPs"] = json!([address]);
    }
    // A headless service without selector may have backends of any family.
    let any = headless && service["spec"]["selector"].is_null();
    let (policy, list) =
        if any { ("RequireDualStack", json!(["IPv4", "IPv6"])) } else { ("SingleStack", json!(["IPv4"])) };
    if service["spec"]["ipFamilyPolicy"].is_null() {
        service["spec"]["ipFamilyPolicy"] = json!(policy);
    }
    if service["spec"]["ipFamilies"].is_null() {
        service["spec"]["ipFamilies"] = list;
    }
}

/// Keeps allocated values that an update does not mention (`patchAllocatedValues`).
fn keep_allocated(service: &mut Value, old: &Value) {
    if has_address(service) && has_address(old) && service["spec"]["clusterIP"].is_null() {
        for field in ["clusterIP", "clusterIPs"] {
            if !old["spec"][field].is_null() {
                service["spec"][field] = old["spec"][field].clone();
            }
        }
    }
    if !needs_node_ports(service) || !needs_node_ports(old) {
        return;
    }
    let known: Vec<Value> = old["spec"]["ports"].as_array().cloned().unwrap_or_default();
    for port in service["spec"]["ports"].as_array_mut().into_iter().flatten() {
        if port["nodePort"].is_null() {
            let same =
                known.iter().find(|one| one["port"] == port["port"] && one["protocol"] == port["protocol"]);
            if let Some(number) = same.and_then(|one| one.get("nodePort")) {
                port["nodePort"] = number.clone();
            }
        }
    }
}

fn needs_node_ports(service: &Value) -> bool {
    match service["spec"]["type"].as_str() {
        Some("NodePort") => true,
        Some("LoadBalancer") => service["spec"]["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// Removes unchanged fields that the new type does not have (`dropTypeDependentFields`).
fn drop_type_dependent_fields(service: &mut Value, old: &Value) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let same = |spec: &serde_json::Map<String, Value>, field: &str| spec.get(field) == old["spec"].get(field);
    if kind == "ExternalName" && old["spec"]["type"] != "ExternalName" {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if same(spec, field) {
                spec.remove(field);
            }
        }
    }
    if kind != "NodePort" && kind != "LoadBalancer" {
        if same(spec, "externalTrafficPolicy") && spec.get("externalIPs").is_none() {
            spec.remove("externalTrafficPolicy");
        }
        let before = old["spec"]["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            let number = port["nodePort"].clone();
            if !number.is_null() && before.iter().any(|one| one["nodePort"] == number) {
                port.as_object_mut().map(|port| port.remove("nodePort"));
            }
        }
    }
    if kind != "LoadBalancer" {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(spec, field) {
                spec.remove(field);
            }
        }
    }
}

/// Allocates the addresses and node ports that a service needs. `taken` holds those of the existing services.
///
/// # Errors
/// A requested address or port is taken or out of range, or the range is full.
pub(crate) fn allocate(
    service: &mut Value,
    network: ServiceNetwork,
    taken: &mut AllocatedAddresses,
) -> Result<(), FieldError> {
    let metadata_text = |field: &str| metadata::text(service, field).to_owned();
    taken.without(&metadata_text("namespace"), &metadata_text("name"), |taken| {
        if has_address(service) && service["spec"]["clusterIP"] != "None" {
            allocate_address(service, network, &taken.addresses)?;
        }
        if needs_node_ports(service) {
            allocate_ports(service, &taken.ports)?;
        }
        Ok(())
    })
}

fn allocate_address(
    service: &mut Value,
    network: ServiceNetwork,
    taken: &BTreeSet<Ipv4Addr>,
) -> Result<(), FieldError> {
    let requested = service["spec"]["clusterIP"].as_str().map(str::to_owned);
    let Some(requested) = requested else {
        let free = network.addresses().find(|address| !taken.contains(address));
        let Some(free) = free else {
            let why = "failed to allocate a serviceIP: range is full";
            return Err(FieldError::invalid("spec.clusterIPs", json!([]), why));
        };
        service["spec"]["clusterIP"] = json!(free.to_string());
        service["spec"]["clusterIPs"] = json!([free.to_string()]);
        return Ok(());
    };
    let fail = |why: &str| {
        let text = format!("failed to allocate IP {requested}: {why}");
        Err(FieldError::invalid("spec.clusterIPs", json!([requested.clone()]), text))
    };
    match requested.parse::<Ipv4Addr>() {
        Ok(address) if !network.contains(address) => {
            fail("the provided network does not match the current range")
        }
        Ok(address) if taken.contains(&address) => fail("provided IP is already allocated"),
        _ => Ok(()),
    }
}

fn allocate_ports(service: &mut Value, others: &BTreeSet<i64>) -> Result<(), FieldError> {
    let mut own = BTreeSet::new();
    for (index, port) in service["spec"]["ports"].as_array_mut().into_iter().flatten().enumerate() {
        let path = || format!("spec.ports[{index}].nodePort");
        match port["nodePort"].as_i64() {
            Some(requested) if !NODE_PORTS.contains(&requested) => {
                let why = "provided port is not in the valid range. The range of valid ports is 30000-32767";
                return Err(FieldError::invalid(path(), requested, why));
            }
            Some(requested) => {
                if others.contains(&requested) || !own.insert(requested) {
                    return Err(FieldError::invalid(path(), requested, "provided port is already allocated"));
                }
            }
            None => {
                let free =
                    NODE_PORTS.into_iter().find(|number| !others.contains(number) && !own.contains(number));
                let Some(free) = free else {
                    return Err(FieldError {
                        value: Shown::Json(json!(0)),
                        ..FieldError::invalid(path(), 0, "failed to allocate a nodePort: range is full")
                    });
                };
                own.insert(free);
                port["nodePort"] = json!(free);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_gives_the_addresses_above_the_static_band_first() {
        let network: ServiceNetwork = "10.96.0.7/24".parse().unwrap();
        assert_eq!(network.first_address().to_string(), "10.96.0.1");
        let addresses: Vec<String> = network.addresses().map(|one| one.to_string()).collect();
        assert_eq!((addresses.len(), &*addresses[0], &*addresses[238]), (254, "10.96.0.16", "10.96.0.254"));
        assert_eq!(addresses[239], "10.96.0.1");
        assert!(
            network.contains(Ipv4Addr::new(10, 96, 0, 255)) && !network.contains(Ipv4Addr::new(10, 96, 1, 0))
        );
    }

    #[test]
    fn ranges_without_room_are_rejected() {
        for text in ["10.0.0.0", "10.0.0.0/31", "10.0.0.0/8", "fd00::/112", "x/24"] {
            assert!(text.parse::<ServiceNetwork>().is_err(), "{text}");
        }
    }
}

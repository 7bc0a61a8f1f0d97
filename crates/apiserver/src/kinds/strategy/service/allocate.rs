//! Allocation of the addresses and node ports of a service.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::network::ServiceNetwork;
use super::taken::AllocatedAddresses;
use super::{families, has_cluster_ip, has_node_ports, is_external_name, node_port, ports};
use crate::field::FieldError;
use crate::kinds::validation::networking::service::traffic::needs_health_check;
use crate::metadata;
use crate::profile::{Profile, since};

/// Ports that a node may listen on for services.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
const OUT_OF_RANGE: &str = "provided port is not in the valid range. The range of valid ports is 30000-32767";
const OUT_OF_NETWORK: &str = "the provided network does not match the current range";
const TAKEN: &str = "provided port is already allocated";

/// Why a service gets no addresses or ports.
#[derive(Debug)]
pub(crate) enum AllocationError {
    /// The service requests something impossible.
    Invalid(Vec<FieldError>),
    /// A range is full, or a port for health checks is taken.
    Internal(String),
    /// An error that the server returns unchanged.
    Unclassified(String),
}

impl From<FieldError> for AllocationError {
    fn from(error: FieldError) -> Self {
        Self::Invalid(vec![error])
    }
}

/// Allocates the addresses and node ports that a service needs. `taken` holds those of the existing services, `old`
/// is the service that an update replaces. A dry run accepts node ports beyond the range.
///
/// # Errors
/// A requested address or port is taken or out of range, or the range is full.
pub(crate) fn allocate(
    service: &mut Value,
    old: Option<&Value>,
    network: ServiceNetwork,
    taken: &mut AllocatedAddresses,
    profile: &Profile,
    dry_run: bool,
) -> Result<(), AllocationError> {
    if is_external_name(service) {
        drop_internal_policy(service);
        return Ok(());
    }
    families::init(service, old, profile).map_err(AllocationError::Invalid)?;
    let own = |field: &str| metadata::text(service, field).to_owned();
    taken.without(&own("namespace"), &own("name"), |taken| {
        let headless = service["spec"]["clusterIP"] == "None";
        if old.is_none_or(is_external_name) && !headless {
            allocate_address(service, network, &taken.addresses, dry_run, profile.minor)?;
        }
        let mut numbers = Numbers { others: &taken.ports, own: BTreeSet::new(), dry_run };
        if has_node_ports(service) {
            match old {
                None => initial_ports(service, &mut numbers)?,
                Some(old) => updated_ports(service, old, &mut numbers)?,
            }
        }
        health_port(service, old, &mut numbers)
    })
}

/// A name of another host has no policy for traffic inside the cluster (`defaultOnReadInternalTrafficPolicy`).
fn drop_internal_policy(service: &mut Value) {
    if matches!(service["spec"]["internalTrafficPolicy"].as_str(), Some("Cluster" | "Local")) {
        super::remove(service, &["internalTrafficPolicy"]);
    }
}

fn allocate_address(
    service: &mut Value,
    network: ServiceNetwork,
    taken: &BTreeSet<Ipv4Addr>,
    dry_run: bool,
    minor: u32,
) -> Result<(), AllocationError> {
    if !has_cluster_ip(&service["spec"]) {
        let free = network.addresses().find(|address| !taken.contains(address));
        let Some(free) = free else {
            let name = crate::gotext::quote(metadata::text(service, "name"));
            let why = format!("failed to allocate a serviceIP for Service {name}: range is full");
            return Err(AllocationError::Internal(why));
        };
        service["spec"]["clusterIP"] = json!(free.to_string());
        service["spec"]["clusterIPs"] = json!([free.to_string()]);
        return Ok(());
    }
    let requested = service["spec"]["clusterIP"].as_str().unwrap_or_default();
    let why = match requested.parse::<Ipv4Addr>() {
        Ok(address) if !network.contains(address) => {
            out_of_network(address, network, dry_run || minor < since::SERVICE_RANGES)
        }
        Ok(address) if taken.contains(&address) => "provided IP is already allocated".to_owned(),
        _ => return Ok(()),
    };
    let text = format!("failed to allocate IP {requested}: {why}");
    Err(FieldError::invalid_list("spec.clusterIPs", &service["spec"]["clusterIPs"], "string", text).into())
}

/// The reason for an address of another network. A dry run and an earlier minor ask the allocator of the one range, other
/// writes ask all.
fn out_of_network(address: Ipv4Addr, network: ServiceNetwork, asks_one: bool) -> String {
    if asks_one {
        let range = network.range();
        format!("the provided IP ({address}) is not in the valid range. The range of valid IPs is {range}")
    } else {
        OUT_OF_NETWORK.to_owned()
    }
}

/// The node ports in use, by other services and by this one.
struct Numbers<'a> {
    others: &'a BTreeSet<i64>,
    own: BTreeSet<i64>,
    dry_run: bool,
}

impl Numbers<'_> {
    fn take(&mut self, number: i64) -> Result<(), &'static str> {
        // A dry run only looks for the port among those in use.
        if !self.dry_run && !NODE_PORTS.contains(&number) {
            return Err(OUT_OF_RANGE);
        }
        if self.others.contains(&number) || !self.own.insert(number) {
            return Err(TAKEN);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<i64> {
        let is_free = |number: &i64| !self.others.contains(number) && !self.own.contains(number);
        let free = NODE_PORTS.into_iter().find(is_free)?;
        self.own.insert(free);
        Some(free)
    }
}

/// Whether ports without a node port get one (`shouldAllocateNodePorts`).
fn allocates(service: &Value) -> bool {
    service["spec"]["type"] == "NodePort" || service["spec"]["allocateLoadBalancerNodePorts"] != false
}

fn rejection(index: usize, number: i64, why: &str) -> AllocationError {
    FieldError::invalid(format!("spec.ports[{index}].nodePort"), number, why).into()
}

/// Gives node ports to a new service. Ports with the same number share one, whatever their protocol
/// (`initNodePorts`).
fn initial_ports(service: &mut Value, numbers: &mut Numbers<'_>) -> Result<(), AllocationError> {
    let allocates = allocates(service);
    let mut shared: BTreeMap<i64, i64> = BTreeMap::new();
    for index in 0..ports(service).len() {
        let port = &ports(service)[index];
        let (number, requested) = (port["port"].as_i64().unwrap_or(0), node_port(port));
        if requested.is_none() && !allocates {
            continue;
        }
        let given = match (shared.get(&number).copied(), requested) {
            (Some(earlier), Some(requested)) if earlier != requested => {
                numbers.take(requested).map_err(|why| rejection(index, requested, why))?;
                continue;
            }
            (Some(earlier), _) => earlier,
            (None, _) => {
                let same = |one: &&Value| one["port"].as_i64().unwrap_or(0) == number;
                let wanted = ports(service).iter().filter(same).find_map(node_port);
                let given = match wanted {
                    Some(wanted) => {
                        numbers.take(wanted).map_err(|why| rejection(index, wanted, why))?;
                        wanted
                    }
                    None => next_port(numbers)?,
                };
                shared.insert(number, given);
                given
            }
        };
        service["spec"]["ports"][index]["nodePort"] = json!(given);
    }
    Ok(())
}

fn next_port(numbers: &mut Numbers<'_>) -> Result<i64, AllocationError> {
    let full = || AllocationError::Internal("failed to allocate a nodePort: range is full".to_owned());
    numbers.next().ok_or_else(full)
}

/// Gives node ports to the new ports of an updated service (`updateNodePorts`).
fn updated_ports(service: &mut Value, old: &Value, numbers: &mut Numbers<'_>) -> Result<(), AllocationError> {
    let allocates = allocates(service);
    let before: BTreeSet<i64> = ports(old).iter().filter_map(node_port).collect();
    numbers.own.extend(&before);
    let (mut new, mut pairs) = (BTreeSet::new(), BTreeSet::new());
    for index in 0..ports(service).len() {
        match node_port(&ports(service)[index]) {
            Some(number) if before.contains(&number) || !new.insert(number) => {}
            Some(number) => numbers.take(number).map_err(|why| rejection(index, number, why))?,
            None if allocates => {
                service["spec"]["ports"][index]["nodePort"] = json!(next_port(numbers)?);
            }
            None => {}
        }
        let port = &ports(service)[index];
        let Some(number) = node_port(port) else { continue };
        let protocol = port["protocol"].as_str().unwrap_or_default().to_owned();
        let text = format!("duplicate nodePort: {{{protocol} {number}}}");
        if !pairs.insert((protocol, number)) {
            return Err(AllocationError::Unclassified(text));
        }
    }
    Ok(())
}

/// Gives a port for health checks to a service that newly needs one (`allocHealthCheckNodePort`).
fn health_port(
    service: &mut Value,
    old: Option<&Value>,
    numbers: &mut Numbers<'_>,
) -> Result<(), AllocationError> {
    if !needs_health_check(&service["spec"]) || old.is_some_and(|old| needs_health_check(&old["spec"])) {
        return Ok(());
    }
    match service["spec"]["healthCheckNodePort"].as_i64().unwrap_or(0) {
        0 => {
            let full = || {
                AllocationError::Internal(
                    "failed to allocate a HealthCheck NodePort 0: range is full".to_owned(),
                )
            };
            service["spec"]["healthCheckNodePort"] = json!(numbers.next().ok_or_else(full)?);
            Ok(())
        }
        requested => numbers.take(requested).map_err(|why| {
            AllocationError::Internal(format!(
                "failed to allocate requested HealthCheck NodePort {requested}: {why}"
            ))
        }),
    }
}

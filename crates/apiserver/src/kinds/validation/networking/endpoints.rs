//! Validation of Endpoints and EndpointSlices (`ValidateEndpoints`, `ValidateEndpointSlice`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{application_protocol, ip, label_map, port_number};
use crate::kinds::validation::{Errors, Path, immutable, items, one_of, text};
use crate::names;
use crate::profile::since;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const MOST_PORTS: usize = 20_000;
const MOST_ENDPOINTS: usize = 1000;
const MOST_ADDRESSES: usize = 100;
const MOST_LABELS: usize = 16;
const MOST_HINTS: usize = 8;

/// Validates Endpoints. Unchanged subsets were valid in the version that stored them.
pub(in crate::kinds::validation) fn endpoints(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    if old.is_some_and(|old| old["subsets"] == object["subsets"]) {
        return;
    }
    let list = Path::Root.child("subsets");
    for (index, subset) in items(&object["subsets"]).iter().enumerate() {
        let at = list.index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|field| items(&subset[*field]).is_empty()) {
            errors.required(at, "must specify `addresses` or `notReadyAddresses`");
        }
        for field in lists {
            let list = at.child(field);
            for (index, given) in items(&subset[field]).iter().enumerate() {
                address(given, list.index(index), errors);
            }
        }
        let (list, ports) = (at.child("ports"), items(&subset["ports"]));
        for (index, given) in ports.iter().enumerate() {
            port(given, ports.len() > 1, list.index(index), errors);
        }
    }
}

fn address(address: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = at.child("ip");
    ip::check(text(&address["ip"]), place, errors);
    host_and_node(address, at, errors);
    ip::check_endpoint(text(&address["ip"]), place, errors);
}

/// Validates the names of the host and the node of an address.
fn host_and_node(value: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(host) = value["hostname"].as_str() {
        errors.each(at.child("hostname"), host, names::label(host));
    }
    if let Some(node) = value["nodeName"].as_str() {
        errors.each(at.child("nodeName"), node, names::subdomain(node));
    }
}

fn port(port: &Value, many: bool, at: Path<'_>, errors: &mut Errors<'_>) {
    match text(&port["name"]) {
        "" if many => errors.required(at.child("name"), ""),
        "" => {}
        name => errors.each(at.child("name"), name, names::label(name)),
    }
    port_number(port["port"].as_i64().unwrap_or(0), at.child("port"), errors);
    one_of(&port["protocol"], &PROTOCOLS, at.child("protocol"), errors);
    application_protocol(&port["appProtocol"], at.child("appProtocol"), errors);
}

/// Validates an EndpointSlice. Unchanged endpoints were valid in the version that stored them.
pub(in crate::kinds::validation) fn slice(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = |field| Path::Root.child(field);
    let kind = text(&object["addressType"]);
    one_of(&object["addressType"], &["FQDN", "IPv4", "IPv6"], at("addressType"), errors);
    slice_ports(items(&object["ports"]), at("ports"), errors);
    let is_changed = old.is_none_or(|old| old["endpoints"] != object["endpoints"]);
    if is_changed || errors.profile.minor < since::SLICE_ADDRESSES {
        let (list, given) = (at("endpoints"), items(&object["endpoints"]));
        if given.len() > MOST_ENDPOINTS {
            errors.too_many(list, given.len(), MOST_ENDPOINTS);
        } else {
            for (index, one) in given.iter().enumerate() {
                endpoint(one, kind, list.index(index), errors);
            }
        }
    }
    immutable(&object["addressType"], old.map(|old| &old["addressType"]), at("addressType"), errors);
}

fn slice_ports(ports: &[Value], list: Path<'_>, errors: &mut Errors<'_>) {
    if ports.len() > MOST_PORTS {
        errors.too_many(list, ports.len(), MOST_PORTS);
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = list.index(index);
        let name = text(&port["name"]);
        if !name.is_empty() {
            errors.each(at.child("name"), name, names::label(name));
        }
        if !seen.insert(name) {
            errors.duplicate(at.child("name"), name);
        }
        one_of(&port["protocol"], &PROTOCOLS, at.child("protocol"), errors);
        application_protocol(&port["appProtocol"], at.child("appProtocol"), errors);
    }
}

fn endpoint(endpoint: &Value, kind: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    let (list, addresses) = (at.child("addresses"), items(&endpoint["addresses"]));
    match addresses.len() {
        0 => errors.required(list, "must contain at least 1 address"),
        count if count > MOST_ADDRESSES => errors.too_many(list, count, MOST_ADDRESSES),
        _ => {}
    }
    for (index, address) in addresses.iter().enumerate() {
        slice_address(text(address), kind, (list, index), errors);
    }
    let topology = &endpoint["deprecatedTopology"];
    let place = at.child("deprecatedTopology");
    if let Some(labels) = topology.as_object().filter(|labels| labels.len() > MOST_LABELS) {
        errors.too_many(place, labels.len(), MOST_LABELS);
    }
    label_map(topology, place, errors);
    host_and_node(endpoint, at, errors);
    hints(&endpoint["hints"], at.child("hints"), errors);
}

fn slice_address(address: &str, kind: &str, (list, index): (Path<'_>, usize), errors: &mut Errors<'_>) {
    let at = list.index(index);
    let before = errors.found.len();
    if errors.profile.minor < since::SLICE_ADDRESSES && matches!(kind, "IPv4" | "IPv6") {
        if ip::parse(address).is_none_or(|ip| ip.is_ipv6() != (kind == "IPv6")) {
            errors.invalid(at, address, format!("must be a valid {kind} address"));
        }
        return ip::check_endpoint(address, at, errors);
    }
    match kind {
        "IPv4" => ip::check(address, at, errors),
        "IPv6" => ip::check_canonical(address, at, errors),
        "FQDN" => return domain(address, at, errors),
        _ => return,
    }
    if errors.found.len() > before {
        return;
    }
    if ip::is_v6(address) != (kind == "IPv6") {
        // A real server reports the list, not the address in it.
        errors.invalid(list, address, format!("must be an {kind} address"));
    }
    ip::check_endpoint(address, at, errors);
}

/// Requires a domain of two or more segments (`IsFullyQualifiedDomainName`).
fn domain(name: &str, at: Path<'_>, errors: &mut Errors<'_>) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let wrong = names::subdomain(name);
    if !wrong.is_empty() {
        errors.invalid(at, name, wrong.join(","));
    } else if !name.contains('.') {
        errors.invalid(at, name, "should be a domain with at least two segments separated by dots");
    } else if let Some(label) = name.split('.').find(|label| !names::label(label).is_empty()) {
        errors.invalid(at, label, names::label(label).join(","));
    }
}

fn hints(hints: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["forZones", "forNodes"] {
        let (list, given) = (at.child(field), items(&hints[field]));
        if given.len() > MOST_HINTS {
            errors.too_many(list, given.len(), MOST_HINTS);
            return;
        }
        for (index, hint) in given.iter().enumerate() {
            let at = list.index(index);
            let (at, name) = (at.child("name"), text(&hint["name"]));
            if given[..index].iter().any(|earlier| text(&earlier["name"]) == name) {
                errors.duplicate(at, name);
            }
            let wrong =
                if field == "forZones" { names::labels::label_value(name) } else { names::subdomain(name) };
            errors.each(at, name, wrong);
        }
    }
}

//! Validation of Services and EndpointSlices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use crate::kinds::validation::pods::container::{self, PORT_RANGE};
use crate::kinds::validation::{Errors, Path, absent, items, one_of, one_of_if_given, text};
use crate::names;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(in crate::kinds::validation) fn service(object: &Value, old: Option<&Value>, errors: &mut Errors<'_>) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    let kind = text(&spec["type"]);
    let headless = spec["clusterIP"] == "None";
    let list = items(&spec["ports"]);
    if list.is_empty() && !headless && kind != "ExternalName" {
        errors.required(Path::Field(&at, "ports"), "");
    }
    match kind {
        "ExternalName" => external_name(spec, at, errors),
        "LoadBalancer" | "NodePort" if headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            errors.invalid(Path::Index(&Path::Field(&at, "clusterIPs"), 0), "None", why);
        }
        _ => {}
    }
    let ports = Path::Field(&at, "ports");
    let mut seen = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in list.iter().enumerate() {
        service_port(port, list.len() > 1, Path::Index(&ports, index), &mut seen, errors);
    }
    for (key, value) in spec["selector"].as_object().into_iter().flatten() {
        let at = Path::Field(&at, "selector");
        errors.each(at, key, names::labels::label_key(key));
        errors.each(at, text(value), names::labels::label_value(text(value)));
    }
    one_of(&spec["sessionAffinity"], &["ClientIP", "None"], Path::Field(&at, "sessionAffinity"), errors);
    one_of(&spec["type"], &TYPES, Path::Field(&at, "type"), errors);
    let policies = ["Cluster", "Local"];
    for field in ["externalTrafficPolicy", "internalTrafficPolicy"] {
        one_of_if_given(&spec[field], &policies, Path::Field(&at, field), errors);
    }
    if let Some(old) = old {
        same_address(spec, &old["spec"], errors);
    }
}

fn external_name(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !absent(&spec[field]) {
            errors.forbidden(Path::Field(&at, field), "may not be set for ExternalName services");
        }
    }
    match text(&spec["externalName"]).trim_end_matches('.') {
        "" => errors.required(Path::Field(&at, "externalName"), ""),
        name => errors.each(Path::Field(&at, "externalName"), name, names::subdomain(name)),
    }
}

/// Names and pairs of number and protocol, as seen so far.
type Seen<'a> = (BTreeSet<&'a str>, BTreeSet<(i64, &'a str)>);

fn service_port<'a>(port: &'a Value, many: bool, at: Path<'_>, seen: &mut Seen<'a>, errors: &mut Errors<'_>) {
    let name = text(&port["name"]);
    if many && name.is_empty() {
        errors.required(Path::Field(&at, "name"), "");
    } else if !name.is_empty() {
        errors.each(Path::Field(&at, "name"), name, names::label(name));
        if !seen.0.insert(name) {
            errors.duplicate(Path::Field(&at, "name"), name);
        }
    }
    let number = port["port"].as_i64().unwrap_or(0);
    if !(1..=65535).contains(&number) {
        errors.invalid(Path::Field(&at, "port"), number, PORT_RANGE);
    }
    let protocol = text(&port["protocol"]);
    one_of(&port["protocol"], &PROTOCOLS, Path::Field(&at, "protocol"), errors);
    container::port(&port["targetPort"], Path::Field(&at, "targetPort"), errors);
    if (1..=65535).contains(&number) && !seen.1.insert((number, protocol)) {
        errors.duplicate(at, serde_json::json!({ "port": number, "protocol": protocol }));
    }
}

/// The address of a service must not change while the service needs one.
fn same_address(spec: &Value, old: &Value, errors: &mut Errors<'_>) {
    let needs = |spec: &Value| text(&spec["type"]) != "ExternalName";
    let (new, before) = (items(&spec["clusterIPs"]), items(&old["clusterIPs"]));
    if !needs(spec) || !needs(old) || before.is_empty() {
        return;
    }
    if new.first() != before.first() {
        let at = Path::Field(&Path::Root, "spec");
        let list = Path::Field(&at, "clusterIPs");
        let given = Value::Array(new.to_vec());
        errors.invalid(Path::Index(&list, 0), given, "may not change once set");
    }
}

pub(in crate::kinds::validation) fn endpoint_slice(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = |field| Path::Field(&Path::Root, field);
    let kind = text(&object["addressType"]);
    one_of(&object["addressType"], &["FQDN", "IPv4", "IPv6"], at("addressType"), errors);
    let list = at("endpoints");
    for (index, endpoint) in items(&object["endpoints"]).iter().enumerate() {
        let at = Path::Index(&list, index);
        let addresses = Path::Field(&at, "addresses");
        let given = items(&endpoint["addresses"]);
        if given.is_empty() {
            errors.required(addresses, "must contain at least 1 address");
        }
        for (index, address) in given.iter().enumerate() {
            let at = Path::Index(&addresses, index);
            let address = text(address);
            match (kind, address.parse::<IpAddr>()) {
                ("IPv4", Ok(ip)) if ip.is_ipv4() => {}
                ("IPv6", Ok(ip)) if ip.is_ipv6() => {}
                ("IPv4", _) => errors.invalid(at, address, "must be an IPv4 address"),
                ("IPv6", _) => errors.invalid(at, address, "must be an IPv6 address"),
                ("FQDN", _) => errors.each(at, address, names::subdomain(address)),
                _ => {}
            }
        }
    }
    let list = at("ports");
    let mut seen = BTreeSet::new();
    for (index, port) in items(&object["ports"]).iter().enumerate() {
        let at = Path::Index(&list, index);
        let name = text(&port["name"]);
        if !name.is_empty() {
            errors.each(Path::Field(&at, "name"), name, names::label(name));
        }
        if !seen.insert(name) {
            errors.duplicate(Path::Field(&at, "name"), name);
        }
        one_of(&port["protocol"], &PROTOCOLS, Path::Field(&at, "protocol"), errors);
    }
    crate::kinds::validation::immutable(
        &object["addressType"],
        old.map(|old| &old["addressType"]),
        at("addressType"),
        errors,
    );
}

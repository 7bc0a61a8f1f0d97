//! Validation of network policies (`pkg/apis/networking/validation`).

use std::net::IpAddr;

use serde_json::Value;

use crate::kinds::validation::pods::container::{self, PORT_RANGE};
use crate::kinds::validation::{Errors, Path, items, selector, text};

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const TYPES: [&str; 2] = ["Ingress", "Egress"];
const NO_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

pub(in crate::kinds::validation) fn network_policy(
    object: &Value,
    _old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Field(&Path::Root, "spec");
    let spec = &object["spec"];
    selector::check(&spec["podSelector"], Path::Field(&at, "podSelector"), errors);
    for (direction, side) in [("ingress", "from"), ("egress", "to")] {
        let rules = Path::Field(&at, direction);
        for (index, rule) in items(&spec[direction]).iter().enumerate() {
            let at = Path::Index(&rules, index);
            let ports = Path::Field(&at, "ports");
            for (index, given) in items(&rule["ports"]).iter().enumerate() {
                port(given, Path::Index(&ports, index), errors);
            }
            let peers = Path::Field(&at, side);
            for (index, given) in items(&rule[side]).iter().enumerate() {
                peer(given, Path::Index(&peers, index), errors);
            }
        }
    }
    let place = Path::Field(&at, "policyTypes");
    let types = items(&spec["policyTypes"]);
    if types.len() > TYPES.len() {
        errors.invalid(place, spec["policyTypes"].clone(), "may not specify more than two policyTypes");
        return;
    }
    for (index, kind) in types.iter().enumerate() {
        if !TYPES.contains(&text(kind)) {
            errors.unsupported(Path::Index(&place, index), text(kind), &TYPES);
        }
    }
}

fn port(port: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let protocol = text(&port["protocol"]);
    if !protocol.is_empty() && !PROTOCOLS.contains(&protocol) {
        errors.unsupported(Path::Field(&at, "protocol"), protocol, &PROTOCOLS);
    }
    container::port(&port["port"], Path::Field(&at, "port"), errors);
    let Some(end) = port["endPort"].as_i64() else { return };
    let at = Path::Field(&at, "endPort");
    match &port["port"] {
        Value::Null => errors.invalid(at, end, "may not be specified when `port` is not specified"),
        Value::Number(from) => {
            if from.as_i64().is_some_and(|from| end < from) {
                errors.invalid(at, end, "must be greater than or equal to `port`");
            }
            if !(1..=65535).contains(&end) {
                errors.invalid(at, end, PORT_RANGE);
            }
        }
        _ => errors.invalid(at, end, "may not be specified when `port` is non-numeric"),
    }
}

fn peer(peer: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut selectors = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if peer[field].is_object() {
            selectors += 1;
            selector::check(&peer[field], Path::Field(&at, field), errors);
        }
    }
    match (selectors, peer["ipBlock"].is_object()) {
        (0, false) => errors.required(at, "must specify a peer"),
        (_, false) => {}
        (others, true) => {
            block(&peer["ipBlock"], Path::Field(&at, "ipBlock"), errors);
            if others > 0 {
                errors.forbidden(at, "may not specify both ipBlock and another peer");
            }
        }
    }
}

/// Validates a CIDR block, and the smaller blocks that it excludes.
fn block(block: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = Path::Field(&at, "cidr");
    let given = text(&block["cidr"]);
    if given.is_empty() {
        errors.required(place, "");
        return;
    }
    let Some(whole) = Range::read(given) else {
        errors.invalid(place, given, NO_CIDR);
        return;
    };
    let list = Path::Field(&at, "except");
    for (index, except) in items(&block["except"]).iter().enumerate() {
        let (at, given) = (Path::Index(&list, index), text(except));
        match Range::read(given) {
            None => errors.invalid(at, given, NO_CIDR),
            Some(part) if !whole.holds(&part) => {
                errors.invalid(at, given, "must be a strict subset of `cidr`");
            }
            Some(_) => {}
        }
    }
}

/// A CIDR block: its address bits, the width of addresses and the length of the prefix.
struct Range {
    bits: u128,
    width: u32,
    length: u32,
}

impl Range {
    fn read(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (bits, width) = match address.parse().ok()? {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let length = length.parse().ok().filter(|length| *length <= width)?;
        Some(Self { bits, width, length })
    }

    fn holds(&self, part: &Self) -> bool {
        let head = |bits: u128| bits.checked_shr(self.width - self.length).unwrap_or(0);
        self.width == part.width && self.length < part.length && head(self.bits) == head(part.bits)
    }
}

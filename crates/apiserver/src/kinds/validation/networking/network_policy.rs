//! Validation of network policies (`pkg/apis/networking/validation`).

use serde_json::Value;

use super::ip::{self, Range};
use super::{port as number_or_name, port_number};
use crate::kinds::validation::{Errors, Path, items, selector, text};

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const TYPES: [&str; 2] = ["Ingress", "Egress"];

/// Validates a network policy (`ValidateNetworkPolicy`). The ranges of the stored policy need not be valid.
pub(in crate::kinds::validation) fn network_policy(
    object: &Value,
    old: Option<&Value>,
    errors: &mut Errors<'_>,
) {
    let at = Path::Root.child("spec");
    let spec = &object["spec"];
    selector::check(&spec["podSelector"], at.child("podSelector"), errors);
    for (direction, side) in [("ingress", "from"), ("egress", "to")] {
        let rules = at.child(direction);
        for (index, rule) in items(&spec[direction]).iter().enumerate() {
            let at = rules.index(index);
            let ports = at.child("ports");
            for (index, given) in items(&rule["ports"]).iter().enumerate() {
                port(given, ports.index(index), errors);
            }
            let peers = at.child(side);
            for (index, given) in items(&rule[side]).iter().enumerate() {
                peer(given, old, peers.index(index), errors);
            }
        }
    }
    let place = at.child("policyTypes");
    let types = items(&spec["policyTypes"]);
    if types.len() > TYPES.len() {
        let why = "may not specify more than two policyTypes";
        errors.invalid_list(place, &spec["policyTypes"], "networking.PolicyType", why);
        return;
    }
    for (index, kind) in types.iter().enumerate() {
        if !TYPES.contains(&text(kind)) {
            errors.unsupported(place.index(index), text(kind), &TYPES);
        }
    }
}

fn port(port: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    if let Some(protocol) = port["protocol"].as_str().filter(|protocol| !PROTOCOLS.contains(protocol)) {
        errors.unsupported(at.child("protocol"), protocol, &PROTOCOLS);
    }
    number_or_name(&port["port"], at.child("port"), errors);
    let Some(end) = port["endPort"].as_i64() else { return };
    let at = at.child("endPort");
    match &port["port"] {
        Value::Null => errors.invalid(at, end, "may not be specified when `port` is not specified"),
        Value::Number(from) => {
            // A real server shows the first port, not the last one.
            if from.as_i64().is_some_and(|from| end < from) {
                errors.invalid(at, from.clone(), "must be greater than or equal to `port`");
            }
            port_number(end, at, errors);
        }
        _ => errors.invalid(at, end, "may not be specified when `port` is non-numeric"),
    }
}

fn peer(peer: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let mut selectors = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if peer[field].is_object() {
            selectors += 1;
            selector::check(&peer[field], at.child(field), errors);
        }
    }
    match (selectors, peer["ipBlock"].is_object()) {
        (0, false) => errors.required(at, "must specify a peer"),
        (_, false) => {}
        (others, true) => {
            block(&peer["ipBlock"], old, at.child("ipBlock"), errors);
            if others > 0 {
                errors.forbidden(at, "may not specify both ipBlock and another peer");
            }
        }
    }
}

/// Validates a CIDR block, and the smaller blocks that it excludes (`ValidateIPBlock`).
fn block(block: &Value, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    let place = at.child("cidr");
    let given = text(&block["cidr"]);
    if given.is_empty() {
        errors.required(place, "");
        return;
    }
    check_range(given, old, place, errors);
    let Some(whole) = Range::parse(given) else { return };
    let list = at.child("except");
    for (index, except) in items(&block["except"]).iter().enumerate() {
        let (at, given) = (list.index(index), text(except));
        check_range(given, old, at, errors);
        if Range::parse(given).is_some_and(|part| !whole.strictly_contains(&part)) {
            errors.invalid(at, given, "must be a strict subset of `cidr`");
        }
    }
}

fn check_range(range: &str, old: Option<&Value>, at: Path<'_>, errors: &mut Errors<'_>) {
    if !old.is_some_and(|old| ranges(&old["spec"]).any(|(_, stored)| stored == range)) {
        ip::check_range(range, at, errors);
    }
}

/// All ranges of a policy, with the indices of their places.
fn ranges(spec: &Value) -> impl Iterator<Item = (Place<'_>, &str)> {
    [("ingress", "from"), ("egress", "to")].into_iter().flat_map(move |(direction, side)| {
        items(&spec[direction]).iter().enumerate().flat_map(move |(rule, value)| {
            items(&value[side]).iter().enumerate().flat_map(move |(peer, value)| {
                let block = &value["ipBlock"];
                let place = Place { direction, rule, side, peer, except: None };
                let whole = block["cidr"].as_str().map(|range| (place, range));
                let parts = items(&block["except"]).iter().enumerate();
                whole.into_iter().chain(
                    parts.map(move |(index, part)| (Place { except: Some(index), ..place }, text(part))),
                )
            })
        })
    })
}

/// The place of a range in a policy.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    direction: &'a str,
    rule: usize,
    side: &'a str,
    peer: usize,
    /// The index among the excluded ranges; `None` for the range itself.
    except: Option<usize>,
}

/// The warnings about ranges that are not in the usual form (`networkPolicyWarnings`).
pub(in crate::kinds::validation) fn warn(object: &Value, warnings: &mut Vec<String>) {
    let spec = Path::Root.child("spec");
    for (place, range) in ranges(&object["spec"]) {
        let rules = spec.child(place.direction);
        let rule = rules.index(place.rule);
        let peers = rule.child(place.side);
        let peer = peers.index(place.peer);
        let block = peer.child("ipBlock");
        match place.except {
            None => ip::warn_range(range, block.child("cidr"), warnings),
            Some(index) => {
                ip::warn_range(range, block.child("except").index(index), warnings);
            }
        }
    }
}

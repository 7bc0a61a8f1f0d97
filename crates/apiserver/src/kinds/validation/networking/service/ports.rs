//! Validation of the ports of a service (`validateServicePort`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::{application_protocol, port as target_port, port_number};
use crate::gotext;
use crate::kinds::validation::{Errors, Path, items, one_of, text};
use crate::names;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Validates each port, and that their names are unique.
pub(super) fn check(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (list, ports) = (at.child("ports"), items(&spec["ports"]));
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let at = list.index(index);
        let name = text(&port["name"]);
        if ports.len() > 1 && name.is_empty() {
            errors.required(at.child("name"), "");
        } else if !name.is_empty() {
            errors.each(at.child("name"), name, names::label(name));
            if !seen.insert(name) {
                errors.duplicate(at.child("name"), name);
            }
        }
        let number = port["port"].as_i64().unwrap_or(0);
        port_number(number, at.child("port"), errors);
        one_of(&port["protocol"], &PROTOCOLS, at.child("protocol"), errors);
        target_port(&port["targetPort"], at.child("targetPort"), errors);
        application_protocol(&port["appProtocol"], at.child("appProtocol"), errors);
    }
}

/// Rejects node ports of services without them, and numbers that two ports of one protocol have.
pub(super) fn check_numbers(spec: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let (list, ports) = (at.child("ports"), items(&spec["ports"]));
    let node_port = |port: &Value| port["nodePort"].as_i64().filter(|number| *number != 0);
    if spec["type"] == "ClusterIP" {
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| node_port(port).is_some()) {
            let at = list.index(index);
            errors.forbidden(at.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let Some(number) = node_port(port) else { continue };
        if !seen.insert((text(&port["protocol"]), number)) {
            let at = list.index(index);
            errors.duplicate(at.child("nodePort"), number);
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let (protocol, number) = (text(&port["protocol"]), port["port"].as_i64().unwrap_or(0));
        if !seen.insert((protocol, number)) {
            duplicate(protocol, number, list.index(index), errors);
        }
    }
}

/// Reports a port with the number and protocol of an earlier one, as the internal struct of the server.
fn duplicate(protocol: &str, number: i64, at: Path<'_>, errors: &mut Errors<'_>) {
    let shown = format!(
        "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
        json!(protocol)
    );
    let syntax = format!(
        "core.ServicePort{{Name:\"\", Protocol:{}, AppProtocol:(*string)(nil), Port:{number}, \
         TargetPort:intstr.IntOrString{{Type:0, IntVal:0, StrVal:\"\"}}, NodePort:0}}",
        gotext::quote(protocol)
    );
    errors.duplicate_of(at, shown, syntax, "");
}

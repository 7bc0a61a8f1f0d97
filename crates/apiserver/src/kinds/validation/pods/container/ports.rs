//! Validation of the ports of containers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::validation::networking::PORT_RANGE;
use crate::kinds::validation::{Errors, Path, items, one_of, text};
use crate::names;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// Validates the ports of a container (`validateContainerPorts`).
pub(super) fn ports(list: &Value, at: Path<'_>, errors: &mut Errors<'_>) {
    let list = items(list);
    let mut named = BTreeSet::new();
    for (index, port) in list.iter().enumerate() {
        let at = at.index(index);
        let name = text(&port["name"]);
        if !name.is_empty() {
            let problems = names::port_name(name);
            if problems.is_empty() && !named.insert(name) {
                errors.duplicate(at.child("name"), name);
            }
            errors.each(at.child("name"), name, problems);
        }
        match port["containerPort"].as_i64().unwrap_or(0) {
            0 => errors.required(at.child("containerPort"), ""),
            1..=65535 => {}
            number => errors.invalid(at.child("containerPort"), number, PORT_RANGE),
        }
        match port["hostPort"].as_i64().unwrap_or(0) {
            0..=65535 => {}
            number => errors.invalid(at.child("hostPort"), number, PORT_RANGE),
        }
        one_of(&port["protocol"], &PROTOCOLS, at.child("protocol"), errors);
    }
}

/// Rejects ports of the host that containers want twice (`checkHostPortConflicts`).
pub(super) fn host_port_conflicts(containers: &[Value], at: Path<'_>, errors: &mut Errors<'_>) {
    let wanted = |port: &Value| port["hostPort"].as_i64().filter(|number| *number != 0);
    let mut seen = BTreeSet::new();
    for (index, container) in containers.iter().enumerate() {
        let at = at.index(index);
        let at = at.child("ports");
        for (index, port) in items(&container["ports"]).iter().enumerate() {
            let Some(number) = wanted(port) else { continue };
            if !seen.insert((number, text(&port["protocol"]), text(&port["hostIP"]))) {
                let key = format!("{}/{}/{number}", text(&port["protocol"]), text(&port["hostIP"]));
                errors.duplicate(at.index(index).child("hostPort"), key);
            }
        }
    }
}

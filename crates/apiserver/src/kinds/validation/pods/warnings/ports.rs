//! Warnings about ports that containers define twice.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::gotext::quote;
use crate::kinds::validation::pods::context::all_containers;
use crate::kinds::validation::{Path, items, text};

/// A port with its position.
struct Port<'a> {
    list: &'static str,
    container: usize,
    index: usize,
    fields: &'a Value,
}

impl Port<'_> {
    /// The path of the port in the specification at a path.
    fn at(&self, spec: Path<'_>) -> String {
        spec.child(self.list).index(self.container).child("ports").index(self.index).text()
    }

    fn number(&self, field: &str) -> i64 {
        self.fields[field].as_i64().unwrap_or(0)
    }

    fn text(&self, field: &str) -> &str {
        text(&self.fields[field])
    }

    /// The port as Go prints the struct with the names of its fields.
    fn as_struct(&self) -> String {
        format!(
            "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
            self.text("name"),
            self.number("hostPort"),
            self.number("containerPort"),
            self.text("protocol"),
            self.text("hostIP")
        )
    }

    /// The problem of a port beside another one with the same number and protocol.
    fn problem(&self, other: &Self) -> Option<&'static str> {
        let (own, others) = (self.number("hostPort"), other.number("hostPort"));
        let (own_address, others_address) = (self.text("hostIP"), other.text("hostIP"));
        if own == others && own_address == others_address {
            Some("duplicate port definition")
        } else if own == 0 || others == 0 {
            Some("overlapping port definition")
        } else if own == others && own_address.is_empty() != others_address.is_empty() {
            Some("dangerously ambiguous port definition")
        } else {
            None
        }
    }
}

/// The most ports with the same number and protocol with which one is compared. A real server has no limit, but sends only the
/// first of its warnings.
const MOST_COMPARED: usize = 100;

/// The warnings about the ports of all containers.
pub(super) fn ports(spec: &Value, at: Path<'_>, out: &mut Vec<String>) {
    let mut all: Vec<Port<'_>> = Vec::new();
    let mut same: BTreeMap<(i64, String), Vec<usize>> = BTreeMap::new();
    for (list, container, value) in all_containers(spec) {
        for (index, fields) in items(&value["ports"]).iter().enumerate() {
            let port = Port { list, container, index, fields };
            if !port.text("hostIP").is_empty() && port.number("hostPort") == 0 {
                out.push(format!("{}: hostIP set without hostPort: {}", port.at(at), port.as_struct()));
            }
            let earlier =
                same.entry((port.number("containerPort"), port.text("protocol").to_owned())).or_default();
            for other in earlier.iter().filter_map(|index| all.get(*index)).take(MOST_COMPARED) {
                if let Some(why) = port.problem(other) {
                    out.push(format!("{}: {why} with {}", port.at(at), other.at(at)));
                }
            }
            earlier.push(all.len());
            all.push(port);
        }
    }
    repeated_names(&all, at, out);
}

fn repeated_names(all: &[Port<'_>], at: Path<'_>, out: &mut Vec<String>) {
    let mut named: BTreeMap<&str, &Port<'_>> = BTreeMap::new();
    for port in all {
        let name = port.text("name");
        if name.is_empty() {
            continue;
        }
        if let Some(first) = named.get(name) {
            let first = first.at(at);
            out.push(format!(
                "{}: duplicate port name {} with {first}, services and probes that select ports by name will use \
                 {first}",
                port.at(at),
                quote(name)
            ));
        } else {
            named.insert(name, port);
        }
    }
}

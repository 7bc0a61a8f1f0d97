//! Cells of Nodes, Namespaces, Events and Leases.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ages;
use super::row::{Cells, NONE, Row, joined, or, or_owned};
use crate::kinds::quantity::Quantity;
use crate::profile::since;

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";

pub(super) fn node(row: &Row<'_>) -> Cells {
    let ready = row.list("/status/conditions").iter().find(|found| found["type"] == "Ready");
    let mut status = match ready {
        None => "Unknown".to_owned(),
        Some(ready) if ready["status"] == "True" => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
    };
    if row.flag("/spec/unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    let info = |field: &str| row.text_or(&format!("/status/nodeInfo/{field}"), "<unknown>").to_owned();
    let mut kernel = info("kernelVersion");
    let architecture = row.text("/status/nodeInfo/architecture");
    if !architecture.is_empty() && row.minor >= since::NODE_ARCHITECTURE_SHOWN {
        kernel += &format!(" ({architecture})");
    }
    vec![
        row.name(),
        json!(status),
        json!(roles(row)),
        row.age(),
        json!(row.text("/status/nodeInfo/kubeletVersion")),
        json!(address(row, "InternalIP")),
        json!(address(row, "ExternalIP")),
        json!(info("osImage")),
        json!(kernel),
        json!(info("containerRuntimeVersion")),
    ]
}

fn roles(row: &Row<'_>) -> String {
    let labels = row.get("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    or_owned(joined(roles))
}

fn address<'a>(row: &Row<'a>, address_type: &str) -> &'a str {
    let found = row.list("/status/addresses").iter().find(|address| address["type"] == address_type);
    or(found.and_then(|address| address["address"].as_str()).unwrap_or_default(), NONE)
}

pub(super) fn namespace(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.text("/status/phase")), row.age()]
}

pub(super) fn project(row: &Row<'_>) -> Cells {
    let name = row.get("/metadata/annotations").map(|annotations| &annotations["openshift.io/display-name"]);
    let name = name.and_then(Value::as_str).unwrap_or_default();
    vec![row.name(), json!(name), json!(row.text("/status/phase"))]
}

pub(super) fn node_metrics(row: &Row<'_>) -> Cells {
    vec![
        row.name(),
        json!(row.text("/usage/cpu")),
        json!(row.text("/usage/memory")),
        json!(row.text("/window")),
    ]
}

pub(super) fn pod_metrics(row: &Row<'_>) -> Cells {
    let sum = |name: &str| {
        let amounts =
            row.list("/containers").iter().filter_map(|container| container["usage"][name].as_str());
        let amounts = amounts.filter_map(|text| Quantity::parse(text).ok().flatten());
        json!(amounts.fold(Quantity::ZERO, Quantity::plus).text())
    };
    vec![row.name(), sum("cpu"), sum("memory"), json!(row.text("/window"))]
}

pub(super) fn lease(row: &Row<'_>) -> Cells {
    vec![row.name(), json!(row.text("/spec/holderIdentity")), row.age()]
}

/// The cells of an Event of the core group or of `events.k8s.io`.
pub(super) fn event(row: &Row<'_>) -> Cells {
    let either = |pointer: &str, other: &str| or(row.text(pointer), row.text(other)).to_owned();
    let first = either("/firstTimestamp", "/deprecatedFirstTimestamp");
    let first = ages::since(or(&first, row.text("/eventTime")), row.now);
    let last = either("/lastTimestamp", "/deprecatedLastTimestamp");
    let mut last = if last.is_empty() { first.clone() } else { ages::since(&last, row.now) };
    let mut count = row.int("/count").max(row.int("/deprecatedCount")).max(1);
    if row.get("/series").is_some() {
        last = row.since("/series/lastObservedTime");
        count = row.int("/series/count");
    }
    let about = if row.get("/involvedObject").is_some() { "/involvedObject" } else { "/regarding" };
    let kind = row.text(&format!("{about}/kind")).to_lowercase();
    let target = match row.text(&format!("{about}/name")) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let message = either("/message", "/note");
    vec![
        json!(last),
        json!(row.text("/type")),
        json!(row.text("/reason")),
        json!(target),
        json!(row.text(&format!("{about}/fieldPath"))),
        json!(source(row)),
        json!(message.trim()),
        json!(first),
        json!(count),
        row.name(),
    ]
}

/// The source of an event: a component and its host.
fn source(row: &Row<'_>) -> String {
    let first = |pointers: &[&str]| {
        let texts = pointers.iter().map(|pointer| row.text(pointer));
        texts.filter(|text| !text.is_empty()).map(str::to_owned).next().unwrap_or_default()
    };
    let component = first(&[
        "/source/component",
        "/deprecatedSource/component",
        "/reportingComponent",
        "/reportingController",
    ]);
    let host = first(&["/source/host", "/deprecatedSource/host", "/reportingInstance"]);
    if host.is_empty() { component } else { format!("{component}, {host}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_shows_when_it_was_last_seen_and_its_object() {
        let object = json!({
            "metadata": { "name": "e" }, "type": "Warning", "reason": "BackOff", "message": " again ",
            "involvedObject": { "kind": "Pod", "name": "p" }, "source": { "component": "kubelet", "host": "n" },
            "firstTimestamp": "2024-01-01T00:00:00Z", "lastTimestamp": "2024-01-01T00:09:00Z", "count": 4,
        });
        let cells = event(&Row { object: &object, now: "2024-01-01T00:10:00Z".parse().unwrap(), minor: 36 });
        let shown: Vec<Value> = serde_json::from_str(
            r#"["60s","Warning","BackOff","pod/p","","kubelet, n","again","10m",4,"e"]"#,
        )
        .unwrap();
        assert_eq!(cells, shown);
    }
}

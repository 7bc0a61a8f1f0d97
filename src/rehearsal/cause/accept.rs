//! Why a release is not accepted.

use serde_json::json;
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS};
use windtunnel_core::{View, condition};

use super::{Blamed, Found};
use crate::plan::FaultTarget;
use crate::rehearsal::repair::Repair;

/// The ConfigMaps of admin gates and of their acknowledgements.
const GATES: (&str, &str) = ("openshift-config-managed", "admin-gates");
const ACKS: (&str, &str) = ("openshift-config", "admin-acks");

const WAITS: &str = "the cluster-version operator waits for its preconditions";

pub(super) fn find(view: &View) -> Option<Found> {
    let version = view.get(&CLUSTER_VERSIONS, "", "version")?;
    let accepted =
        condition::find_in_status(version, "ReleaseAccepted").filter(|found| found["status"] == "False");
    let message = accepted?["message"].as_str().unwrap_or_default();
    gate(view, message)
        .or_else(|| overrides(message))
        .or_else(|| operator(view, message))
        .or_else(|| Some(release(message)))
}

/// Gates without an acknowledgement.
fn gate(view: &View, message: &str) -> Option<Found> {
    let gates = view.get(&CONFIG_MAPS, GATES.0, GATES.1)?["data"].as_object()?;
    let given = view.get(&CONFIG_MAPS, ACKS.0, ACKS.1).map(|acks| acks["data"].clone()).unwrap_or_default();
    let is_open = |(gate, text): &(&String, &serde_json::Value)| {
        given[gate.as_str()] != "true" && text.as_str().is_some_and(|text| message.contains(text))
    };
    let open: serde_json::Map<String, serde_json::Value> =
        gates.iter().filter(is_open).map(|(gate, _)| (gate.clone(), json!("true"))).collect();
    if open.is_empty() {
        return None;
    }
    let repair = Repair::patch(&CONFIG_MAPS, ACKS.0, ACKS.1, json!({ "data": open }));
    Some(Found::new(Blamed::new("ConfigMap", ACKS.0, ACKS.1), WAITS, message, Some(repair)))
}

fn overrides(message: &str) -> Option<Found> {
    if !message.contains("overrides") {
        return None;
    }
    let repair = Repair::patch(&CLUSTER_VERSIONS, "", "version", json!({ "spec": { "overrides": null } }));
    Some(Found::new(Blamed::new("ClusterVersion", "", "version"), WAITS, message, Some(repair)))
}

/// An operator that reports Upgradeable=False; for OLM the installed operator that limits the version.
fn operator(view: &View, message: &str) -> Option<Found> {
    let is_false = |operator: &&windtunnel_core::Object| {
        condition::find_in_status(operator, "Upgradeable").is_some_and(|found| found["status"] == "False")
    };
    let found = view.list(&CLUSTER_OPERATORS).find(is_false)?;
    let why = condition::find_in_status(found, "Upgradeable")?["message"].as_str().unwrap_or_default();
    let blamed = limited_by(why).unwrap_or_else(|| Blamed::object(found));
    let text = match blamed.kind.as_str() {
        "ClusterServiceVersion" => {
            format!("update or remove the operator {}/{}", blamed.namespace, blamed.name)
        }
        _ => format!("do what ClusterOperator {} asks for: {why}", found.name()),
    };
    let target = FaultTarget::Operator(found.name().to_owned());
    let message = if message.contains(why) { message } else { why };
    Some(Found::new(blamed, WAITS, message, Some(Repair::heal(text, target))))
}

/// The installed operator in `ClusterServiceVersions blocking cluster upgrade: NAMESPACE/NAME is incompatible ...`.
fn limited_by(message: &str) -> Option<Blamed> {
    let (_, list) = message.split_once("blocking cluster upgrade: ")?;
    let (namespace, name) = list.split_whitespace().next()?.split_once('/')?;
    Some(Blamed::new("ClusterServiceVersion", namespace, name))
}

/// A release that cannot be retrieved or verified.
fn release(message: &str) -> Found {
    let waits = "the cluster-version operator waits for the release";
    Found::new(Blamed::new("ClusterVersion", "", "version"), waits, message, None)
}

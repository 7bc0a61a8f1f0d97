//! Nodes and pools that hold an update up.

use serde_json::json;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES, PODS};
use windtunnel_core::{Object, View, condition, pod, pool};

use super::{Blamed, Found};
use crate::plan::FaultTarget;
use crate::rehearsal::repair::Repair;

/// What holds a pool up: it is paused or degraded, one of its nodes is not ready, or a drained node does not get empty.
pub(super) fn find(view: &View, pool: &str) -> Option<Found> {
    paused(view, pool)
        .or_else(|| held_pod(view))
        .or_else(|| unready_in(view, pool))
        .or_else(|| degraded(view, pool))
}

/// A pool that is paused.
pub(super) fn paused(view: &View, name: &str) -> Option<Found> {
    let found = view.get(&MACHINE_CONFIG_POOLS, "", name).filter(|found| pool::is_paused(found))?;
    let waits = format!("the machines of pool {name} wait until it is unpaused");
    let repair = Repair::patch(&MACHINE_CONFIG_POOLS, "", name, json!({ "spec": { "paused": false } }));
    let message = "the pool is paused: its nodes keep their old configuration and operating system";
    Some(Found::new(Blamed::object(found), waits, message, Some(repair)))
}

/// A pod on a drained node that is deleted and stays.
fn held_pod(view: &View) -> Option<Found> {
    let is_held = |found: &&Object| {
        let node = view.get(&NODES, "", pod::node_name(found));
        !found["metadata"]["deletionTimestamp"].is_null()
            && node.is_some_and(|node| node["spec"]["unschedulable"] == true)
            && !found.list("/metadata/finalizers").is_empty()
    };
    let found = view.list(&PODS).find(is_held)?;
    let finalizer =
        found.list("/metadata/finalizers").first().and_then(|name| name.as_str()).unwrap_or_default();
    let waits = format!("the drain of node {} waits for the pod", pod::node_name(found));
    let message = format!("the pod is deleted, and its finalizer {finalizer} keeps it");
    let patch = json!({ "metadata": { "finalizers": null } });
    let repair = Repair::patch(&PODS, found.namespace(), found.name(), patch);
    Some(Found::new(Blamed::object(found), waits, &message, Some(repair)))
}

/// A node of a pool that is not ready.
fn unready_in(view: &View, pool: &str) -> Option<Found> {
    let role = format!("node-role.kubernetes.io/{pool}");
    unready_of(view, |node| node.label(&role).is_some())
}

/// Any node that is not ready: operators wait for their pods on it.
pub(super) fn unready(view: &View) -> Option<Found> {
    unready_of(view, |_| true)
}

fn unready_of(view: &View, is_meant: impl Fn(&Object) -> bool) -> Option<Found> {
    let node = view.list(&NODES).find(|node| is_meant(node) && !condition::is_true(node, "Ready"))?;
    let ready = condition::find_in_status(node, "Ready");
    let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).unwrap_or_default().to_owned();
    let message = format!("the node is not ready: {}: {}", text("reason"), text("message"));
    let name = node.name().to_owned();
    let waits = format!("operators and the pool wait until node {name} is ready");
    let repair = Repair::heal(format!("make node {name} ready, or remove it"), FaultTarget::Node(name));
    Some(Found::new(Blamed::object(node), waits, &message, Some(repair)))
}

/// A node of a pool that is cordoned and not being updated: the pool counts it as unavailable.
pub(super) fn cordoned(view: &View, pool: &str) -> Option<Found> {
    let role = format!("node-role.kubernetes.io/{pool}");
    let annotation = |node: &Object, name: &str| {
        node.annotation(&format!("machineconfiguration.openshift.io/{name}")).unwrap_or_default().to_owned()
    };
    let is_settled = |node: &Object| annotation(node, "currentConfig") == annotation(node, "desiredConfig");
    let node = view.list(&NODES).find(|node| {
        node.label(&role).is_some() && node["spec"]["unschedulable"] == true && is_settled(node)
    })?;
    let waits = format!("pool {pool} counts node {} as unavailable", node.name());
    let repair = Repair::patch(&NODES, "", node.name(), json!({ "spec": { "unschedulable": null } }));
    let message = "the node is cordoned, and no update of it is on its way";
    Some(Found::new(Blamed::object(node), waits, message, Some(repair)))
}

/// A degraded node or pool, of any pool.
pub(super) fn any_degraded(view: &View) -> Option<Found> {
    view.list(&MACHINE_CONFIG_POOLS).find_map(|pool| degraded(view, pool.name()))
}

/// A pool that reports a degraded node, or that cannot be rendered.
fn degraded(view: &View, name: &str) -> Option<Found> {
    let found = view.get(&MACHINE_CONFIG_POOLS, "", name)?;
    let bad = ["RenderDegraded", "NodeDegraded", "Degraded"]
        .into_iter()
        .find_map(|kind| condition::find_in_status(found, kind).filter(|found| found["status"] == "True"))?;
    let message = bad["message"].as_str().unwrap_or_default();
    let node = view.list(&NODES).find(|node| {
        node.annotation("machineconfiguration.openshift.io/state") == Some("Degraded")
            && node.label(&format!("node-role.kubernetes.io/{name}")).is_some()
    });
    let (blamed, repair) = match node {
        Some(node) => {
            let text = format!("repair node {}: {message}", node.name());
            (Blamed::object(node), Repair::heal(text, FaultTarget::Node(node.name().to_owned())))
        }
        None => {
            let text = format!("repair pool {name}: {message}");
            (Blamed::object(found), Repair::heal(text, FaultTarget::Pool(name.to_owned())))
        }
    };
    Some(Found::new(blamed, format!("pool {name} does not go on"), message, Some(repair)))
}

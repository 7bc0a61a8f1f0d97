//! MachineConfigNodes: one object for each node that tells how far it is with its MachineConfig (`upgrademonitor` of the
//! machine-config operator).
//!
//! The operator makes them ([`keeper`]); the daemon of the node and the drain controller tell in them what they do, in the
//! words of [`told`]. A phase is `False` before it begins, `Unknown` while it lasts and `True` afterwards; when the node is
//! updated, all of them are `False` again.

pub(super) mod keeper;
#[cfg(test)]
mod tests;
pub(super) mod told;

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::condition;
use windtunnel_core::condition::Condition;
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, FEATURE_GATES, MACHINE_CONFIG_NODES};
use windtunnel_core::{Key, Object, Resource, View, Write};

use self::told::Told;
use super::annotations::{CURRENT_CONFIG, DESIRED_CONFIG};
use super::controller_line;
use crate::manifests;
use crate::manifests::Line;

/// The definition of the kind.
pub(super) const DEFINITION: &str = "machineconfignodes.machineconfiguration.openshift.io";
/// From this minor on every cluster has them.
const FOR_EVERYBODY: Line = (4, 20);
/// The name of a MachineConfig that is not known yet.
const NOT_YET_SET: &str = "not-yet-set";

/// All conditions, in the order in which they are first told.
const ALL: [&str; 14] = [
    "PinnedImageSetsProgressing",
    "UpdatePrepared",
    "UpdateExecuted",
    "UpdatePostActionComplete",
    "UpdateComplete",
    "Resumed",
    "Drained",
    "AppliedFilesAndOS",
    "Cordoned",
    "RebootedNode",
    "Updated",
    "Uncordoned",
    "NodeDegraded",
    "PinnedImageSetsDegraded",
];

/// The kind as the cluster serves it; `None` where the controller's release has none, whatever a later one left behind.
fn served(view: &View) -> Option<Resource> {
    let gate = view.get(&FEATURE_GATES, "", "cluster");
    let is_preview = gate.is_some_and(|gate| manifests::is_preview(gate.text("/spec/featureSet")));
    if controller_line(view) < FOR_EVERYBODY && !is_preview {
        return None;
    }
    let definition = view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", DEFINITION)?;
    let version = definition.list("/spec/versions").first()?["name"].as_str()?.to_owned();
    Some(Resource { version: version.into(), ..MACHINE_CONFIG_NODES.clone() })
}

/// Where the object of a node stands.
pub(super) fn key(node: &str) -> Key {
    MACHINE_CONFIG_NODES.key("", node)
}

/// Whether the object of a node is there and nobody has told anything in it.
pub(super) fn is_untold(node: &str, view: &View) -> bool {
    view.get_key(&key(node)).is_some_and(|object| object.list("/status/conditions").is_empty())
}

/// What the object of a node says of a failure: nothing while nobody has told anything in it (`None`) and while all is well
/// (`Some` of an empty text).
pub(super) fn failure(node: &str, view: &View) -> Option<String> {
    let object = view.get_key(&key(node))?;
    let found = condition::of(object, "NodeDegraded")?;
    let message = found["message"].as_str().filter(|_| found["status"] == "True");
    Some(message.unwrap_or_default().to_owned())
}

/// Tells of one node, one thing after the other: others see each of them.
#[derive(Debug)]
pub(super) struct Teller {
    resource: Resource,
    object: Value,
    current: String,
    desired: String,
    writes: Vec<Write>,
}

impl Teller {
    /// Who tells of `node`; `None` where it has no such object.
    pub(super) fn of(node: &Object, view: &View) -> Option<Self> {
        let object = view.get_key(&key(node.name()))?;
        let annotation = |key: &str| node.annotation(key).unwrap_or_default().to_owned();
        Some(Self {
            resource: served(view)?,
            object: object.to_value(),
            current: annotation(CURRENT_CONFIG),
            desired: annotation(DESIRED_CONFIG),
            writes: Vec::new(),
        })
    }

    /// The node has this MachineConfig by now.
    pub(super) fn has(&mut self, config: &str) {
        config.clone_into(&mut self.current);
    }

    /// The node is to have this MachineConfig.
    pub(super) fn target(&mut self, config: &str) {
        if self.object["spec"]["configVersion"]["desired"] == config {
            return;
        }
        self.object["spec"]["configVersion"]["desired"] = json!(config);
        self.object["metadata"]["generation"] = json!(self.generation() + 1);
        let patch = json!({ "spec": { "configVersion": { "desired": config } } });
        self.writes.push(Write::merge_patch(&self.resource, "", self.name(), patch));
    }

    /// Tells something, unless that stands there.
    pub(super) fn tell(&mut self, told: &Told, now: Time) {
        let mut list = self.object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let parent = &told.parent;
        if condition::find(&list, &parent.kind).is_some_and(|old| Condition::read(old) == *parent) {
            return;
        }
        if list.is_empty() {
            list.extend(ALL.iter().map(|kind| written(&not_yet(kind), now)));
        } else if parent.kind == "Updated" {
            reset(&mut list, self.object["spec"]["configVersion"]["desired"].as_str(), now);
        } else if condition::find(&list, "Updated").is_some_and(|updated| updated["status"] == "True") {
            put(&mut list, &told::disturbed(), now);
        }
        for condition in told.child.iter().chain([parent]) {
            put(&mut list, condition, now);
        }
        let is_validated = parent.kind != "UpdatePrepared" || parent.status == "True";
        let is_known = is_validated && !self.desired.is_empty();
        let mut config = json!({ "desired": if is_known { self.desired.as_str() } else { NOT_YET_SET } });
        if !self.current.is_empty() {
            config["current"] = json!(self.current);
        }
        let status = json!({
            "conditions": list, "configVersion": config, "observedGeneration": self.generation() + 1,
        });
        self.object["status"] = status.clone();
        let patch = json!({ "status": status });
        self.writes.push(Write::merge_patch_status(&self.resource, "", self.name(), patch));
    }

    /// What that comes to.
    pub(super) fn into_writes(self) -> Vec<Write> {
        self.writes
    }

    fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    fn generation(&self) -> i64 {
        self.object["metadata"]["generation"].as_i64().unwrap_or_default()
    }
}

/// What is said of a condition before anything happened.
fn not_yet(kind: &str) -> Condition {
    match kind {
        "PinnedImageSetsProgressing" => {
            Condition::new(kind, "False", "AsExpected", "All pinned image sets complete")
        }
        "PinnedImageSetsDegraded" => Condition::new(kind, "False", "AsExpected", "All is good"),
        _ => {
            let message = format!("This node has not yet entered the {kind} phase");
            Condition::new(kind, "False", "NotYetOccurred", message)
        }
    }
}

/// An update begins or is over: what was done on the way is a thing of the past.
fn reset(list: &mut [Value], config: Option<&str>, now: Time) {
    let config = config.unwrap_or(NOT_YET_SET);
    for condition in list.iter_mut().filter(|condition| condition["status"] != "False") {
        let message = condition["message"].as_str().unwrap_or_default();
        condition["message"] = json!(format!("Action during update to {config}: {message}"));
        condition["status"] = json!("False");
        condition["lastTransitionTime"] = json!(rfc3339(now));
    }
}

/// Puts a condition where the one of its type stands. Its time is that of the telling, even of a message alone.
fn put(list: &mut Vec<Value>, condition: &Condition, now: Time) {
    let told = written(condition, now);
    match list.iter_mut().find(|old| old["type"] == *condition.kind) {
        Some(old) => *old = told,
        None => list.push(told),
    }
}

fn written(condition: &Condition, now: Time) -> Value {
    json!({
        "type": condition.kind,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": rfc3339(now),
    })
}

//! MachineConfigNodes: one object per node with the progress of its MachineConfig update (`upgrademonitor` of
//! the machine-config operator).
//!
//! The operator creates them ([`keeper`]). The node's daemon and the drain controller report progress in
//! them, with the messages of [`progress_steps`]. A phase is `False` before it starts, `Unknown` while it
//! runs and `True` afterwards. When the node is updated, all phases become `False` again.

pub(super) mod keeper;
pub(super) mod progress_steps;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::resources::{CUSTOM_RESOURCE_DEFINITIONS, FEATURE_GATES, MACHINE_CONFIG_NODES};
use windtunnel_core::{Key, Object, Resource, View, Write, name_of};

use self::progress_steps::ProgressStep;
use super::annotations::{CURRENT_CONFIG, DESIRED_CONFIG};
use super::controller_line;
use crate::manifests::{self, MajorMinor};

/// The name of the CustomResourceDefinition.
pub(super) const DEFINITION: &str = "machineconfignodes.machineconfiguration.openshift.io";
/// The first minor with MachineConfigNodes in every cluster. Earlier ones have them as a preview.
const FOR_EVERYBODY: MajorMinor = (4, 20);
/// Placeholder for an unknown MachineConfig.
const NOT_YET_SET: &str = "not-yet-set";

/// All conditions, in the order of their first write.
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

/// Returns whether the machine-config operator keeps MachineConfigNodes up to date: its release has them in every
/// cluster, or the feature set opens their gate. Otherwise those that exist stay as they are, left over from another
/// release or feature set (`syncMachineConfigNodes` and `pkg/upgrademonitor` return at once).
pub fn are_maintained(view: &View) -> bool {
    let gate = view.get(&FEATURE_GATES, "", "cluster");
    controller_line(view) >= FOR_EVERYBODY
        || gate.is_some_and(|gate| manifests::is_preview(gate.text("/spec/featureSet")))
}

/// The served version of the kind. `None` if the controller does not use it ([`are_maintained`]).
fn served(view: &View) -> Option<Resource> {
    if !are_maintained(view) {
        return None;
    }
    let definition = view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", DEFINITION)?;
    let version = definition.list("/spec/versions").first()?["name"].as_str()?.to_owned();
    Some(Resource { version: version.into(), ..MACHINE_CONFIG_NODES.clone() })
}

/// The key of a node's object.
pub(super) fn key(node: &str) -> Key {
    MACHINE_CONFIG_NODES.key("", node)
}

/// Returns whether a node's object exists without any conditions.
pub(super) fn has_no_conditions(node: &str, view: &View) -> bool {
    view.get_key(&key(node)).is_some_and(|object| object.conditions().is_empty())
}

/// The failure in a node's object. `None` if it has no conditions yet, empty if there is no failure, no object, or if
/// the object is left over (`syncStatusOnly` and `calculateStatus`).
pub(super) fn failure(node: &str, view: &View) -> Option<String> {
    let Some(object) = view.get_key(&key(node)) else { return Some(String::new()) };
    if object.conditions().is_empty() {
        return None;
    }
    let found = condition::find_in_status(object, "NodeDegraded").filter(|found| found["status"] == "True");
    let message = found.and_then(|found| found["message"].as_str()).filter(|_| are_maintained(view));
    Some(message.unwrap_or_default().to_owned())
}

/// The names of the pinned image sets that a node has completely, in the current generation.
pub(super) fn complete_sets(object: &Object) -> impl Iterator<Item = (&str, i64)> {
    object.list("/status/pinnedImageSets").iter().filter_map(|set| {
        let (current, desired) = (set["currentGeneration"].as_i64()?, set["desiredGeneration"].as_i64()?);
        (current == desired).then_some((set["name"].as_str()?, current))
    })
}

/// Returns whether a node has all images of its pinned image sets (`isPinnedImageSetsUpdated`). A node without an
/// object has not.
pub(super) fn has_pinned_images(node: &str, view: &View) -> bool {
    view.get_key(&key(node))
        .is_some_and(|object| complete_sets(object).count() == object.list("/status/pinnedImageSets").len())
}

/// The write of conditions and entries about pinned images to a node's object. `None` if the node has no object
/// or nothing changes.
pub(super) fn write_pinned(
    node: &str,
    view: &View,
    conditions: &[Condition],
    sets: Vec<Value>,
    now: Time,
) -> Option<Write> {
    let (object, resource) = (view.get_key(&key(node))?, served(view)?);
    let mut list = object.conditions().to_vec();
    if list.is_empty() {
        list.extend(ALL.iter().map(|kind| condition_value(&initial_condition(kind), now)));
    }
    for wanted in conditions {
        let old = condition::find(&list, &wanted.kind).map(Condition::from_value);
        if old.as_ref() != Some(wanted) {
            put(&mut list, wanted, now);
        }
    }
    let sets = if sets.is_empty() { Value::Null } else { Value::Array(sets) };
    let status = &object["status"];
    if status["conditions"].as_array() == Some(&list) && status["pinnedImageSets"] == sets {
        return None;
    }
    let mut patch = json!({ "conditions": list, "pinnedImageSets": sets });
    if status["configVersion"].is_null() {
        patch["configVersion"] = json!({ "desired": NOT_YET_SET });
    }
    Some(Write::merge_patch_status(&resource, "", node, json!({ "status": patch })))
}

/// Writes the progress of one node, each step as a separate write, because other clients see each of them.
#[derive(Debug)]
pub(super) struct ProgressWriter {
    resource: Resource,
    object: Value,
    current: String,
    desired: String,
    writes: Vec<Write>,
}

impl ProgressWriter {
    /// The writer for `node`. `None` if it has no MachineConfigNode.
    pub(super) fn for_node(node: &Object, view: &View) -> Option<Self> {
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

    /// Sets the current MachineConfig of the node.
    pub(super) fn set_current(&mut self, config: &str) {
        config.clone_into(&mut self.current);
    }

    /// Sets the desired MachineConfig in the spec.
    pub(super) fn set_target(&mut self, config: &str) {
        if self.object["spec"]["configVersion"]["desired"] == config {
            return;
        }
        self.object["spec"]["configVersion"]["desired"] = json!(config);
        self.object["metadata"]["generation"] = json!(self.generation() + 1);
        let patch = json!({ "spec": { "configVersion": { "desired": config } } });
        self.writes.push(Write::merge_patch(&self.resource, "", self.name(), patch));
    }

    /// Writes a progress step, unless its phase is unchanged.
    pub(super) fn write_step(&mut self, step: &ProgressStep, now: Time) {
        let mut list = self.object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let parent = &step.parent;
        if condition::find(&list, &parent.kind).is_some_and(|old| Condition::from_value(old) == *parent) {
            return;
        }
        if list.is_empty() {
            list.extend(ALL.iter().map(|kind| condition_value(&initial_condition(kind), now)));
        } else if parent.kind == "Updated" {
            reset(&mut list, self.object["spec"]["configVersion"]["desired"].as_str(), now);
        } else if condition::is_true_in(&list, "Updated") {
            put(&mut list, &progress_steps::manually_disrupted(), now);
        }
        for condition in step.child.iter().chain([parent]) {
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

    pub(super) fn into_writes(self) -> Vec<Write> {
        self.writes
    }

    fn name(&self) -> &str {
        name_of(&self.object)
    }

    fn generation(&self) -> i64 {
        self.object["metadata"]["generation"].as_i64().unwrap_or_default()
    }
}

/// The initial state of a condition.
fn initial_condition(kind: &str) -> Condition {
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

/// Resets all conditions to False when an update starts or ends.
fn reset(list: &mut [Value], config: Option<&str>, now: Time) {
    let config = config.unwrap_or(NOT_YET_SET);
    for condition in list.iter_mut().filter(|condition| condition["status"] != "False") {
        let message = condition["message"].as_str().unwrap_or_default();
        condition["message"] = json!(format!("Action during update to {config}: {message}"));
        condition["status"] = json!("False");
        condition["lastTransitionTime"] = json!(rfc3339(now));
    }
}

/// Replaces or appends a condition. Its transition time is that of the last write, even if only the message
/// changed.
fn put(list: &mut Vec<Value>, condition: &Condition, now: Time) {
    let value = condition_value(condition, now);
    match list.iter_mut().find(|old| old["type"] == *condition.kind) {
        Some(old) => *old = value,
        None => list.push(value),
    }
}

fn condition_value(condition: &Condition, now: Time) -> Value {
    json!({
        "type": condition.kind,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": rfc3339(now),
    })
}

//! The fields of nodes and pools that assessments read. Changes of other fields do not change any insight.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::clock::Time;
use windtunnel_core::condition::find_in_status;
use windtunnel_core::{Object, name_of, node, pool, selector};

use super::unavailable_condition::UnavailableCondition;
use crate::assessment::dated_condition::DatedCondition;
use crate::assessment::time::time_field;

/// Prefix of the annotations and labels of the machine-config operator.
const PREFIX: &str = "machineconfiguration.openshift.io/";

/// The annotation of a MachineConfig with the version of the release that generated it.
const RELEASE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";

/// The taint of unschedulable nodes.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The pool of the control plane, which takes precedence over all others.
pub(crate) const MASTER: &str = "master";
/// The pool of nodes that no other pool selects.
pub(crate) const WORKER: &str = "worker";

/// The relevant fields of a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The node's name.
    pub name: String,
    labels: Value,
    /// Annotations of the machine-config operator, without their prefix.
    annotations: BTreeMap<String, String>,
    pub(super) is_cordoned: bool,
    /// When the node was cordoned: `timeAdded` of the taint that follows from a cordon.
    pub(crate) cordoned_since: Option<Time>,
    /// The conditions that keep pods off the node, in their order.
    pub(crate) unavailable_conditions: Vec<(UnavailableCondition, DatedCondition)>,
}

impl Node {
    /// Reads a Node.
    pub fn read(node: &Value) -> Self {
        let metadata = &node["metadata"];
        let annotations = metadata["annotations"].as_object().into_iter().flatten();
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        Self {
            name: name_of(node).to_owned(),
            labels: metadata["labels"].clone(),
            annotations: annotations
                .filter_map(|(key, text)| {
                    Some((key.strip_prefix(PREFIX)?.to_owned(), text.as_str()?.to_owned()))
                })
                .collect(),
            is_cordoned: node::is_unschedulable(node),
            cordoned_since: cordoned_since(node),
            unavailable_conditions: conditions.filter_map(unavailable_condition).collect(),
        }
    }

    /// Returns whether its daemon requests a drain that is not complete yet.
    pub(crate) fn requests_drain(&self) -> bool {
        let (desired, applied) = (self.annotation("desiredDrain"), self.annotation("lastAppliedDrain"));
        desired.starts_with("drain-") && desired != applied
    }

    /// Returns whether its daemon has triggered a reboot and not reported since. After a failed reboot its
    /// state is `Degraded`.
    pub(crate) fn is_rebooting(&self) -> bool {
        self.annotation("post-config-action") == "Rebooting" && self.annotation("state") != "Degraded"
    }

    /// Returns an annotation of the machine-config operator; empty if there is none.
    pub(super) fn annotation(&self, name: &str) -> &str {
        self.find_annotation(name).unwrap_or_default()
    }

    /// Returns an annotation of the machine-config operator.
    pub(super) fn find_annotation(&self, name: &str) -> Option<&str> {
        self.annotations.get(name).map(String::as_str)
    }

    /// Returns the names of the MachineConfigs that the node has and should get; empty if unknown.
    pub(crate) fn machine_configs(&self) -> [&str; 2] {
        ["currentConfig", "desiredConfig"].map(|name| self.annotation(name))
    }
}

fn unavailable_condition(condition: &Value) -> Option<(UnavailableCondition, DatedCondition)> {
    let kind = condition["type"].as_str()?;
    let found = DatedCondition::read(condition);
    UnavailableCondition::find(kind, &found.status).map(|problem| (problem, found))
}

fn cordoned_since(node: &Value) -> Option<Time> {
    let taints = node["spec"]["taints"].as_array()?;
    let taint = taints.iter().find(|taint| taint["key"] == UNSCHEDULABLE)?;
    time_field(taint, "timeAdded")
}

/// The relevant fields of a MachineConfigPool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The pool's name.
    pub name: String,
    selector: Value,
    is_paused: bool,
    /// The MachineConfig that its nodes should get; empty if it has none.
    target: String,
    /// The image that its nodes should run if the pool layers a custom image; otherwise empty.
    pub(super) image: String,
    /// The condition `Degraded`, if it is `True`.
    pub degraded: Option<DatedCondition>,
}

impl Pool {
    /// Reads a MachineConfigPool.
    pub fn read(pool: &Value) -> Self {
        let metadata = &pool["metadata"];
        let layered = metadata["labels"].get(format!("{PREFIX}layering-enabled")).is_some();
        let image = &metadata["annotations"][format!("{PREFIX}newestImageEquivalentConfig")];
        let degraded = find_in_status(pool, "Degraded").map(DatedCondition::read);
        Self {
            name: name_of(pool).to_owned(),
            selector: pool["spec"]["nodeSelector"].clone(),
            is_paused: pool::is_paused(pool),
            target: pool::desired_config(pool).to_owned(),
            image: image.as_str().filter(|_| layered).unwrap_or_default().to_owned(),
            degraded: degraded.filter(|found| found.has_status("True")),
        }
    }

    /// Returns whether its nodes are excluded from updates.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Returns whether the node's target is the pool's current MachineConfig. If the pool's target has
    /// changed meanwhile, no controller retargets the node before its return.
    pub(crate) fn is_node_target(&self, node: &Node) -> bool {
        self.target.is_empty() || self.target == node.annotation("desiredConfig")
    }

    /// Returns whether this is the MachineConfig that its nodes should get.
    pub(super) fn is_target_config(&self, machine_config: &str) -> bool {
        self.target == machine_config
    }

    /// Returns whether it is the pool of the control plane.
    pub fn is_control_plane(&self) -> bool {
        self.name == MASTER
    }

    /// Returns whether replacing this pool by `other` makes no difference to its nodes.
    pub fn is_same_for_nodes(&self, other: &Self) -> bool {
        let of_nodes = |pool: &'_ Self| Self { degraded: None, ..pool.clone() };
        of_nodes(self) == of_nodes(other)
    }
}

/// Returns the pool that a node is updated with: that of the control plane, else the first custom pool, else
/// that of workers. `oc` and the upstream controller take any of several custom pools that select the node.
pub fn pool_of<'a>(node: &Node, pools: impl IntoIterator<Item = &'a Pool>) -> Option<&'a Pool> {
    first_pool(&node.labels, pools, |pool| (&pool.name, &pool.selector))
}

/// Returns the pool of a node like [`pool_of`], among MachineConfigPools as objects.
pub(crate) fn pool_object_of<'a>(
    node: &Node,
    pools: impl IntoIterator<Item = &'a Object>,
) -> Option<&'a Object> {
    first_pool(&node.labels, pools, |pool| (pool.name(), &pool["spec"]["nodeSelector"]))
}

fn first_pool<'a, P>(
    labels: &Value,
    pools: impl IntoIterator<Item = &'a P>,
    name_and_selector: impl Fn(&'a P) -> (&'a str, &'a Value),
) -> Option<&'a P> {
    let selects = |pool: &&'a P| selector::selector_matches(name_and_selector(pool).1, labels);
    pools.into_iter().filter(selects).min_by_key(|pool| match name_and_selector(pool).0 {
        MASTER => 0,
        WORKER => 2,
        _ => 1,
    })
}

/// Returns the release version in the annotations of a MachineConfig, if there is one.
pub(crate) fn release_in(annotations: Option<&BTreeMap<String, String>>) -> Option<&str> {
    annotations?.get(RELEASE_VERSION).map(String::as_str).filter(|version| !version.is_empty())
}

/// Returns the release version of a MachineConfig, if it has one.
pub fn release_of(machine_config: &Value) -> Option<&str> {
    let version = machine_config["metadata"]["annotations"][RELEASE_VERSION].as_str();
    version.filter(|version| !version.is_empty())
}

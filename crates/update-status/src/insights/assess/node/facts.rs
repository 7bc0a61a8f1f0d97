//! The fields of nodes and pools that insights depend on. Changes of other fields do not change any insight.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::condition::of;
use windtunnel_core::selector;

use crate::insights::assess::dated::Dated;

/// Prefix of the annotations of the machine-config operator.
const PREFIX: &str = "machineconfiguration.openshift.io/";

/// The annotation of a MachineConfig with the version of the release that generated it.
const RELEASE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";

/// The taint of unschedulable nodes.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The pool of the control plane, which takes precedence over all others.
const MASTER: &str = "master";
/// The pool of nodes that no other pool selects.
const WORKER: &str = "worker";

/// The relevant fields of a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The node's name.
    pub name: String,
    labels: Value,
    /// Annotations of the machine-config operator, without their prefix.
    annotations: BTreeMap<String, String>,
    /// Whether the node is cordoned.
    pub(in crate::insights) unschedulable: bool,
    /// When the node was cordoned: `timeAdded` of the taint that follows from a cordon.
    pub(in crate::insights) cordoned_since: Option<Time>,
    /// The conditions that keep pods off the node, in their order.
    pub(in crate::insights) lacks: Vec<(Lack, Dated)>,
}

/// A node condition that keeps pods off the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// The node is not ready.
    Ready,
    /// The node has disk pressure.
    DiskSpace,
    /// The network of the node is unavailable.
    Network,
}

impl Node {
    /// Reads a Node.
    pub fn read(node: &Value) -> Self {
        let metadata = &node["metadata"];
        let annotations = metadata["annotations"].as_object().into_iter().flatten();
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        Self {
            name: metadata["name"].as_str().unwrap_or_default().to_owned(),
            labels: metadata["labels"].clone(),
            annotations: annotations
                .filter_map(|(key, text)| {
                    Some((key.strip_prefix(PREFIX)?.to_owned(), text.as_str()?.to_owned()))
                })
                .collect(),
            unschedulable: node["spec"]["unschedulable"] == true,
            cordoned_since: cordoned_since(node),
            lacks: conditions.filter_map(lack).collect(),
        }
    }

    /// Returns whether its daemon requests a drain that is not complete yet.
    pub(in crate::insights) fn asks_for_drain(&self) -> bool {
        let (desired, applied) = (self.annotation("desiredDrain"), self.annotation("lastAppliedDrain"));
        desired.starts_with("drain-") && desired != applied
    }

    /// Returns whether its daemon has triggered a reboot and not reported since. After a failed reboot its
    /// state is `Degraded`.
    pub(in crate::insights) fn reboots(&self) -> bool {
        self.annotation("post-config-action") == "Rebooting" && self.annotation("state") != "Degraded"
    }

    /// Returns an annotation of the machine-config operator; empty if there is none.
    pub(super) fn annotation(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// Returns an annotation of the machine-config operator.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.annotations.get(name).map(String::as_str)
    }
}

fn lack(condition: &Value) -> Option<(Lack, Dated)> {
    let (lack, good) = match condition["type"].as_str()? {
        "Ready" => (Lack::Ready, "True"),
        "DiskPressure" => (Lack::DiskSpace, "False"),
        "NetworkUnavailable" => (Lack::Network, "False"),
        _ => return None,
    };
    let found = Dated::read(condition);
    (!found.is(good)).then_some((lack, found))
}

fn cordoned_since(node: &Value) -> Option<Time> {
    let taints = node["spec"]["taints"].as_array()?;
    let taint = taints.iter().find(|taint| taint["key"] == UNSCHEDULABLE)?;
    taint["timeAdded"].as_str().and_then(parse_rfc3339)
}

/// The relevant fields of a MachineConfigPool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The pool's name.
    pub name: String,
    selector: Value,
    pub(super) paused: bool,
    /// The MachineConfig that its nodes should get; empty if it has none.
    wanted: String,
    /// The image that its nodes should run if the pool layers a custom image; otherwise empty.
    pub(super) image: String,
    /// The condition `Degraded`, if it is `True`.
    pub degraded: Option<Dated>,
}

impl Pool {
    /// Reads a MachineConfigPool.
    pub fn read(pool: &Value) -> Self {
        let (metadata, spec) = (&pool["metadata"], &pool["spec"]);
        let layered = metadata["labels"].get(format!("{PREFIX}layering-enabled")).is_some();
        let image = &metadata["annotations"][format!("{PREFIX}newestImageEquivalentConfig")];
        Self {
            name: metadata["name"].as_str().unwrap_or_default().to_owned(),
            selector: spec["nodeSelector"].clone(),
            paused: spec["paused"] == true,
            wanted: spec["configuration"]["name"].as_str().unwrap_or_default().to_owned(),
            image: image.as_str().filter(|_| layered).unwrap_or_default().to_owned(),
            degraded: of(pool, "Degraded").map(Dated::read).filter(|found| found.is("True")),
        }
    }

    /// Returns whether its nodes are excluded from updates.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns whether the node's target is the pool's current MachineConfig. If the pool's target has
    /// changed meanwhile, nobody retargets the node before it has come back.
    pub(in crate::insights) fn wants(&self, node: &Node) -> bool {
        self.wanted.is_empty() || self.wanted == node.annotation("desiredConfig")
    }

    /// Returns whether this is the MachineConfig that its nodes should get.
    pub(super) fn names(&self, machine_config: &str) -> bool {
        self.wanted == machine_config
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

/// Returns the pool that a node is updated with: that of the control plane, else the first custom pool by
/// name, else that of workers. The upstream controller takes any of several pools that select the node.
pub fn pool_of<'a>(node: &Node, pools: impl Iterator<Item = &'a Pool>) -> Option<&'a Pool> {
    let rank = |pool: &&Pool| (!pool.is_control_plane(), pool.name == WORKER);
    pools.filter(|pool| selector::chooses(&pool.selector, &node.labels)).min_by_key(rank)
}

/// Returns the release version in the annotations of a MachineConfig, if there is one.
pub fn release_of(annotations: Option<&BTreeMap<String, String>>) -> Option<String> {
    annotations?.get(RELEASE_VERSION).filter(|version| !version.is_empty()).cloned()
}

//! What of nodes and pools decides about insights. What is not read here can change without any insight changing.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::clock::{Time, parse_rfc3339};
use windtunnel_core::condition::of;
use windtunnel_core::selector;

use crate::insights::assess::dated::Dated;

/// What the annotations of the machine-config operator begin with.
const PREFIX: &str = "machineconfiguration.openshift.io/";

/// The MachineConfig annotation that tells the release which it was made by.
const RELEASE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";

/// The taint of nodes that are unschedulable.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The pool of the control plane, which wins over any other.
const MASTER: &str = "master";
/// The pool of nodes that no other pool wants.
const WORKER: &str = "worker";

/// What counts of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    labels: Value,
    /// Annotations of the machine-config operator, without their prefix.
    annotations: BTreeMap<String, String>,
    /// Whether pods are kept away from it.
    pub(in crate::insights) unschedulable: bool,
    /// Since when pods are kept away from it, by the taint that follows from being unschedulable.
    pub(in crate::insights) cordoned_since: Option<Time>,
    /// What it lacks by its conditions, in their order, each with its condition.
    pub(in crate::insights) lacks: Vec<(Lack, Dated)>,
}

/// Something that a node lacks so that pods could run there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// It is not ready.
    Ready,
    /// Its disks may be full.
    DiskSpace,
    /// Its network may be away.
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

    /// Whether its daemon wants its pods to leave, and not all of them have left.
    pub(in crate::insights) fn asks_for_drain(&self) -> bool {
        let (desired, applied) = (self.annotation("desiredDrain"), self.annotation("lastAppliedDrain"));
        desired.starts_with("drain-") && desired != applied
    }

    /// Whether its daemon let it reboot and is not back. One that could not reboot it is there to say so.
    pub(in crate::insights) fn reboots(&self) -> bool {
        self.annotation("post-config-action") == "Rebooting" && self.annotation("state") != "Degraded"
    }

    /// An annotation of the machine-config operator; empty where there is none.
    pub(super) fn annotation(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// An annotation of the machine-config operator.
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

/// What counts of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    selector: Value,
    pub(super) paused: bool,
    /// The MachineConfig that its nodes shall have; empty where it names none.
    wanted: String,
    /// The image that its nodes shall run where the operating system comes in layers of somebody's own; empty where not.
    pub(super) image: String,
    /// What the pool says of itself while it is degraded.
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

    /// Whether its nodes are left out of updates.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Whether a node that is on its way goes where the pool is to be. Where the pool goes on meanwhile, nobody moves the node
    /// any further before it has come back.
    pub(in crate::insights) fn wants(&self, node: &Node) -> bool {
        self.wanted.is_empty() || self.wanted == node.annotation("desiredConfig")
    }

    /// Whether this is the MachineConfig that its nodes shall have.
    pub(super) fn names(&self, machine_config: &str) -> bool {
        self.wanted == machine_config
    }

    /// Whether it is the pool of the control plane.
    pub fn is_control_plane(&self) -> bool {
        self.name == MASTER
    }

    /// Whether it is all the same for nodes if this pool becomes `other`.
    pub fn is_same_for_nodes(&self, other: &Self) -> bool {
        let of_nodes = |pool: &'_ Self| Self { degraded: None, ..pool.clone() };
        of_nodes(self) == of_nodes(other)
    }
}

/// The pool that a node is updated with: that of the control plane, else one of somebody's own, the first by name, else that
/// of workers. The upstream controller takes any of those that want the node where there are several.
pub fn pool_of<'a>(node: &Node, pools: impl Iterator<Item = &'a Pool>) -> Option<&'a Pool> {
    let rank = |pool: &&Pool| (!pool.is_control_plane(), pool.name == WORKER);
    pools.filter(|pool| selector::chooses(&pool.selector, &node.labels)).min_by_key(rank)
}

/// The release that the annotations of a MachineConfig tell it to be of; `None` where they do not.
pub fn release_of(annotations: Option<&BTreeMap<String, String>>) -> Option<String> {
    annotations?.get(RELEASE_VERSION).filter(|version| !version.is_empty()).cloned()
}

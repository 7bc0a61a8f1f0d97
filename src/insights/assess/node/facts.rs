//! What of nodes and pools decides about insights. What is not read here can change without any insight changing.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::clock::{Time, parse_rfc3339};
use crate::model::condition::Condition;
use crate::model::selector;

/// What the annotations of the machine-config operator begin with.
const PREFIX: &str = "machineconfiguration.openshift.io/";

/// The MachineConfig annotation that tells the release which it was made by.
const RELEASE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";

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
    pub(super) unschedulable: bool,
    /// What it lacks by its conditions, in their order, and since when.
    pub(super) lacks: Vec<(Lack, Option<Time>)>,
}

/// Something that a node lacks so that pods could run there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
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
            lacks: conditions.filter_map(lack).collect(),
        }
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

fn lack(condition: &Value) -> Option<(Lack, Option<Time>)> {
    let Condition { kind, status, .. } = Condition::read(condition);
    let (lack, good) = match kind.as_str() {
        "Ready" => (Lack::Ready, "True"),
        "DiskPressure" => (Lack::DiskSpace, "False"),
        "NetworkUnavailable" => (Lack::Network, "False"),
        _ => return None,
    };
    let since = condition["lastTransitionTime"].as_str().and_then(parse_rfc3339);
    (status != good).then_some((lack, since))
}

/// What counts of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    selector: Value,
    pub(super) paused: bool,
    /// The image that its nodes shall run where the operating system comes in layers of somebody's own; empty where not.
    pub(super) image: String,
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
            image: image.as_str().filter(|_| layered).unwrap_or_default().to_owned(),
        }
    }

    /// Whether it is the pool of the control plane.
    pub(super) fn is_control_plane(&self) -> bool {
        self.name == MASTER
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

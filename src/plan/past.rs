//! The state of a cluster from before its run.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use windtunnel_core::Object;
use windtunnel_core::clock::Time;

/// The history of a cluster before the run. The default is a cluster that was installed a day ago.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// The start of the run; `None` for the default start of all runs.
    pub moment: Option<Time>,
    /// `spec.clusterID` of ClusterVersion.
    pub cluster_id: Option<String>,
    /// `status.history` of ClusterVersion up to the last completed update, newest first.
    pub history: Vec<Value>,
    /// The nodes, which replace the counted default nodes; control plane first.
    pub nodes: Vec<NodePlan>,
    /// Objects that the cluster has as they are, with their uids and statuses.
    pub objects: Vec<Object>,
    /// MachineConfigPools. The copy uses their labels and MachineConfig selectors.
    pub pools: Vec<Object>,
    /// The file of the dump that has the ClusterVersion, if there is one.
    pub file: Option<String>,
    /// The objects of the dump that can hold an update up, and that the run does not take over.
    pub left_out: Vec<LeftOut>,
}

/// An object of a dump that can hold an update up, and that a run does not take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its kind.
    pub kind: String,
    /// Its namespace and name, `NAMESPACE/NAME`, or its name alone.
    pub name: String,
    /// Its file.
    pub file: String,
    /// What it does to an update.
    pub why: String,
    /// Whether the user accepts that it is left out.
    pub is_ignored: bool,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({}): {}", self.kind, self.name, self.file, self.why)
    }
}

/// A node with its own name, labels and taints.
#[derive(Debug, Clone, PartialEq)]
pub struct NodePlan {
    /// Its name.
    pub name: String,
    /// Whether it belongs to the control plane; every other node is a worker.
    pub is_control_plane: bool,
    /// The custom MachineConfigPool of a worker, whose role it has as well.
    pub custom_pool: Option<String>,
    /// Labels in addition to those of every node.
    pub labels: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Value>,
    /// `spec.unschedulable`.
    pub is_unschedulable: bool,
    /// The `capacity` and `allocatable` of its status; `null` for those of every node.
    pub resources: Value,
    /// The file of the dump that has the node; `None` for a node of a scenario.
    pub file: Option<String>,
}

impl NodePlan {
    /// Returns a node with defaults for everything but its name and role.
    pub fn new(name: String, is_control_plane: bool) -> Self {
        let (labels, taints) = (BTreeMap::new(), Vec::new());
        Self {
            name,
            is_control_plane,
            custom_pool: None,
            labels,
            taints,
            is_unschedulable: false,
            resources: Value::Null,
            file: None,
        }
    }

    /// Returns the role of every such node, `master` or `worker`.
    pub fn role(&self) -> &'static str {
        if self.is_control_plane { "master" } else { "worker" }
    }

    /// Returns the name of its MachineConfigPool.
    pub fn pool(&self) -> &str {
        self.custom_pool.as_deref().unwrap_or(self.role())
    }
}

//! What a cluster brings along from the time before its run.

use std::collections::BTreeMap;

use serde_json::Value;
use windtunnel_core::clock::Time;

/// A cluster's life before the run; nothing of it: it was installed a day ago.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    /// When the run begins; `None` for the moment at which all runs do.
    pub moment: Option<Time>,
    /// `spec.clusterID` of ClusterVersion.
    pub cluster_id: Option<String>,
    /// `status.history` of ClusterVersion up to its last completed update, newest first.
    pub history: Vec<Value>,
    /// Its nodes, in place of those that are only counted; control plane first.
    pub nodes: Vec<NodePlan>,
}

/// A node with what it is known by.
#[derive(Debug, Clone, PartialEq)]
pub struct NodePlan {
    /// Its name.
    pub name: String,
    /// Whether it is of the control plane; every other node is a worker.
    pub is_control_plane: bool,
    /// Labels beside those that every node has.
    pub labels: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Value>,
    /// `spec.unschedulable`.
    pub is_unschedulable: bool,
}

impl NodePlan {
    /// A node of which nothing else is known.
    pub fn new(name: String, is_control_plane: bool) -> Self {
        let (labels, taints) = (BTreeMap::new(), Vec::new());
        Self { name, is_control_plane, labels, taints, is_unschedulable: false }
    }

    /// Its role, which is the name of its pool.
    pub fn role(&self) -> &'static str {
        if self.is_control_plane { "master" } else { "worker" }
    }
}

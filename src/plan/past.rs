//! The state of a cluster from before its run.

use std::collections::BTreeMap;
use std::fmt;

use semver::Version;
use serde_json::Value;
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
    /// The updates that it can hold up.
    pub holds_up: HeldUp,
    /// Whether the user accepts that it is left out.
    pub is_ignored: bool,
}

impl LeftOut {
    /// Whether it can hold up an update between two versions.
    pub fn concerns(&self, from: &Version, to: &Version) -> bool {
        match self.holds_up {
            HeldUp::All => true,
            HeldUp::OtherMinor => (from.major, from.minor) != (to.major, to.minor),
            HeldUp::Above(major, minor) => (to.major, to.minor) > (major, minor),
        }
    }
}

/// Updates that an object can hold up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldUp {
    /// All updates.
    All,
    /// Updates to another minor version.
    OtherMinor,
    /// Updates to a release above this major and minor version.
    Above(u64, u64),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_holds_up_only_updates_above_its_limit() {
        let concerns = |holds_up, from: &str, to: &str| {
            let text = String::new;
            let left = LeftOut {
                kind: text(),
                name: text(),
                file: text(),
                why: text(),
                holds_up,
                is_ignored: false,
            };
            left.concerns(&from.parse().unwrap(), &to.parse().unwrap())
        };
        assert!(!concerns(HeldUp::Above(4, 18), "4.17.2", "4.18.9"));
        assert!(concerns(HeldUp::Above(4, 18), "4.18.2", "4.19.0"));
        assert!(!concerns(HeldUp::OtherMinor, "4.18.2", "4.18.9"));
        assert!(concerns(HeldUp::OtherMinor, "4.18.2", "4.17.1"));
        assert!(concerns(HeldUp::All, "4.18.2", "4.18.9"));
    }
}

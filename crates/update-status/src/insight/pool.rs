//! The pool insight: the update progress of the nodes of a MachineConfigPool.

use serde::{Deserialize, Serialize};

use super::{InsightCondition, ResourceRef, ScopeType};

/// The update progress of the nodes of a MachineConfigPool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineConfigPoolStatusInsight {
    /// Conditions by type: `Updating` and `Healthy`.
    #[serde(default)]
    pub conditions: Vec<InsightCondition>,
    /// The pool's name.
    pub name: String,
    /// The MachineConfigPool.
    pub resource: ResourceRef,
    /// Whether it is the pool of the control plane.
    pub scope_type: ScopeType,
    /// The state of its update.
    pub assessment: PoolAssessment,
    /// Percentage of its nodes that are updated, `0..=100`.
    pub completion: i32,
    /// Node counts, one entry for each [`PoolNodesSummaryType`].
    #[serde(default)]
    pub summaries: Vec<PoolNodesUpdateSummary>,
}

impl MachineConfigPoolStatusInsight {
    /// Returns the numbers of updated nodes and of all nodes, from the message of `Updating`. Unlike the
    /// summaries, it has no upper limit.
    pub fn updated_of(&self) -> Option<(usize, usize)> {
        let updating = self.conditions.iter().find(|condition| condition.kind == "Updating")?;
        let (updated, total) = updating.message.strip_suffix(" nodes are updated")?.split_once(" of ")?;
        Some((updated.parse().ok()?, total.parse().ok()?))
    }
}

/// The state of a pool's update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolAssessment {
    /// No node has started.
    Pending,
    /// All nodes are updated.
    Completed,
    /// The machine-config daemon of a node failed.
    Degraded,
    /// Outdated nodes are excluded because the pool is paused.
    Excluded,
    /// The update is in progress.
    Progressing,
}

/// The number of nodes in one category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolNodesUpdateSummary {
    /// The category.
    #[serde(rename = "type")]
    pub kind: PoolNodesSummaryType,
    /// The number of nodes, at most [`Self::MOST`].
    pub count: i32,
}

impl PoolNodesUpdateSummary {
    /// The highest count that the API allows.
    pub const MOST: usize = 4096;
}

/// A category of nodes. A node can be in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PoolNodesSummaryType {
    /// All nodes of the pool.
    Total,
    /// Nodes that can run pods.
    Available,
    /// Nodes whose update is in progress.
    Progressing,
    /// Nodes that are not in phase `Updated`.
    Outdated,
    /// Nodes whose pods are being evicted.
    Draining,
    /// Nodes that are excluded because the pool is paused.
    Excluded,
    /// Nodes whose machine-config daemon failed.
    Degraded,
}

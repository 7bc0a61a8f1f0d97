//! The pool insight: how far the update of the nodes of a MachineConfigPool is.

use serde::{Deserialize, Serialize};

use super::{InsightCondition, ResourceRef, ScopeType};

/// How far the update of the nodes of a MachineConfigPool is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineConfigPoolStatusInsight {
    /// Conditions by type; known are `Updating` and `Healthy`.
    #[serde(default)]
    pub conditions: Vec<InsightCondition>,
    /// The pool's name.
    pub name: String,
    /// The MachineConfigPool.
    pub resource: ResourceRef,
    /// Whether it is the pool of the control plane.
    pub scope_type: ScopeType,
    /// Its update in one word.
    pub assessment: PoolAssessment,
    /// Percentage of its nodes that are updated, `0..=100`.
    pub completion: i32,
    /// How many nodes there are of each sort, one entry for each [`PoolNodesSummaryType`].
    #[serde(default)]
    pub summaries: Vec<PoolNodesUpdateSummary>,
}

impl MachineConfigPoolStatusInsight {
    /// How many nodes are updated, and of how many, by the message of the condition `Updating`: summaries end at a limit.
    pub fn updated_of(&self) -> Option<(usize, usize)> {
        let updating = self.conditions.iter().find(|condition| condition.kind == "Updating")?;
        let (updated, total) = updating.message.strip_suffix(" nodes are updated")?.split_once(" of ")?;
        Some((updated.parse().ok()?, total.parse().ok()?))
    }
}

/// The update of a pool in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PoolAssessment {
    /// No node has begun.
    Pending,
    /// All nodes are there.
    Completed,
    /// The daemon of a node failed.
    Degraded,
    /// Nodes are left out, since the pool is paused.
    Excluded,
    /// It is on its way.
    Progressing,
}

/// How many nodes of a sort there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolNodesUpdateSummary {
    /// Which sort.
    #[serde(rename = "type")]
    pub kind: PoolNodesSummaryType,
    /// How many, [`Self::MOST`] at most.
    pub count: i32,
}

impl PoolNodesUpdateSummary {
    /// Most nodes that the API lets one tell.
    pub const MOST: usize = 4096;
}

/// A sort of nodes. A node can be of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PoolNodesSummaryType {
    /// All nodes of the pool.
    Total,
    /// Pods can run on them.
    Available,
    /// They are on their way.
    Progressing,
    /// They are not of the version that the cluster goes to.
    Outdated,
    /// Their pods are being evicted.
    Draining,
    /// They are left out, since the pool is paused.
    Excluded,
    /// Their daemon failed.
    Degraded,
}

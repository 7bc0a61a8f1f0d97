//! The cluster operator insight: whether one operator is updated and healthy.

use serde::{Deserialize, Serialize};

use super::{InsightCondition, ResourceRef};

/// Whether a cluster operator is updated and healthy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterOperatorStatusInsight {
    /// Conditions by type: `Updating` and `Healthy`.
    #[serde(default)]
    pub conditions: Vec<InsightCondition>,
    /// The operator's name.
    pub name: String,
    /// The ClusterOperator.
    pub resource: ResourceRef,
}

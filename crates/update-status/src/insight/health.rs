//! The health insight: a problem that a cluster administrator may have to act on.

use serde::{Deserialize, Serialize};
use windtunnel_core::clock::Time;

use super::{ResourceRef, time};

/// A problem that a cluster administrator may have to act on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthInsight {
    /// When the problem started.
    #[serde(with = "time::required")]
    pub started_at: Time,
    /// The affected part of the cluster and its objects.
    pub scope: Scope,
    /// The severity and the effect.
    pub impact: Impact,
    /// The recommended action.
    pub remediation: Remediation,
}

/// The affected part of the cluster and its objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The part of the cluster.
    #[serde(rename = "type")]
    pub kind: ScopeType,
    /// The objects concerned, at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceRef>,
}

/// A part of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeType {
    /// The control plane.
    ControlPlane,
    /// A pool of workers.
    WorkerPool,
}

impl ScopeType {
    /// Returns the scope of a pool.
    pub fn for_pool(is_control_plane: bool) -> Self {
        if is_control_plane { Self::ControlPlane } else { Self::WorkerPool }
    }
}

/// The severity and the effect of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impact {
    /// The severity.
    pub level: ImpactLevel,
    /// The affected aspect of the cluster.
    #[serde(rename = "type")]
    pub kind: ImpactType,
    /// One line, 1 to 256 characters.
    pub summary: String,
    /// The details, at most 4096 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ImpactLevel {
    /// Not known.
    Unknown,
    /// Information only; no harm expected.
    Info,
    /// Harm is possible.
    Warning,
    /// Harm is done.
    Error,
    /// Harm is done and does not end without intervention.
    Critical,
}

/// An aspect of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImpactType {
    /// Nothing.
    None,
    /// Not known.
    Unknown,
    /// The API may be unavailable.
    #[serde(rename = "API Availability")]
    ApiAvailability,
    /// Less capacity for workloads.
    #[serde(rename = "Cluster Capacity")]
    ClusterCapacity,
    /// Applications may be unavailable.
    #[serde(rename = "Application Availability")]
    ApplicationAvailability,
    /// Applications are down.
    #[serde(rename = "Application Outage")]
    ApplicationOutage,
    /// Data may be lost.
    #[serde(rename = "Data Loss")]
    DataLoss,
    /// The update takes longer.
    #[serde(rename = "Update Speed")]
    UpdateSpeed,
    /// The update makes no progress.
    #[serde(rename = "Update Stalled")]
    UpdateStalled,
}

impl ImpactType {
    /// Returns the name in the API, such as `API Availability`, which `oc` shows as well.
    pub(crate) fn name(self) -> String {
        let name = serde_json::to_value(self).unwrap_or_default();
        name.as_str().unwrap_or_default().to_owned()
    }
}

/// The recommended action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remediation {
    /// URL of a page with instructions, at most 512 characters.
    pub reference: String,
    /// Estimated end without intervention.
    #[serde(with = "time::optional", default, skip_serializing_if = "Option::is_none")]
    pub estimated_finish: Option<Time>,
}

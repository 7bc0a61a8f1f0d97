//! The health insight: something that a cluster administrator may have to act on.

use serde::{Deserialize, Serialize};
use windtunnel_core::clock::Time;

use super::{ResourceRef, time};

/// Something that a cluster administrator may have to act on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthInsight {
    /// Since when it is so.
    #[serde(with = "time::required")]
    pub started_at: Time,
    /// What it is about.
    pub scope: Scope,
    /// What it means.
    pub impact: Impact,
    /// What to do.
    pub remediation: Remediation,
}

/// What a health insight is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Which part of the cluster.
    #[serde(rename = "type")]
    pub kind: ScopeType,
    /// The objects concerned, at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceRef>,
}

/// Which part of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScopeType {
    /// The control plane.
    ControlPlane,
    /// A pool of workers.
    WorkerPool,
}

impl ScopeType {
    /// That of a pool, by whether it is the one of the control plane.
    pub fn of(is_control_plane: bool) -> Self {
        if is_control_plane { Self::ControlPlane } else { Self::WorkerPool }
    }
}

/// What a health insight means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impact {
    /// How bad.
    pub level: ImpactLevel,
    /// Bad for what.
    #[serde(rename = "type")]
    pub kind: ImpactType,
    /// One line, 1 to 256 characters.
    pub summary: String,
    /// The details, at most 4096 characters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ImpactLevel {
    /// It cannot be told.
    Unknown,
    /// Not bad; good to know.
    Info,
    /// It may come to harm.
    Warning,
    /// It does harm.
    Error,
    /// It does harm that does not pass by itself.
    Critical,
}

/// What something is bad for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImpactType {
    /// Nothing.
    None,
    /// It cannot be told.
    Unknown,
    /// The API may not answer.
    #[serde(rename = "API Availability")]
    ApiAvailability,
    /// Less room for workloads.
    #[serde(rename = "Cluster Capacity")]
    ClusterCapacity,
    /// Applications may not answer.
    #[serde(rename = "Application Availability")]
    ApplicationAvailability,
    /// Applications do not answer.
    #[serde(rename = "Application Outage")]
    ApplicationOutage,
    /// Data may be lost.
    #[serde(rename = "Data Loss")]
    DataLoss,
    /// The update takes longer.
    #[serde(rename = "Update Speed")]
    UpdateSpeed,
    /// The update does not go on.
    #[serde(rename = "Update Stalled")]
    UpdateStalled,
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remediation {
    /// Address of a page that tells, at most 512 characters.
    pub reference: String,
    /// When it may be over by itself.
    #[serde(with = "time::optional", default, skip_serializing_if = "Option::is_none")]
    pub estimated_finish: Option<Time>,
}

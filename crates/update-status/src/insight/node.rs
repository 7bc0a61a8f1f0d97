//! The node insight: how far the update of one node is.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::{InsightCondition, ResourceRef, ScopeType, time};

/// What the condition `Available` of a node says that cannot run pods since it is on its way, which is as it should be.
pub const AWAY: &str = "The node is away for its update";

/// How far the update of a node is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatusInsight {
    /// Conditions by type; known are `Updating`, `Available` and `Degraded`.
    #[serde(default)]
    pub conditions: Vec<InsightCondition>,
    /// The node's name.
    pub name: String,
    /// The node.
    pub resource: ResourceRef,
    /// The pool that it is updated with.
    pub pool_resource: ResourceRef,
    /// Whether it is part of the control plane.
    pub scope_type: ScopeType,
    /// The version that it runs; empty when unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// How long its update may take yet; `None` when that cannot be told.
    #[serde(with = "time::span", default, skip_serializing_if = "Option::is_none")]
    pub est_to_complete: Option<SignedDuration>,
    /// What is remarkable about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

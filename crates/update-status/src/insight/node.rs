//! The node insight: the update progress of one node.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::{InsightCondition, ResourceRef, ScopeType, time};

/// Message of the condition `Available` of a node that cannot run pods because of its own update, which is
/// expected.
pub const UNAVAILABLE_DURING_UPDATE: &str = "The node is away for its update";

/// The update progress of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatusInsight {
    /// Conditions by type: `Updating`, `Available` and `Degraded`.
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
    /// The estimated time to completion; `None` when there is no estimate.
    #[serde(with = "time::span", default, skip_serializing_if = "Option::is_none")]
    pub est_to_complete: Option<SignedDuration>,
    /// A problem of the node, if there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

//! Insights of the update status API (`update.openshift.io/v1alpha1`), as data with the API's field names.
//!
//! Field names, enums and limits are those of openshift/api PR #2012.

mod cluster_operator;
pub mod documents;
mod health;
mod node;
mod pool;
pub mod published;
mod time;
pub(crate) mod uid;

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use windtunnel_core::clock::Time;

pub use cluster_operator::ClusterOperatorStatusInsight;
pub use health::{HealthInsight, Impact, ImpactLevel, ImpactType, Remediation, Scope, ScopeType};
pub use node::{NodeStatusInsight, UNAVAILABLE_DURING_UPDATE};
pub use pool::{
    MachineConfigPoolStatusInsight, PoolAssessment, PoolNodesSummaryType, PoolNodesUpdateSummary,
};

/// One insight of an informer, in the API's envelope.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Wire<Option<Detail>>")]
pub struct Insight {
    /// Unique among the insights of an informer.
    pub uid: String,
    /// When the informer first had the insight with its present content.
    pub acquired_at: Time,
    /// The content.
    pub detail: Detail,
}

/// The content of an insight: the union member, whose name is the insight's `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Detail {
    /// The update progress of the control plane, according to its ClusterVersion.
    ClusterVersion(ClusterVersionStatusInsight),
    /// Whether a cluster operator is updated and healthy.
    ClusterOperator(ClusterOperatorStatusInsight),
    /// The update progress of a pool of nodes.
    MachineConfigPool(MachineConfigPoolStatusInsight),
    /// The update progress of a node.
    Node(NodeStatusInsight),
    /// A problem that a cluster administrator may have to act on.
    Health(HealthInsight),
}

impl Detail {
    /// Returns the discriminator of the union.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ClusterVersion(_) => "ClusterVersion",
            Self::ClusterOperator(_) => "ClusterOperator",
            Self::MachineConfigPool(_) => "MachineConfigPool",
            Self::Node(_) => "Node",
            Self::Health(_) => "Health",
        }
    }

    /// Returns whether this is more than a node without problems that waits or is updated.
    pub fn is_remarkable(&self) -> bool {
        let Self::Node(insight) = self else { return true };
        let is_updating =
            |condition: &InsightCondition| condition.kind == "Updating" && condition.status == "True";
        !insight.message.is_empty() || insight.conditions.iter().any(is_updating)
    }

    /// Returns the conditions; health insights have none.
    pub fn conditions(&self) -> &[InsightCondition] {
        match self {
            Self::ClusterVersion(insight) => &insight.conditions,
            Self::ClusterOperator(insight) => &insight.conditions,
            Self::MachineConfigPool(insight) => &insight.conditions,
            Self::Node(insight) => &insight.conditions,
            Self::Health(_) => &[],
        }
    }

    /// Returns the conditions for modification.
    pub fn conditions_mut(&mut self) -> &mut [InsightCondition] {
        match self {
            Self::ClusterVersion(insight) => &mut insight.conditions,
            Self::ClusterOperator(insight) => &mut insight.conditions,
            Self::MachineConfigPool(insight) => &mut insight.conditions,
            Self::Node(insight) => &mut insight.conditions,
            Self::Health(_) => &mut [],
        }
    }
}

/// The serialized envelope: a discriminator, and one member named after it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<D> {
    uid: String,
    #[serde(with = "time::required")]
    acquired_at: Time,
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    detail: D,
}

/// The error for an envelope without the member that its type names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("insight {uid} of type {kind} has no member of that type")]
pub struct MissingMember {
    uid: String,
    kind: String,
}

impl TryFrom<Wire<Option<Detail>>> for Insight {
    type Error = MissingMember;

    fn try_from(wire: Wire<Option<Detail>>) -> Result<Self, MissingMember> {
        let Wire { uid, acquired_at, kind, detail } = wire;
        match detail {
            Some(detail) if detail.kind() == kind => Ok(Self { uid, acquired_at, detail }),
            _ => Err(MissingMember { uid, kind }),
        }
    }
}

impl Serialize for Insight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (uid, kind) = (self.uid.clone(), self.detail.kind().to_owned());
        Wire { uid, acquired_at: self.acquired_at, kind, detail: &self.detail }.serialize(serializer)
    }
}

/// The update progress of the control plane, according to its ClusterVersion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionStatusInsight {
    /// Conditions by type: `Updating`.
    #[serde(default)]
    pub conditions: Vec<InsightCondition>,
    /// The ClusterVersion.
    pub resource: ResourceRef,
    /// The state of the update.
    pub assessment: Assessment,
    /// The versions before and after the update.
    pub versions: ControlPlaneUpdateVersions,
    /// Percentage, `0..=100`.
    pub completion: i32,
    /// When the update started; `None` (the zero time, JSON `null`) when unknown.
    #[serde(with = "time::optional", default)]
    pub started_at: Option<Time>,
    /// When the update completed.
    #[serde(with = "time::optional", default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// The estimated time of completion.
    #[serde(with = "time::optional", default, skip_serializing_if = "Option::is_none")]
    pub estimated_completed_at: Option<Time>,
}

/// The state of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assessment {
    /// Not known.
    Unknown,
    /// In progress.
    Progressing,
    /// Completed.
    Completed,
    /// In progress, with problems.
    Degraded,
}

/// The versions before and after an update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlPlaneUpdateVersions {
    /// The version before the update.
    pub previous: Version,
    /// The target version.
    pub target: Version,
}

/// A version and its metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Such as `4.14.8`; empty when unknown.
    pub version: String,
    /// The metadata entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<VersionMetadata>,
}

/// One metadata entry of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionMetadata {
    /// The key.
    pub key: VersionMetadataKey,
    /// The value, for the keys that have one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// A metadata key of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum VersionMetadataKey {
    /// The cluster was, or is being, installed with this version.
    Installation,
    /// The update to this version never completed.
    Partial,
    /// The architecture of the release payload.
    Architecture,
}

/// A reference to the object that an insight is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceRef {
    /// API group; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Lower-case plural.
    pub resource: String,
    /// Name.
    pub name: String,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
}

impl ResourceRef {
    /// References a ClusterVersion.
    pub fn cluster_version(name: &str) -> Self {
        Self::new("config.openshift.io", "clusterversions", name)
    }

    /// References a ClusterOperator.
    pub fn cluster_operator(name: &str) -> Self {
        Self::new("config.openshift.io", "clusteroperators", name)
    }

    /// References a node.
    pub fn node(name: &str) -> Self {
        Self::new("", "nodes", name)
    }

    /// References a MachineConfigPool.
    pub fn machine_config_pool(name: &str) -> Self {
        Self::new("machineconfiguration.openshift.io", "machineconfigpools", name)
    }

    /// References an alert, with the same group and resource as `oc`.
    pub fn alert(name: &str) -> Self {
        Self::new("config.openshift.io", "alerts", name)
    }

    fn new(group: &str, resource: &str, name: &str) -> Self {
        let [group, resource, name] = [group, resource, name].map(str::to_owned);
        Self { group, resource, name, namespace: String::new() }
    }
}

impl fmt::Display for ResourceRef {
    /// Formats like `oc`: `<resource>.<group>: <namespace>/<name>`, without empty parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, resource, name, namespace } = self;
        f.write_str(resource)?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        f.write_str(": ")?;
        if !namespace.is_empty() {
            write!(f, "{namespace}/")?;
        }
        f.write_str(name)
    }
}

/// `metav1.Condition`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InsightCondition {
    /// Such as `Updating`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// When the status last changed; `None` is the zero time.
    #[serde(with = "time::optional", default)]
    pub last_transition_time: Option<Time>,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

#[cfg(test)]
mod tests;

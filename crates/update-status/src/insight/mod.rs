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

use serde::{Deserialize, Serialize, Serializer};
use windtunnel_core::clock::Time;

pub use cluster_operator::ClusterOperatorStatusInsight;
pub use health::{HealthInsight, Impact, ImpactLevel, ImpactType, Remediation, Scope, ScopeType};
pub use node::{AWAY, NodeStatusInsight};
pub use pool::{
    MachineConfigPoolStatusInsight, PoolAssessment, PoolNodesSummaryType, PoolNodesUpdateSummary,
};

/// What an informer knows about one thing, in the envelope that the API keeps it in.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Wire<Option<Detail>>")]
pub struct Insight {
    /// Unique among the insights of an informer.
    pub uid: String,
    /// When what the insight says was first known to be so.
    pub acquired_at: Time,
    /// What it says.
    pub detail: Detail,
}

/// The union member of an insight; its name is the insight's `type`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Detail {
    /// How far the update of the control plane is, by its ClusterVersion.
    ClusterVersion(ClusterVersionStatusInsight),
    /// Whether a cluster operator is updated, and whether it is well.
    ClusterOperator(ClusterOperatorStatusInsight),
    /// How far the update of a pool of nodes is.
    MachineConfigPool(MachineConfigPoolStatusInsight),
    /// How far the update of a node is.
    Node(NodeStatusInsight),
    /// Something that a cluster administrator may have to act on.
    Health(HealthInsight),
}

impl Detail {
    /// The discriminator of the union.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ClusterVersion(_) => "ClusterVersion",
            Self::ClusterOperator(_) => "ClusterOperator",
            Self::MachineConfigPool(_) => "MachineConfigPool",
            Self::Node(_) => "Node",
            Self::Health(_) => "Health",
        }
    }

    /// Whether it is more than that a node waits, or has nothing to wait for.
    pub fn is_remarkable(&self) -> bool {
        let Self::Node(insight) = self else { return true };
        let is_updating =
            |condition: &InsightCondition| condition.kind == "Updating" && condition.status == "True";
        !insight.message.is_empty() || insight.conditions.iter().any(is_updating)
    }

    /// Its conditions; health insights have none.
    pub fn conditions(&self) -> &[InsightCondition] {
        match self {
            Self::ClusterVersion(insight) => &insight.conditions,
            Self::ClusterOperator(insight) => &insight.conditions,
            Self::MachineConfigPool(insight) => &insight.conditions,
            Self::Node(insight) => &insight.conditions,
            Self::Health(_) => &[],
        }
    }

    /// Its conditions, to be changed.
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

/// The envelope as text has it: a discriminator, and one member named after it.
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

/// An envelope whose type and member do not belong together.
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

/// How far the update of the control plane is, by its ClusterVersion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionStatusInsight {
    /// Conditions by type; known is `Updating`.
    #[serde(default)]
    pub conditions: Vec<InsightCondition>,
    /// The ClusterVersion.
    pub resource: ResourceRef,
    /// The update in one word.
    pub assessment: Assessment,
    /// From where to where.
    pub versions: ControlPlaneUpdateVersions,
    /// Percentage, `0..=100`.
    pub completion: i32,
    /// When the update began; `None` (the zero time, JSON `null`) when that is not known.
    #[serde(with = "time::optional", default)]
    pub started_at: Option<Time>,
    /// When it was complete.
    #[serde(with = "time::optional", default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
    /// When it may be complete.
    #[serde(with = "time::optional", default, skip_serializing_if = "Option::is_none")]
    pub estimated_completed_at: Option<Time>,
}

/// An update in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Assessment {
    /// It cannot be told.
    Unknown,
    /// It is on its way.
    Progressing,
    /// It is done.
    Completed,
    /// It is on its way, and something is wrong.
    Degraded,
}

/// From which version to which.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlPlaneUpdateVersions {
    /// The version before.
    pub previous: Version,
    /// The version to be reached.
    pub target: Version,
}

/// A version and what is remarkable about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Such as `4.14.8`; empty when unknown.
    pub version: String,
    /// Remarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<VersionMetadata>,
}

/// One remark on a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionMetadata {
    /// Which.
    pub key: VersionMetadataKey,
    /// Its value, for the keys that have one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// What can be remarked of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum VersionMetadataKey {
    /// The cluster was, or is being, installed with it.
    Installation,
    /// The update to it was never completed.
    Partial,
    /// The architecture of its payload.
    Architecture,
}

/// Which object an insight is about.
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
    /// The object of this name among ClusterVersions.
    pub fn cluster_version(name: &str) -> Self {
        Self::of("config.openshift.io", "clusterversions", name)
    }

    /// The object of this name among ClusterOperators.
    pub fn cluster_operator(name: &str) -> Self {
        Self::of("config.openshift.io", "clusteroperators", name)
    }

    /// The node of this name.
    pub fn node(name: &str) -> Self {
        Self::of("", "nodes", name)
    }

    /// The pool of this name among MachineConfigPools.
    pub fn machine_config_pool(name: &str) -> Self {
        Self::of("machineconfiguration.openshift.io", "machineconfigpools", name)
    }

    /// The alert of this name, as `oc` refers to it.
    pub fn alert(name: &str) -> Self {
        Self::of("config.openshift.io", "alerts", name)
    }

    fn of(group: &str, resource: &str, name: &str) -> Self {
        let [group, resource, name] = [group, resource, name].map(str::to_owned);
        Self { group, resource, name, namespace: String::new() }
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

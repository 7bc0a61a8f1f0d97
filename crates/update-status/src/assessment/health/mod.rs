//! Health insights: problems that a cluster administrator may have to act on. Each cause is one constant and
//! one entry of [`CAUSES`].
//!
//! Problems that `oc adm upgrade status` reports too have the same thresholds and texts here.
//!
//! A new cause also needs a row in `docs/insights.md` and a scenario in `features/health_insights.feature`.

mod alert;
mod cluster_version;
mod findings;
mod forced;
pub mod frozen_status;
mod node;
mod operator;
mod pool;
mod release;
mod stalled;

use serde_json::Value;

use windtunnel_core::name_of;

use super::progress::Progress;
pub use alert::assess as assess_alerts;
pub(crate) use cluster_version::{assess_failing, assess_interrupted};
pub(crate) use findings::HealthDraft;
pub use findings::{Cause, Finding, Findings, Outcome, PriorInsights};
pub use node::assess as assess_node;
pub(crate) use node::assess_availability as assess_node_availability;
pub use operator::assess as assess_operator;
pub use pool::assess as assess_pool;
pub(crate) use pool::assess_excluded as assess_excluded_nodes;

/// All causes, in the order of the table in `docs/insights.md`.
pub const CAUSES: &[&Cause] = &[
    &forced::FORCED,
    &release::UNRETRIEVABLE,
    &release::UNVERIFIED,
    &release::PRECONDITIONS,
    &release::REFUSED,
    &cluster_version::FAILING,
    &cluster_version::UNCLEAR,
    &stalled::STALLED,
    &cluster_version::PARTIAL,
    &frozen_status::FROZEN,
    &operator::UNAVAILABLE,
    &operator::DEGRADED,
    &alert::FIRING,
    &pool::OUTDATED,
    &pool::PAUSED,
    &pool::DEGRADED,
    &node::UNAVAILABLE,
    &node::DEGRADED,
    &node::DRAINING,
    &node::NOT_BACK_FROM_REBOOT,
];

/// The facts that determine the health of one ClusterVersion.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The ClusterVersion.
    pub cluster_version: &'a Value,
    /// The CustomResourceDefinition of ClusterVersions, if there is one.
    pub crd: Option<&'a Value>,
    /// The minor version of the API server's Kubernetes 1.x; `None` while unknown.
    pub kubernetes_minor: Option<u32>,
    /// The progress of the operators, if known.
    pub progress: Option<&'a Progress>,
    /// The problems of the pods that fetch payloads.
    pub version_pods: &'a [String],
    /// Whether a worker pool has outdated nodes.
    pub has_outdated_workers: bool,
}

impl<'a> Facts<'a> {
    /// Creates facts with only the ClusterVersion known.
    pub fn new(cluster_version: &'a Value) -> Self {
        Self {
            cluster_version,
            crd: None,
            kubernetes_minor: None,
            progress: None,
            version_pods: &[],
            has_outdated_workers: false,
        }
    }

    fn name(&self) -> &'a str {
        name_of(self.cluster_version)
    }

    fn is_updating(&self) -> bool {
        super::cluster_version::is_updating(self.cluster_version)
    }

    /// Returns whether the cluster is updating: its control plane, or its workers afterwards.
    pub fn is_cluster_updating(&self) -> bool {
        super::cluster_version::is_cluster_updating(self.cluster_version, self.has_outdated_workers)
    }
}

/// Adds the problems of one ClusterVersion.
pub fn assess_cluster_version(facts: &Facts<'_>, findings: &mut Findings<'_>) {
    forced::assess(facts, findings);
    release::assess(facts, findings);
    cluster_version::assess(facts, findings);
    stalled::assess(facts, findings);
    frozen_status::assess(facts, findings);
}

#[cfg(test)]
mod tests;

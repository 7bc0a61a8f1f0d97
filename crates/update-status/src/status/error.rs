//! Errors that prevent a status.

/// The reason why no status can be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// The cluster has no ClusterVersion `version`.
    #[error(
        "no cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version"
    )]
    NoClusterVersion,
    /// The cluster has no ClusterOperators.
    #[error(
        "no cluster operator information available - you must be connected to an OpenShift version 4 server"
    )]
    NoClusterOperators,
    /// The ClusterVersion has no condition `Progressing`.
    #[error("no current Progressing info, see `oc describe clusterversion` for more details.")]
    NoProgressing,
    /// The node selector of a MachineConfigPool is invalid.
    #[error("failed to get label selector from the pool: {pool}")]
    PoolSelector {
        /// The pool's name.
        pool: String,
    },
    /// There are nodes but no MachineConfigPool `master`; `oc` crashes.
    #[error(
        "there are nodes but no MachineConfigPool `master`, without which `oc adm upgrade status` crashes"
    )]
    NoMasterPool,
    /// No pool selects a node, and there is no pool `worker` to fall back to; `oc` crashes.
    #[error(
        "node {node} belongs to no MachineConfigPool, and there is none named `worker`, without which `oc adm upgrade status` crashes"
    )]
    NoWorkerPool {
        /// The name of the node.
        node: String,
    },
    /// The current update is completed but has no completion time; `oc` crashes.
    #[error(
        "the newest entry of ClusterVersion status.history is Completed but has no completionTime, without which `oc adm upgrade status` crashes"
    )]
    NoCompletionTime,
}

impl StatusError {
    /// Returns whether `oc` crashes here, so that the message is ours.
    pub fn is_crash(&self) -> bool {
        matches!(self, Self::NoMasterPool | Self::NoWorkerPool { .. } | Self::NoCompletionTime)
    }
}

//! Why there is no status.

/// What a status cannot be made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The cluster has no ClusterVersion `version`.
    #[error(
        "no cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version"
    )]
    NoClusterVersion,
    /// It has no ClusterOperators.
    #[error(
        "no cluster operator information available - you must be connected to an OpenShift version 4 server"
    )]
    NoClusterOperators,
    /// The ClusterVersion has no condition `Progressing`.
    #[error("no current Progressing info, see `oc describe clusterversion` for more details.")]
    NoProgressing,
    /// The node selector of a MachineConfigPool is none.
    #[error("failed to get label selector from the pool: {pool}")]
    PoolSelector {
        /// Its name.
        pool: String,
    },
    /// There are nodes but no MachineConfigPool `master`; `oc` crashes.
    #[error(
        "there are nodes but no MachineConfigPool `master`, without which `oc adm upgrade status` crashes"
    )]
    NoMasterPool,
    /// A node is of no pool but `worker`, if at all, and there is no such pool; `oc` crashes.
    #[error(
        "node {node} is of no MachineConfigPool, and there is none named `worker`, without which `oc adm upgrade status` crashes"
    )]
    NoWorkerPool {
        /// The name of the node.
        node: String,
    },
    /// The update is completed, but not at any time; `oc` crashes.
    #[error(
        "the newest entry of ClusterVersion status.history is Completed but has no completionTime, without which `oc adm upgrade status` crashes"
    )]
    NoCompletionTime,
}

impl Refusal {
    /// Whether these are our words, since `oc` crashes instead of telling.
    pub fn is_crash(&self) -> bool {
        matches!(self, Self::NoMasterPool | Self::NoWorkerPool { .. } | Self::NoCompletionTime)
    }
}

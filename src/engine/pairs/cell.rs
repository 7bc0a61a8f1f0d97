//! A pair of releases and the kind of cluster that goes from one to the other.

use windtunnel_openshift::release::Release;

use crate::plan::{ClusterPlan, ReleasePlan};

/// A pair of releases and a kind of cluster.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The release of the installed cluster.
    pub older: Release,
    /// The release to which it is updated.
    pub newer: Release,
    /// `spec.capabilities.baselineCapabilitySet`, one of the older release.
    pub capability_set: String,
    /// The machines.
    pub topology: Topology,
}

/// The machines of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topology {
    /// Three control-plane nodes and three workers.
    HighlyAvailable,
    /// Three control-plane nodes that also run the workloads.
    Compact,
    /// One node.
    SingleReplica,
}

impl Topology {
    /// All topologies.
    pub const ALL: [Self; 3] = [Self::HighlyAvailable, Self::Compact, Self::SingleReplica];

    /// The name for arguments and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::HighlyAvailable => "HighlyAvailable",
            Self::Compact => "Compact",
            Self::SingleReplica => "SingleReplica",
        }
    }

    /// The numbers of control-plane nodes and of workers.
    fn nodes(self) -> (u32, u32) {
        match self {
            Self::HighlyAvailable => (3, 3),
            Self::Compact => (3, 0),
            Self::SingleReplica => (1, 0),
        }
    }
}

impl Cell {
    /// The installed cluster, which knows the newer release.
    pub(super) fn plan(&self) -> ClusterPlan {
        let (control_plane_nodes, worker_nodes) = self.topology.nodes();
        ClusterPlan {
            releases: vec![ReleasePlan::plain(self.newer.clone())],
            control_plane_nodes,
            worker_nodes,
            baseline_capability_set: self.capability_set.clone(),
            ..ClusterPlan::new(self.older.clone())
        }
    }
}

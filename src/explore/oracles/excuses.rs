//! Excuses: rules by which a cluster may not converge although all faults have ended.

use windtunnel_core::View;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, POD_DISRUPTION_BUDGETS};

use super::convergence::{Subject, Unmet};
use crate::engine::sweep::trapped_writes;
use crate::record::Record;

/// A reason for which something may be left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Excuse {
    /// The API server rejects writes of components for good: the cluster is in a trap, and `windtunnel rollback-check`
    /// lists these.
    Trapped,
    /// The administrator has paused this pool.
    Paused(String),
    /// A budget of the user allows no eviction, so that a node cannot be drained.
    Budget,
}

impl Excuse {
    /// Returns whether something may be left to do for this reason.
    pub(super) fn covers(&self, unmet: &Unmet) -> bool {
        match self {
            // The machine-config operator waits for a pool of the control plane, and the update for the operator.
            Self::Paused(pool) => match unmet.subject {
                Subject::Pool => unmet.name == *pool,
                Subject::Operator => unmet.name == "machine-config",
                Subject::Version => pool == "master",
                Subject::Node => false,
            },
            Self::Trapped | Self::Budget => true,
        }
    }
}

/// Returns the excuses of a cluster.
pub(super) fn find(record: &Record, view: &View) -> Vec<Excuse> {
    let trapped = (!trapped_writes(record).is_empty()).then_some(Excuse::Trapped);
    let paused = view.list(&MACHINE_CONFIG_POOLS).filter(|pool| pool["spec"]["paused"] == true);
    let paused = paused.map(|pool| Excuse::Paused(pool.name().to_owned()));
    let is_blocked = view.list(&POD_DISRUPTION_BUDGETS).any(|budget| {
        let is_own = !budget.namespace().starts_with("openshift-");
        is_own && budget.number("/status/disruptionsAllowed") == Some(0)
    });
    paused.chain(trapped).chain(is_blocked.then_some(Excuse::Budget)).collect()
}

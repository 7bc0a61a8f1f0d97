//! Copies of a running cluster, from which other sessions continue, also on other threads.

use std::sync::Arc;

use windtunnel_core::clock::Time;

use super::error::SessionError;
use super::runtime::Simulation;
use super::session::Session;
use crate::record::Record;

/// A copy of a cluster at a moment. Any number of sessions can continue from it.
pub struct ClusterCopy {
    at: Time,
    cluster: Simulation,
}

impl Session {
    /// Saves the cluster between two steps. `None` if its API server cannot be copied, or the session has a mutant.
    pub fn save(&self) -> Option<ClusterCopy> {
        // The clock of the cluster shows its time on its runtime only.
        let _guard = self.runtime.enter();
        if self.simulation.observers.mutant_state.is_some() {
            return None;
        }
        ClusterCopy::with_record(&self.simulation)
    }
}

impl ClusterCopy {
    /// Copies a cluster with an empty record. `None` if its API server cannot be copied.
    pub(in crate::engine) fn without_record(cluster: &Simulation) -> Option<Self> {
        let header = cluster.record.header.clone();
        Self::with(cluster, Record::new(header, Vec::new()))
    }

    /// Copies a cluster with its record, so that it can continue the plan. `None` if its API server cannot be copied.
    pub(in crate::engine) fn with_record(cluster: &Simulation) -> Option<Self> {
        Self::with(cluster, cluster.record.clone())
    }

    fn with(cluster: &Simulation, record: Record) -> Option<Self> {
        let at = cluster.now();
        let environment = Arc::new(cluster.environment.separate());
        Some(Self { at, cluster: cluster.fork(record, at, environment)? })
    }

    /// The moment of the copy.
    pub(in crate::engine) fn at(&self) -> Time {
        self.at
    }

    /// The copied cluster.
    pub(in crate::engine) fn cluster(&self) -> &Simulation {
        &self.cluster
    }

    /// Whether programs of the cluster start again when a session continues from it, since they cannot be copied: the
    /// update status controller. Then its record differs from that of a run without a copy.
    pub fn restarts_programs(&self) -> bool {
        self.cluster.has_suspended_tasks()
    }

    /// Continues from the copy, on a runtime of its own.
    ///
    /// # Errors
    /// There is no runtime, or the API server cannot be copied.
    pub fn resume(&self) -> Result<Session, SessionError> {
        // kube-runtime's back-off draws from this thread-local generator.
        fastrand::seed(self.cluster.record.header.seed);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|_| SessionError::Ended)?;
        let simulation = runtime.block_on(async {
            let environment = Arc::new(self.cluster.environment.separate());
            let mut copy = self.cluster.fork(self.cluster.record.clone(), self.at, environment)?;
            copy.start_suspended_tasks();
            Some(copy)
        });
        Ok(Session { simulation: simulation.ok_or(SessionError::Ended)?, runtime })
    }
}

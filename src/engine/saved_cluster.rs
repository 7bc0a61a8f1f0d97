//! Saved clusters: copies of a session's cluster between two steps, from which other sessions continue.

use super::cluster_copy::ClusterCopy;
use super::error::SessionError;
use super::session::Session;

/// A copy of a cluster with its record. Any number of sessions can continue from it.
pub struct SavedCluster {
    copy: ClusterCopy,
    seed: u64,
}

impl Session {
    /// Saves the cluster between two steps. `None` if its API server cannot be copied, or the session has a mutant.
    pub fn save(&self) -> Option<SavedCluster> {
        // The clock of the cluster shows its time on its runtime only.
        let _guard = self.runtime.enter();
        if self.simulation.tampering.is_some() {
            return None;
        }
        let copy = ClusterCopy::with_record(&self.simulation)?;
        Some(SavedCluster { copy, seed: self.simulation.record.header.seed })
    }
}

impl SavedCluster {
    /// Whether programs of the cluster start again when a session continues from it, since they cannot be copied: the
    /// update status controller. Then its record differs from that of a run without a copy.
    pub fn restarts_programs(&self) -> bool {
        self.copy.cluster().has_suspended_tasks()
    }

    /// Continues from the saved cluster, on a runtime of its own.
    ///
    /// # Errors
    /// There is no runtime, or the API server cannot be copied.
    pub fn resume(&self) -> Result<Session, SessionError> {
        self.copy.continued(self.seed)
    }
}

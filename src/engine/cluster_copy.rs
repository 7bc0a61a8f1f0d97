//! Copies of a running cluster for other threads, which run them while the original continues.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use windtunnel_core::clock::Time;

use super::error::SessionError;
use super::runtime::Simulation;
use super::session::Session;
use crate::record::Record;

/// A copy of a cluster at a moment, which no runtime runs yet.
pub(in crate::engine) struct ClusterCopy {
    at: Time,
    cluster: Simulation,
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

    /// Continues the cluster on a runtime of its own. The copy stays, and can be continued again.
    ///
    /// # Errors
    /// There is no runtime, or the API server cannot be copied.
    pub(in crate::engine) fn continued(&self, seed: u64) -> Result<Session, SessionError> {
        // kube-runtime's back-off draws from this thread-local generator.
        fastrand::seed(seed);
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

/// Calls `produce` on this thread, and `work` on `jobs` others with everything that `produce` sends. Sending waits
/// while all of them are busy. Returns the results in no particular order.
pub(in crate::engine) fn with_workers<W: Send, R: Send, T>(
    jobs: usize,
    work: impl Fn(W) -> R + Sync,
    produce: impl FnOnce(SyncSender<W>) -> T,
) -> (T, Vec<R>) {
    let (sender, receiver) = sync_channel(jobs);
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..jobs.max(1)).map(|_| scope.spawn(|| work_through(&receiver, &work))).collect();
        // Without a sender the workers end.
        let produced = produce(sender);
        (produced, workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect())
    })
}

fn work_through<W, R>(received: &Mutex<Receiver<W>>, work: impl Fn(W) -> R) -> Vec<R> {
    let mut results = Vec::new();
    loop {
        let next = received.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(next) = next else { return results };
        results.push(work(next));
    }
}

//! Finds the writes of a run at which a process can crash, and copies the cluster before them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use super::Restart;
use super::batch::{CrashBatch, Origin};
use crate::engine::cluster_copy::ClusterCopy;
use crate::engine::run::run_observed;
use crate::engine::runtime::Simulation;
use crate::engine::session::Session;
use crate::plan::Plan;
use crate::record::Event;

/// The beginning of the runs with crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origins {
    /// At the last moment before the write from which a copy continues exactly.
    Copies,
    /// At the start: slower, with the same results.
    #[cfg(test)]
    Start,
}

/// Follows a run, and sends the crashes at its writes.
pub(super) struct Finder {
    origins: Origins,
    /// The processes that can crash.
    processes: BTreeSet<String>,
    origin: Origin,
    /// The number of entries in the record that were looked at.
    seen: usize,
    /// The number of writes of each process since the run began.
    writes: BTreeMap<String, u32>,
    /// As `writes`, at the origin.
    at_origin: BTreeMap<String, u32>,
    sender: SyncSender<CrashBatch>,
}

/// Runs the plan, and sends the crashes at each of its writes.
pub(super) fn find_in(session: &mut Session, plan: &Plan, finder: Finder) {
    let finder = Arc::new(Mutex::new(finder));
    let observer = Arc::clone(&finder);
    run_observed(session, plan, move |cluster| {
        observer.lock().unwrap_or_else(PoisonError::into_inner).look(cluster);
        None
    });
    finder.lock().unwrap_or_else(PoisonError::into_inner).send(&session.simulation);
}

impl Finder {
    pub(super) fn new(
        cluster: &Simulation,
        processes: BTreeSet<String>,
        origins: Origins,
        sender: SyncSender<CrashBatch>,
    ) -> Self {
        Self {
            origins,
            processes,
            origin: Origin::Start,
            seen: cluster.record.entries.len(),
            writes: BTreeMap::new(),
            at_origin: BTreeMap::new(),
            sender,
        }
    }

    /// Looks at the settled cluster. If it was written to, later crashes begin at a copy of it.
    fn look(&mut self, cluster: &Simulation) {
        // Retries remove entries from the record when they end.
        if cluster.steps.progress.can_continue()
            && self.send(cluster)
            && self.origins == Origins::Copies
            // Such a task would start anew in the copy.
            && cluster.processes.first_task.is_none()
            && let Some(copy) = ClusterCopy::with_record(cluster)
        {
            self.origin = Origin::Copy(Arc::new(Mutex::new(copy)));
            self.at_origin.clone_from(&self.writes);
        }
    }

    /// Sends the crashes at new writes. Returns whether there are any.
    fn send(&mut self, cluster: &Simulation) -> bool {
        let entries = cluster.record.entries.get(self.seen..).unwrap_or_default();
        self.seen = cluster.record.entries.len();
        let mut restarts = Vec::new();
        for entry in entries {
            if let Event::Write(write) = &entry.event
                && self.processes.contains(&write.by)
            {
                let count = self.writes.entry(write.by.clone()).or_default();
                *count += 1;
                let since_origin = *count - self.at_origin.get(&write.by).copied().unwrap_or_default();
                let restart = Restart { process: write.by.clone(), write: *count };
                restarts.push((restart, since_origin));
            }
        }
        let found = !restarts.is_empty();
        if found {
            // The workers live as long as the sender.
            let _ = self.sender.send(CrashBatch { origin: self.origin.clone(), restarts });
        }
        found
    }
}

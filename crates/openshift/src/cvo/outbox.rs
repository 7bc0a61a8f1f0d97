//! The requests of one step, each with the reason that its answer will be read by.

use std::collections::VecDeque;

use windtunnel_core::Write;

/// Which part of the operator asked, and so gets the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Leader election.
    Lease,
    /// The regular status write.
    Status,
    /// The write after too many failed ones.
    FailingStatus,
    /// Removing what earlier retrievals left.
    Prune,
    /// The Job or Pod that fetches a payload.
    Retrieve,
    /// Good signatures that are kept in the cluster.
    Signatures,
    /// A manifest of the payload.
    Apply,
    /// A request to assess an update.
    AgenticRun,
    /// Something told to people.
    Event,
}

/// Requests in order; answers come back in the same order.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox {
    writes: Vec<Write>,
    outstanding: VecDeque<Purpose>,
}

impl Outbox {
    /// Asks for a write.
    pub(super) fn push(&mut self, purpose: Purpose, write: Write) {
        self.writes.push(write);
        self.outstanding.push_back(purpose);
    }

    /// The purpose of the write that the next answer belongs to.
    pub(super) fn answered(&mut self) -> Option<Purpose> {
        self.outstanding.pop_front()
    }

    /// Whether an answer to this purpose is still to come.
    pub(super) fn awaits(&self, purpose: Purpose) -> bool {
        self.outstanding.contains(&purpose)
    }

    /// Takes the writes that were asked for since the last call.
    pub(super) fn take(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }
}

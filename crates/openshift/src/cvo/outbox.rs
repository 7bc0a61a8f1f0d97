//! The writes of one step, each with the purpose that decides who handles its answer.

use std::collections::VecDeque;

use windtunnel_core::Write;

/// The part of the operator that sent a write and handles the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Lease,
    /// The regular status update.
    Status,
    /// The status update after too many failed ones.
    FailingStatus,
    /// Deletions of leftovers of earlier retrievals.
    Prune,
    /// The Job or Pod that retrieves a payload.
    Retrieve,
    /// Verified signatures that are stored in the cluster.
    Signatures,
    /// A manifest of the payload.
    Apply,
    /// A request to assess an update.
    AgenticRun,
    Event,
}

/// Writes in order. Answers arrive in the same order.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox {
    writes: Vec<Write>,
    outstanding: VecDeque<Purpose>,
}

impl Outbox {
    /// Adds a write.
    pub(super) fn push(&mut self, purpose: Purpose, write: Write) {
        self.writes.push(write);
        self.outstanding.push_back(purpose);
    }

    /// The purpose of the write whose answer arrives next.
    pub(super) fn answered(&mut self) -> Option<Purpose> {
        self.outstanding.pop_front()
    }

    /// Returns whether an answer for this purpose is outstanding.
    pub(super) fn awaits(&self, purpose: Purpose) -> bool {
        self.outstanding.contains(&purpose)
    }

    /// Takes the writes that were added since the last call.
    pub(super) fn take(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }
}

//! The writes of one step, each with the purpose that decides who handles its answer, and the log lines of the step.

use std::collections::VecDeque;
use std::fmt;

use windtunnel_controllers::Effect;
use windtunnel_core::Write;
use windtunnel_core::clock::Time;
use windtunnel_core::log::{Severity, klog};

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

/// Writes in order, and log lines. Answers arrive in the order of the writes.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox {
    writes: Vec<Write>,
    outstanding: VecDeque<Purpose>,
    lines: Vec<Effect>,
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

    /// Prints a line to the log. `source` is the file and line of the real operator.
    pub(super) fn info(&mut self, now: Time, source: &str, message: impl fmt::Display) {
        self.lines.push(Effect::Log(klog(Severity::Info, now, source, message)));
    }

    /// Prints a line about one manifest of the payload.
    pub(super) fn detail(&mut self, now: Time, source: &str, message: impl fmt::Display) {
        self.lines.push(Effect::LogDetail(klog(Severity::Info, now, source, message)));
    }

    /// Prints a warning to the log.
    pub(super) fn warning(&mut self, now: Time, source: &str, message: impl fmt::Display) {
        self.lines.push(Effect::Log(klog(Severity::Warning, now, source, message)));
    }

    /// Prints an error to the log.
    pub(super) fn error(&mut self, now: Time, source: &str, message: impl fmt::Display) {
        self.lines.push(Effect::Log(klog(Severity::Error, now, source, message)));
    }

    /// Takes the effects that print the lines since the last call.
    pub(super) fn take_lines(&mut self) -> impl Iterator<Item = Effect> {
        std::mem::take(&mut self.lines).into_iter()
    }

    /// Takes the writes that were added since the last call.
    pub(super) fn take(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }
}

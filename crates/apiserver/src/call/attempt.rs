//! What one request keeps when the server stops it and runs it again.

use serde_json::Value;
use windtunnel_core::requests::faults::LostAnswer;

use super::prepared::Prepared;
use crate::outbound::hooks::{HookCall, HookError};
use crate::rejection::BoxedRejection;

/// The most webhook calls of one request. Ends a request whose reviews differ at every restart.
const MAX_CALLS: usize = 256;

/// Where a request runs now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Runner {
    #[default]
    Server,
    /// In a copy of the server, which prepares it.
    Copy,
    /// In a copy that came to the point at which the request is stored.
    StoppedCopy,
}

/// The recorded answers and random values of one request: after a restart the request gets the same ones.
#[derive(Debug, Default)]
pub struct Attempt {
    answers: Vec<(HookCall, Result<Value, HookError>)>,
    /// The calls that stopped the last run. They may be made at the same time.
    pending: Vec<HookCall>,
    /// Whether the request must restart, because the last run got information that it needed at its start.
    restart: bool,
    /// Whether the server has begun the request.
    begun: bool,
    runner: Runner,
    /// Whether the prepared object was measured, and is not too long for etcd.
    pub(crate) fits_in_etcd: bool,
    /// What a copy of the server prepared.
    prepared: Option<Prepared>,
    /// The uid of the object that the request creates.
    pub(crate) uid: Option<String>,
    /// The names that were generated from its `generateName`.
    pub(crate) names: Vec<String>,
    /// The suffixes of other generated names, by prefix, such as that of a pod's token volume.
    suffixes: Vec<(String, String)>,
    /// How the answer to the write gets lost, by an injected fault.
    pub(crate) lost: Option<LostAnswer>,
}

impl Attempt {
    /// Whether the server has not begun the request before.
    pub(crate) fn is_new(&self) -> bool {
        !self.begun
    }

    /// Notes that the server has begun the request. What a copy of the server does does not count.
    pub(crate) fn begin(&mut self) {
        self.begun = !self.is_ahead();
    }

    /// Whether a copy of the server prepares the request.
    pub(crate) fn is_ahead(&self) -> bool {
        self.runner != Runner::Server
    }

    /// Whether a copy of the server just refused the request.
    pub(crate) fn is_refused_ahead(&self) -> bool {
        self.runner == Runner::Copy && !self.is_unfinished()
    }

    /// Marks the begin and the end of the work of a copy.
    pub(crate) fn set_ahead(&mut self, ahead: bool) {
        self.runner = if ahead { Runner::Copy } else { Runner::Server };
    }

    /// Stops the copy at the point at which the request is stored. Returns an error for its stages, which no client sees.
    pub(crate) fn stop_ahead(&mut self) -> BoxedRejection {
        self.runner = Runner::StoppedCopy;
        BoxedRejection::internal("prepared")
    }

    /// Keeps a prepared write for the server.
    pub(crate) fn keep_prepared(&mut self, prepared: Prepared) {
        self.prepared = Some(prepared);
    }

    /// The prepared write, if there is one.
    pub(crate) fn take_prepared(&mut self) -> Option<Prepared> {
        self.prepared.take()
    }

    /// The suffix of a name with this prefix, drawn once for the request.
    pub(crate) fn suffix(&mut self, prefix: &str, draw: impl FnOnce() -> String) -> String {
        if let Some((_, suffix)) = self.suffixes.iter().find(|(known, _)| known == prefix) {
            return suffix.clone();
        }
        let suffix = draw();
        self.suffixes.push((prefix.to_owned(), suffix.clone()));
        suffix
    }

    /// Records the answer to a call.
    pub fn record_answer(&mut self, call: HookCall, answer: Result<Value, HookError>) {
        self.answers.push((call, answer));
    }

    /// Returns the recorded answer to a call. Without one, the request stops until the caller records it.
    ///
    /// # Errors
    /// There is no answer yet. No client sees this error.
    pub(crate) fn ask(&mut self, call: HookCall) -> Result<Result<Value, HookError>, BoxedRejection> {
        if let Some((_, answer)) = self.answers.iter().find(|(answered, _)| *answered == call) {
            return Ok(answer.clone());
        }
        if self.answers.len() >= MAX_CALLS {
            return Err(BoxedRejection::timed_out());
        }
        self.pending.push(call);
        Err(BoxedRejection::internal("waiting for a webhook"))
    }

    /// Requests a restart from the first stage.
    pub(crate) fn request_restart(&mut self) {
        self.restart = true;
    }

    /// Whether the request must restart. Clears the mark.
    pub(crate) fn take_restart(&mut self) -> bool {
        std::mem::take(&mut self.restart)
    }

    /// Whether the request has stopped for a call, or must restart.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.restart || self.is_waiting()
    }

    /// Whether the request has stopped for a call.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The calls that stopped the request, if any did.
    pub(crate) fn take_pending(&mut self) -> Vec<HookCall> {
        std::mem::take(&mut self.pending)
    }
}

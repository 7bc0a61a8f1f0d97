//! Mutants whose writes get a false answer: an error although nothing is wrong.

use serde_json::Value;
use windtunnel_core::{Operation, Rejection, Write};

use super::mutant::FalseAnswer;
use super::mutant_state::{Passed, State};

impl State {
    /// Answers a write of a component falsely, if it is one of those that the mutant is about.
    pub(super) fn answer_falsely(&mut self, by: &str, answer: FalseAnswer, write: Write) -> Passed {
        let is_change = !matches!(write.operation, Operation::Create(_) | Operation::Delete(_));
        if !self.misinforms(by, answer, is_change) {
            return Passed::Made(write);
        }
        match answer {
            FalseAnswer::Failure => Passed::Skipped(Err(failure())),
            FalseAnswer::Conflict => Passed::Skipped(Err(conflict(&write.resource.plural, &write.name))),
            FalseAnswer::Timeout => Passed::Unanswered,
        }
    }

    /// Decides whether a write gets a false answer, and counts it. `is_change` is false for writes that create or
    /// delete an object.
    pub(super) fn misinforms(&mut self, by: &str, answer: FalseAnswer, is_change: bool) -> bool {
        let is_meant = match answer {
            FalseAnswer::Failure => true,
            FalseAnswer::Conflict => is_change && self.misinformed.insert(by.to_owned()),
            FalseAnswer::Timeout => self.misinformed.insert(by.to_owned()),
        };
        self.observed.hits += u64::from(is_meant);
        is_meant
    }
}

/// An internal error of the API server.
pub(super) fn failure() -> Rejection {
    rejection(500, "InternalError", "Internal error occurred: caused by a mutant".to_owned())
}

/// A conflict with another writer.
pub(super) fn conflict(plural: &str, name: &str) -> Rejection {
    let message = format!(
        "Operation cannot be fulfilled on {plural} \"{name}\": the object has been modified; please apply your \
         changes to the latest version and try again"
    );
    rejection(409, "Conflict", message)
}

/// The answer to a request whose own answer did not arrive in time.
pub(super) fn timeout() -> Rejection {
    rejection(504, "Timeout", "Timeout: the answer was lost by a mutant".to_owned())
}

fn rejection(code: u16, reason: &str, message: String) -> Rejection {
    Rejection { code, reason: reason.to_owned(), message, details: Value::Null }
}

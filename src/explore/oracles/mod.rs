//! Oracles: rules that every run must keep, whatever was done to its cluster.

mod convergence;
mod excuses;
mod failure;
mod history;
mod quiet;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::View;
use windtunnel_core::text::short_duration;

use super::normal::normalise;
use crate::engine::Session;
use crate::record::{Event, Record};

/// A rule with its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oracle {
    /// The id.
    pub id: &'static str,
    /// The rule in one sentence.
    pub rule: &'static str,
}

/// The oracles besides the invariants, whose ids are `invariant/NAME`.
pub const ORACLES: [Oracle; 8] = [
    Oracle { id: "converges", rule: "After all faults have ended the cluster fulfils the last request." },
    Oracle { id: "quiet", rule: "A converged cluster changes nothing any more." },
    Oracle { id: "hot-loop", rule: "No component takes turns or makes requests without time passing." },
    Oracle { id: "panic", rule: "No component panics." },
    Oracle { id: "rbac", rule: "No request of a component is refused because no role allows it." },
    Oracle {
        id: "history",
        rule: "The history of ClusterVersion is in the order of time, and its completed entries do not change.",
    },
    Oracle {
        id: "same-record",
        rule: "The same case gives the same record, also from a copy of its cluster.",
    },
    Oracle { id: "expectation", rule: "A scenario passes in spite of short disturbances." },
];

/// How the time after the last step went.
pub(super) enum Settled {
    /// The cluster has converged. The entries of the record from `quiet_from` on are those of the quiet time.
    Converged { quiet_from: usize },
    /// The cluster has not converged in time.
    Unconverged,
    /// Nothing is expected of the cluster.
    Unknown,
}

/// A rule that a run broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// The id of the oracle.
    pub(super) oracle: String,
    /// The problem in words.
    pub(super) text: String,
    /// The text of its cause, if that is not the problem itself.
    cause: Option<String>,
    /// Steps of the scenario language that fail because of it, after the steps of the case. Empty if the run itself fails.
    pub(super) last_steps: Vec<Value>,
}

impl Problem {
    pub(super) fn new(oracle: &str, text: impl Into<String>) -> Self {
        Self { oracle: oracle.to_owned(), text: text.into(), cause: None, last_steps: Vec::new() }
    }

    /// The problem of a component that panicked.
    pub(super) fn panic(message: &str) -> Self {
        Self::new("panic", format!("a component panicked: {message}"))
    }

    /// The problem of a case whose record differs when it runs again.
    pub(super) fn other_record(first: &str, second: &str) -> Self {
        let text = format!("the same case gave the records {first} and {second}");
        Self { cause: Some("another record".to_owned()), ..Self::new("same-record", text) }
    }

    /// The problem of a finding, whose cause is known.
    pub(super) fn known(oracle: &str, text: &str, cause: &str, last_steps: Vec<Value>) -> Self {
        let cause = cause.strip_prefix(&format!("{oracle}: ")).unwrap_or(cause).to_owned();
        Self { cause: Some(cause), last_steps, ..Self::new(oracle, text) }
    }

    /// The cause, by which problems of several runs are equal: the oracle and the text without numbers.
    pub(super) fn cause(&self) -> String {
        format!("{}: {}", self.oracle, normalise(self.cause.as_ref().unwrap_or(&self.text)))
    }

    /// Adds the time that must pass before the run fails by itself.
    fn after(mut self, span: SignedDuration) -> Self {
        if span > SignedDuration::ZERO {
            self.last_steps.push(json!({ "advance": short_duration(span) }));
        }
        self
    }
}

/// Returns whether nothing is left to do in a cluster.
pub(super) fn has_converged(view: &View) -> bool {
    convergence::unmet(view).is_empty()
}

/// Judges the cluster after the time in which it should have settled.
pub(super) fn judge_settled(session: &Session, settled: &Settled, within: SignedDuration) -> Vec<Problem> {
    match settled {
        Settled::Unknown => Vec::new(),
        Settled::Converged { .. } if convergence::is_refused(session.view()) => Vec::new(),
        Settled::Converged { quiet_from } => {
            quiet::judge(session.record(), *quiet_from).into_iter().collect()
        }
        Settled::Unconverged => {
            let excused = excuses::find(session.record(), session.view());
            let unmet = convergence::unmet(session.view());
            let first = unmet.into_iter().find(|unmet| !excused.iter().any(|excuse| excuse.covers(unmet)));
            first.map(|unmet| unmet.into_problem(within)).into_iter().collect()
        }
    }
}

/// Judges a whole record.
pub(super) fn judge_record(record: &Record) -> Vec<Problem> {
    let refused = record.entries.iter().find_map(|entry| match &entry.event {
        Event::Write(write) if write.code == 403 && write.message.contains(" cannot ") => Some(write),
        _ => None,
    });
    let refused = refused.map(|write| {
        let text = format!("{} {} {} was refused: {}", write.by, write.verb, write.kind, write.message);
        let last_steps = vec![json!({ "expect": { "requests": { "refused": "none" } } })];
        Problem { last_steps, ..Problem::new("rbac", text) }
    });
    refused.into_iter().chain(history::judge(record)).collect()
}

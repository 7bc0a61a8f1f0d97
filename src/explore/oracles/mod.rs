//! Oracles: rules that every run must keep, whatever was done to its cluster.

mod convergence;
mod excuses;
mod failure;
mod quiet;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::after;
use windtunnel_core::text::short_duration;

use crate::engine::Session;
pub(super) use crate::oracles::has_converged;
use crate::oracles::normalise;
use crate::oracles::{self, Ending, RuleFinding};
use crate::record::Record;

/// The ids and rules of the oracles of runs. Those of records are [`oracles::ORACLES`].
const ORACLES: [(&str, &str); 6] = [
    ("converges", "After all faults have ended the cluster fulfils the last request."),
    ("quiet", "A converged cluster changes nothing any more."),
    ("hot-loop", "No component takes turns or makes requests without time passing."),
    ("panic", "No component panics."),
    ("same-record", "The same case gives the same record, also from a copy of its cluster."),
    ("expectation", "A scenario passes in spite of short disturbances."),
];

/// The ids and rules of all oracles besides the invariants: those of runs, then those of records.
pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_records = oracles::ORACLES.iter().map(|oracle| (oracle.id, oracle.rule));
    ORACLES.into_iter().chain(of_records)
}

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
pub(super) struct OracleFinding {
    /// The id of the oracle.
    pub(super) oracle: String,
    /// The finding in words.
    pub(super) text: String,
    /// The text of its cause, if that is another text.
    cause: Option<String>,
    /// Steps of the scenario language that fail because of it, after the steps of the case. Empty if the run itself fails.
    pub(super) last_steps: Vec<Value>,
}

impl OracleFinding {
    pub(super) fn new(oracle: &str, text: impl Into<String>) -> Self {
        Self { oracle: oracle.to_owned(), text: text.into(), cause: None, last_steps: Vec::new() }
    }

    /// The finding of a component that panicked.
    pub(super) fn panic(message: &str) -> Self {
        Self::new("panic", format!("a component panicked: {message}"))
    }

    /// The finding of a case whose record differs when it runs again.
    pub(super) fn other_record(first: &str, second: &str) -> Self {
        let text = format!("the same case gave the records {first} and {second}");
        Self { cause: Some("another record".to_owned()), ..Self::new("same-record", text) }
    }

    /// The finding of an oracle with a known cause.
    pub(super) fn known(oracle: &str, text: &str, cause: &str, last_steps: Vec<Value>) -> Self {
        let cause = cause.strip_prefix(&format!("{oracle}: ")).unwrap_or(cause).to_owned();
        Self { cause: Some(cause), last_steps, ..Self::new(oracle, text) }
    }

    /// The cause, by which findings of several runs are equal: the oracle and the text without numbers.
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

/// Judges the cluster after the time in which it should have settled.
pub(super) fn judge_settled(
    session: &Session,
    settled: &Settled,
    within: SignedDuration,
) -> Vec<OracleFinding> {
    match settled {
        Settled::Unknown => Vec::new(),
        Settled::Converged { .. } if oracles::is_refused(session.view()) => Vec::new(),
        Settled::Converged { quiet_from } => {
            quiet::judge(session.record(), *quiet_from).into_iter().collect()
        }
        Settled::Unconverged => {
            let excused = excuses::find(session.record(), session.view());
            let unmet = oracles::unmet(session.view());
            let first = unmet.into_iter().find(|unmet| !excused.iter().any(|excuse| excuse.covers(unmet)));
            first.map(|unmet| convergence::oracle_finding(unmet, within)).into_iter().collect()
        }
    }
}

/// Judges a whole record, whose last fault ended at `calm_from` after its start. The record is about the time until `now`.
pub(super) fn judge_record(
    record: &Record,
    calm_from: Option<SignedDuration>,
    now: SignedDuration,
) -> Vec<OracleFinding> {
    let epoch = record.header.epoch;
    let ending =
        Ending { until: after(epoch, now), calm_from: calm_from.map(|calm_from| after(epoch, calm_from)) };
    let mut oracle_findings: Vec<OracleFinding> = Vec::new();
    // The invariants have failed the run.
    let findings =
        oracles::judge(record, ending).into_iter().filter(|finding| !finding.rule.starts_with("invariant/"));
    for finding in findings {
        if oracle_findings.iter().all(|known| known.oracle != finding.rule) {
            oracle_findings.push(OracleFinding::of_rule_finding(&finding, finding.at.duration_since(epoch)));
        }
    }
    oracle_findings
}

impl OracleFinding {
    /// The first place at which a record breaks a rule, at this time since its start.
    fn of_rule_finding(finding: &RuleFinding, span: SignedDuration) -> Self {
        let oracle_finding = Self::new(&finding.rule, format!("{} {}", finding.object, finding.how));
        if finding.rule == "rbac" {
            let last_steps = vec![json!({ "expect": { "requests": { "refused": "none" } } })];
            return Self { last_steps, ..oracle_finding };
        }
        oracle_finding.after(span)
    }
}

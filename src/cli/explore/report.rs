//! The summary of an exploration, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use windtunnel_core::text::counted;

use super::corpus::State;
use crate::cli::output::Shown as _;
use crate::explore::{Exploration, Finding, NeverSeen, rules};

/// The seconds of a year.
const YEAR: f64 = 365.0 * 86_400.0;

/// What an exploration found.
#[derive(Clone, Copy)]
pub(super) struct Summary<'s> {
    pub(super) state: &'s State,
    /// The number of states that were known before.
    pub(super) known: usize,
    /// The time in which the others were seen.
    pub(super) wall: Duration,
}

/// The counters of an exploration in one line.
pub(super) fn counters(exploration: &Exploration, known: usize, wall: Duration) -> String {
    format!(
        "{}, {:.2} simulated years, {} seen ({:.1} new per minute), {}",
        runs(exploration.runs),
        years(exploration),
        counted(exploration.states_seen(), "state"),
        new_per_minute(exploration, known, wall),
        counted(exploration.findings.len(), "finding"),
    )
}

fn runs(count: u64) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "run")
}

#[expect(clippy::cast_precision_loss, reason = "seconds of virtual time are far below 2^52")]
pub(super) fn years(exploration: &Exploration) -> f64 {
    exploration.virtual_seconds as f64 / YEAR
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(super) fn new_per_minute(exploration: &Exploration, known: usize, wall: Duration) -> f64 {
    let new = exploration.states_seen().saturating_sub(known) as f64;
    60.0 * new / wall.as_secs_f64().max(1.0)
}

/// The states by their kinds, such as `condition`: each without its kind, with the number of runs that saw it. Those that
/// most runs saw come first.
pub(super) fn states_by_kind(exploration: &Exploration) -> BTreeMap<&str, Vec<(&str, u64)>> {
    let mut kinds: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for (state, runs) in &exploration.states {
        let (kind, rest) = state.split_once(' ').unwrap_or((state, ""));
        kinds.entry(kind).or_default().push((rest, *runs));
    }
    for states in kinds.values_mut() {
        states.sort_by_key(|(state, runs)| (u64::MAX - runs, *state));
    }
    kinds
}

/// The alerts, marks and reasons that no run has seen.
pub(super) fn never_seen(exploration: &Exploration) -> BTreeMap<&'static str, Vec<String>> {
    let NeverSeen { alerts, marks, reasons } = exploration.never_seen();
    let marks = marks.into_iter().map(str::to_owned).collect();
    BTreeMap::from([("alerts", alerts), ("marks", marks), ("reasons", reasons)])
}

/// A finding's runs and the first of them, in words.
pub(super) fn history(finding: &Finding) -> String {
    let mut text = format!("{}, first in run {}", runs(finding.runs), finding.found_in_run);
    if !finding.shard.is_empty() {
        let _ = write!(text, " of shard {}", finding.shard);
    }
    if !finding.is_shrunk {
        text.push_str(", not shrunk to the end");
    } else if !finding.is_reproduced {
        text.push_str(", not reproduced from the start");
    }
    text
}

impl Summary<'_> {
    /// The summary for people. With a folder of scenarios it names the files, and else it has the scenarios.
    pub(super) fn to_text(self, emit: Option<&Path>) -> String {
        let exploration = &self.state.exploration;
        let mut text = String::new();
        for finding in &exploration.findings {
            let _ = writeln!(text, "{}\n  {}", finding.cause, history(finding));
            match emit {
                Some(folder) => {
                    let _ = writeln!(text, "  {}", folder.join(finding.file_name()).shown());
                }
                None => finding.without_secrets().scenario().lines().for_each(|line| {
                    let _ = writeln!(text, "    {line}");
                }),
            }
        }
        let _ = writeln!(text, "{}", counters(exploration, self.known, self.wall));
        for (why, count) in &exploration.cut_short {
            let _ = writeln!(text, "{} ended early: {why}", runs(*count));
        }
        let NeverSeen { alerts, marks, reasons } = exploration.never_seen();
        if !alerts.is_empty() {
            let _ = writeln!(text, "{} never fired: {}", counted(alerts.len(), "alert"), alerts.join(", "));
        }
        if !marks.is_empty() {
            let _ = writeln!(text, "{} never reached:", counted(marks.len(), "mark"));
            for mark in &marks {
                let _ = writeln!(text, "  {mark}");
            }
        }
        if !reasons.is_empty() {
            let _ = writeln!(text, "{} never given:", counted(reasons.len(), "reason"));
            for reason in &reasons {
                let _ = writeln!(text, "  {reason}");
            }
        }
        for reason in exploration.unlisted_reasons() {
            let _ = writeln!(text, "missing in the list of known reasons: {reason}");
        }
        text
    }

    /// The summary for machines.
    pub(super) fn to_json(self) -> String {
        let State { exploration, seed, shard, curve, .. } = self.state;
        let findings: Vec<Value> = exploration.findings.iter().map(finding).collect();
        let oracles = rules().map(|(id, rule)| json!({ "id": id, "rule": rule }));
        let kinds = states_by_kind(exploration)
            .into_iter()
            .map(|(kind, states)| (kind.to_owned(), json!(states.len())));
        let document = json!({
            "windtunnel": env!("CARGO_PKG_VERSION"),
            "seed": seed,
            "shard": shard,
            "runs": exploration.runs,
            "batches": exploration.batches,
            "shrinkingRuns": exploration.shrinking_runs,
            "cutShort": exploration.cut_short,
            "simulatedYears": years(exploration),
            "wallSeconds": self.wall.as_secs_f64(),
            "states": exploration.states,
            "statesByKind": kinds.collect::<serde_json::Map<_, _>>(),
            "newStates": exploration.states_seen().saturating_sub(self.known),
            "newStatesPerMinute": new_per_minute(exploration, self.known, self.wall),
            "curve": curve,
            "corpus": exploration.corpus.len(),
            "oracles": oracles.collect::<Vec<_>>(),
            "neverSeen": never_seen(exploration),
            "findings": findings,
        });
        format!("{document:#}\n")
    }
}

fn finding(finding: &Finding) -> Value {
    let finding = &finding.without_secrets();
    json!({
        "oracle": finding.oracle,
        "rule": finding.rule(),
        "cause": finding.cause,
        "text": finding.text,
        "file": finding.file_name(),
        "command": finding.command(),
        "place": finding.place,
        "foundInRun": finding.found_in_run,
        "shard": finding.shard,
        "runs": finding.runs,
        "faults": finding.case.faults(),
        "shrunk": finding.is_shrunk,
        "reproduced": finding.is_reproduced,
        "scenario": finding.scenario(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_grouped_and_frequent_ones_come_first() {
        let states = [("event A", 1), ("event B", 3), ("pod Running ", 2)];
        let exploration = Exploration {
            states: states.map(|(state, runs)| (state.to_owned(), runs)).into(),
            ..Exploration::default()
        };
        let kinds: Vec<_> = states_by_kind(&exploration).into_iter().collect();
        assert_eq!(kinds, [("event", vec![("B", 3), ("A", 1)]), ("pod", vec![("Running ", 2)])]);
    }
}

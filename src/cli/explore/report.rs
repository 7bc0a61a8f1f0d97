//! The summary of an exploration, as text and as JSON.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use windtunnel_core::text::counted;

use crate::explore::{Exploration, Finding, NeverSeen, ORACLES};
use crate::oracles;

/// The seconds of a year.
const YEAR: f64 = 365.0 * 86_400.0;

/// What an exploration found.
pub(super) struct Summary<'e> {
    pub(super) exploration: &'e Exploration,
    /// The number of states that were known before.
    pub(super) known: usize,
    pub(super) wall: Duration,
    pub(super) seed: u64,
}

/// The counters of an exploration in one line.
pub(super) fn counters(exploration: &Exploration, known: usize, wall: Duration) -> String {
    format!(
        "{}, {:.2} simulated years, {} seen ({:.1} new per minute), {}",
        counted(usize::try_from(exploration.runs).unwrap_or(usize::MAX), "run"),
        years(exploration),
        counted(exploration.states_seen(), "state"),
        new_per_minute(exploration, known, wall),
        counted(exploration.findings.len(), "finding"),
    )
}

#[expect(clippy::cast_precision_loss, reason = "seconds of virtual time are far below 2^52")]
fn years(exploration: &Exploration) -> f64 {
    exploration.virtual_seconds as f64 / YEAR
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn new_per_minute(exploration: &Exploration, known: usize, wall: Duration) -> f64 {
    let new = exploration.states_seen().saturating_sub(known) as f64;
    60.0 * new / wall.as_secs_f64().max(1.0)
}

impl Summary<'_> {
    /// The summary for people. With a folder of scenarios it names the files, and else it has the scenarios.
    pub(super) fn to_text(&self, emit: Option<&Path>) -> String {
        let exploration = self.exploration;
        let mut text = String::new();
        for finding in &exploration.findings {
            let _ = writeln!(text, "{}", finding.cause);
            let times = counted(usize::try_from(finding.runs).unwrap_or(usize::MAX), "run");
            let notes = notes(finding);
            let _ = writeln!(text, "  {times}, first in run {}{notes}", finding.found_in_run);
            match emit {
                Some(folder) => {
                    let _ = writeln!(text, "  {}", folder.join(finding.file_name()).display());
                }
                None => finding.scenario().lines().for_each(|line| {
                    let _ = writeln!(text, "    {line}");
                }),
            }
        }
        let _ = writeln!(text, "{}", counters(exploration, self.known, self.wall));
        for (why, runs) in &exploration.cut_short {
            let runs = counted(usize::try_from(*runs).unwrap_or(usize::MAX), "run");
            let _ = writeln!(text, "{runs} ended early: {why}");
        }
        let NeverSeen { alerts, marks } = exploration.never_seen();
        if !alerts.is_empty() {
            let _ = writeln!(text, "{} never fired: {}", counted(alerts.len(), "alert"), alerts.join(", "));
        }
        if !marks.is_empty() {
            let _ = writeln!(text, "{} never reached:", counted(marks.len(), "mark"));
            marks.iter().for_each(|mark| {
                let _ = writeln!(text, "  {mark}");
            });
        }
        text
    }

    /// The summary for machines.
    pub(super) fn to_json(&self) -> String {
        let exploration = self.exploration;
        let findings: Vec<Value> = exploration.findings.iter().map(finding).collect();
        let document = json!({
            "seed": self.seed,
            "runs": exploration.runs,
            "cutShort": exploration.cut_short,
            "shrinkingRuns": exploration.shrinking_runs,
            "simulatedYears": years(exploration),
            "states": exploration.states,
            "newStatesPerMinute": new_per_minute(exploration, self.known, self.wall),
            "corpus": exploration.corpus.len(),
            "oracles": rules(),
            "neverSeen": exploration.never_seen(),
            "findings": findings,
        });
        format!("{document:#}\n")
    }
}

/// The rules besides the invariants: those of runs, then those of records.
fn rules() -> Vec<Value> {
    let of_records = oracles::ORACLES.iter().map(|oracle| (oracle.id, oracle.rule));
    let all = ORACLES.into_iter().chain(of_records);
    all.map(|(id, rule)| json!({ "id": id, "rule": rule })).collect()
}

fn notes(finding: &Finding) -> String {
    let mut notes = String::new();
    if !finding.is_reproduced {
        notes.push_str(", not reproduced from the start");
    } else if !finding.is_shrunk {
        notes.push_str(", not shrunk to the end");
    }
    notes
}

fn finding(finding: &Finding) -> Value {
    json!({
        "oracle": finding.oracle,
        "cause": finding.cause,
        "text": finding.text,
        "file": finding.file_name(),
        "foundInRun": finding.found_in_run,
        "runs": finding.runs,
        "faults": finding.case.faults(),
        "shrunk": finding.is_shrunk,
        "reproduced": finding.is_reproduced,
        "scenario": finding.scenario(),
    })
}

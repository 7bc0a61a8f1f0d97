//! The text of an expectation that is not met: what was seen instead, and what may explain it.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::View;
use windtunnel_core::text::short_duration;

use super::matching::{check_all, insights, objects};
use super::{cause, unknown_field, unknown_name};
use crate::engine::command;
use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::plan::{Check, CommandCheck, ExpectedState, InsightRef};
use crate::record::{Event, WriteEvent};

/// The most candidates, and the most rejected writes, that a text lists.
const LISTED: usize = 5;

/// The most changed letters of a word that is misspelt, and not another word.
const MISSPELT: usize = 2;

/// The error for an unmet expectation. `why` is what was seen instead; the first line has the most telling cause as well.
/// Below it are all candidates if there
/// are several, the faults that are in effect, the writes that keep being rejected, and what the components
/// wait for.
pub(in crate::engine) fn unmet_error(
    simulation: &Simulation,
    what: &ExpectedState,
    why: &str,
) -> SessionError {
    if let Some(text) = unknown_field::find(simulation, what) {
        return SessionError::CannotHold(text);
    }
    if let Some(hint) = unknown_name::find(simulation, what) {
        let hint = if why.contains("did you mean") { String::new() } else { hint };
        return SessionError::CannotHold(format!("seen: {why}{hint}"));
    }
    if is_misspelt_condition(simulation, what) {
        return SessionError::CannotHold(format!("seen: {why}"));
    }
    let mut text = seen(&simulation.view, what).unwrap_or_else(|| format!("seen: {why}"));
    let rejected = rejected(simulation);
    let cause = cause::most_telling(simulation, what, &text, &rejected);
    let with_cause = cause.as_ref().and_then(|cause| cause::with_cause(&text, cause));
    // The first line has this rejection in full.
    let in_first_line = cause.and_then(|cause| cause.rejected).filter(|_| with_cause.is_some());
    text = with_cause.unwrap_or(text);
    for (fault, since) in simulation.faults_in_effect.iter() {
        let since = short_duration(since.duration_since(simulation.record.header.epoch));
        text += &format!("\n  fault: {fault}, since {since}");
    }
    text += &cause::rejected_release(simulation, what, &text).unwrap_or_default();
    for (index, write) in rejected.iter().enumerate() {
        if Some(index) != in_first_line {
            text += &format!("\n  rejected: {}", cause::described(write));
        }
    }
    for pending in simulation.pending() {
        text += &format!("\n  pending: {} waits for: {}", pending.actor, pending.why);
    }
    for (program, line) in simulation.last_program_lines(LISTED) {
        text += &format!("\n  printed by {program}: {line}");
    }
    match what {
        ExpectedState::Command(checks) if is_failed_command(simulation, checks) => {
            SessionError::CommandFailed(text)
        }
        _ => SessionError::ExpectationFailed(text),
    }
}

/// Whether an expectation names a condition type that no object of its kind has, and that is one or two letters from another.
fn is_misspelt_condition(simulation: &Simulation, what: &ExpectedState) -> bool {
    let ExpectedState::Object(object, checks) = what else { return false };
    let kinds = simulation.view.list(&object.resource).flat_map(|found| found.list("/status/conditions"));
    let kinds: BTreeSet<&str> = kinds.filter_map(|condition| condition["type"].as_str()).collect();
    checks.iter().any(|check| match check {
        Check::Condition { kind, .. } => {
            !kinds.contains(kind.as_str())
                && kinds.iter().any(|other| strsim::damerau_levenshtein(kind, other) <= MISSPELT)
        }
        _ => false,
    })
}

/// Whether the last command ended with an error although it must succeed.
fn is_failed_command(simulation: &Simulation, checks: &[CommandCheck]) -> bool {
    let output = command::last_output(simulation);
    output.is_ok_and(|output| matches!(output.check(checks), Err(SessionError::CommandFailed(_))))
}

/// Describes all candidates of an expectation; `None` if there is none, or only one.
fn seen(view: &View, what: &ExpectedState) -> Option<String> {
    match what {
        ExpectedState::Object(object, checks) => {
            let candidate =
                |found: &Value, name: &str| (name.to_owned(), check_all(found, None, checks).err());
            let found: Vec<_> = objects(view, object).map(|found| candidate(found, found.name())).collect();
            (found.len() > 1).then(|| list(&format!("seen: none of {} objects matches", found.len()), &found))
        }
        ExpectedState::Insight(insight, checks) => {
            let candidates = insights(view, insight);
            let found: Vec<_> =
                candidates.iter().map(|found| (title(found), check_all(found, None, checks).err())).collect();
            match found.len() {
                0 => others(view, insight),
                1 => None,
                count => Some(list(&format!("seen: none of {count} insights matches"), &found)),
            }
        }
        _ => None,
    }
}

/// Describes the published insights of the wanted kind, none of which is about the wanted object.
fn others(view: &View, wanted: &InsightRef) -> Option<String> {
    let any = InsightRef { kind: wanted.kind.clone(), name: String::new(), about: None };
    let published: Vec<_> = insights(view, &any).iter().map(|found| (title(found), None)).collect();
    let head = format!("seen: no {wanted} is published; published are:");
    (!published.is_empty()).then(|| list(&head, &published))
}

/// Lists candidates below a line, each with the check that fails.
fn list(head: &str, found: &[(String, Option<String>)]) -> String {
    let mut text = head.to_owned();
    for (name, why) in found.iter().take(LISTED) {
        let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        text += &format!("\n  - {name}{why}");
    }
    match found.len().saturating_sub(LISTED) {
        0 => text,
        more => text + &format!("\n  - and {more} more"),
    }
}

/// Returns how a person would call an insight: its object, or for a health insight its objects and summary.
fn title(insight: &Value) -> String {
    let name = |resource: &Value| {
        let part = |field: &str| resource[field].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", part("resource"), part("name"))
    };
    if !insight["resource"].is_null() {
        return name(&insight["resource"]);
    }
    let about: Vec<String> =
        insight["scope"]["resources"].as_array().into_iter().flatten().map(name).collect();
    let summary = insight["impact"]["summary"].as_str().unwrap_or_default();
    format!("about {}: {summary:?}", about.join(", "))
}

/// Returns the writes that were rejected last time, since the last actions; the last one first. Conflicts and missing
/// objects are left out, because components live with them.
fn rejected(simulation: &Simulation) -> Vec<&WriteEvent> {
    let mut latest = BTreeSet::new();
    let mut found: Vec<&WriteEvent> = Vec::new();
    for entry in simulation.entries_since_last_actions().iter().rev() {
        let Event::Write(write) = &entry.event else { continue };
        let is_latest = latest.insert((&write.by, &write.key, &write.subresource));
        if is_latest && write.code >= 400 && ![404, 409].contains(&write.code) && found.len() < LISTED {
            found.push(write);
        }
    }
    found
}

//! The text of an expectation that is not met: what was seen instead, and what may explain it.

use std::collections::BTreeSet;

use serde_json::Value;
use windtunnel_core::View;
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;
use windtunnel_core::text::short_duration;

use super::matching::{check_all, insights, objects};
use crate::engine::error::SessionError;
use crate::engine::runtime::Simulation;
use crate::plan::{Check, ExpectedState, InsightRef, path};
use crate::record::{Event, WriteEvent};

/// The most candidates, and the most rejected writes, that a text lists.
const LISTED: usize = 5;

/// The error for an unmet expectation. `why` is what was seen instead. Below it stand all candidates if there
/// are several, the faults that are in effect, the writes that keep being rejected, and what the components
/// wait for.
pub(in crate::engine) fn unmet_error(
    simulation: &Simulation,
    what: &ExpectedState,
    why: &str,
) -> SessionError {
    let view = &simulation.view;
    let mut text =
        no_such_field(view, what).or_else(|| seen(view, what)).unwrap_or_else(|| format!("seen: {why}"));
    for (fault, since) in simulation.faults_in_effect.iter() {
        let since = short_duration(since.duration_since(simulation.record.header.epoch));
        text += &format!("\n  fault: {fault}, since {since}");
    }
    for rejected in rejected(simulation) {
        text += &format!("\n  rejected: {rejected}");
    }
    for pending in simulation.pending() {
        text += &format!("\n  pending: {} waits for: {}", pending.actor, pending.why);
    }
    for (program, line) in simulation.last_program_lines(LISTED) {
        text += &format!("\n  printed by {program}: {line}");
    }
    SessionError::ExpectationFailed(text)
}

/// Describes the first field of an expectation that no object of the kind can have, if there is an object.
fn no_such_field(view: &View, what: &ExpectedState) -> Option<String> {
    let ExpectedState::Object(object, checks) = what else { return None };
    objects(view, object).next()?;
    let name = format!("{}.{}", object.resource.plural, object.resource.group);
    let definition = view.get(&CUSTOM_RESOURCE_DEFINITIONS, "", &name).map(|found| &**found);
    let paths = checks.iter().filter_map(|check| match check {
        Check::Field { path, .. } | Check::Unchanged { path } => Some(path),
        _ => None,
    });
    let mut missing = paths.filter_map(|path| path::no_such_field(&object.resource, definition, path));
    missing.next().map(|why| format!("seen: {why}"))
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

/// Describes the writes that were rejected last time, since the last actions: writer, object, code and message.
/// Conflicts and missing objects are left out, because components live with them.
fn rejected(simulation: &Simulation) -> Vec<String> {
    let mut latest = BTreeSet::new();
    let mut found: Vec<String> = Vec::new();
    for entry in simulation.entries_since_last_actions().iter().rev() {
        let Event::Write(write) = &entry.event else { continue };
        let is_latest = latest.insert((&write.by, &write.key, &write.subresource));
        if is_latest && write.code >= 400 && ![404, 409].contains(&write.code) && found.len() < LISTED {
            found.push(described(write));
        }
    }
    found
}

fn described(write: &WriteEvent) -> String {
    let WriteEvent { by, verb, key, subresource, code, message, .. } = write;
    let of = if subresource.is_empty() { String::new() } else { format!("{subresource} of ") };
    format!("{verb} of {of}{}/{} by {by}: {code} {message}", write.kind, key.name)
}

//! The events of a record that a scenario can express: requests, failures and the reactions of the cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use windtunnel_controllers::faults::{ANNOTATION, MESSAGE, NONE, REASON};
use windtunnel_core::clock::Time;
use windtunnel_core::condition::{Condition, find};
use windtunnel_core::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::yaml::{quoted, scalar};
use windtunnel_core::{Key, Object, pool};

use super::flow;
use super::lost::Lost;
use super::nodes_away::NodesAway;
use super::omissions::is_request;
use super::requests::step;
use crate::record::{ADMINISTRATOR, Event, Record, WriteEvent};

/// The beginning of the names of the objects that block a drain.
const DRAIN_BLOCKER: &str = "drain-blocker-";

/// Why a report about nodes is no fault.
const NODES_REPORTED: &str = "a run of the draft has such reports only while its own nodes are not ready";

/// An event at one moment.
pub(super) struct DraftEvent {
    pub(super) at: Time,
    what: What,
}

enum What {
    /// An update was requested: to a version, or to an image if its version is unknown; and whether by force.
    Update(String, bool),
    /// The update request was withdrawn.
    Clear,
    /// An operator or a node started to fail: `operator` or `node`, its name, and the failure.
    Fault(&'static str, String, Failure),
    /// An operator or a node recovered.
    Heal(&'static str, String),
    /// A pool was paused or unpaused.
    Paused(String, bool),
    /// The cluster-version operator reported new conditions.
    Reported(Vec<Condition>),
    /// Another request of a person, as a step.
    Request(String),
}

/// A failure, with its reason and message.
#[derive(Clone, PartialEq, Eq)]
struct Failure {
    /// The fault in a scenario, such as `degraded`.
    kind: String,
    reason: String,
    message: String,
}

impl DraftEvent {
    pub(super) fn release(&self) -> Option<&str> {
        match &self.what {
            What::Update(to, _) if !to.contains('@') => Some(to),
            _ => None,
        }
    }

    /// Returns the expected conditions as YAML lines; `None` if the event is a step.
    pub(super) fn expected(&self) -> Option<String> {
        let What::Reported(conditions) = &self.what else { return None };
        let line = |condition: &Condition| {
            let fields = [
                ("type", condition.kind.as_str()),
                ("status", &condition.status),
                ("reason", &condition.reason),
                ("message", &condition.message),
            ];
            format!("    - {}\n", flow(&fields))
        };
        Some(conditions.iter().map(line).collect())
    }

    /// Whether this is the fault or the recovery that the text of a step describes.
    pub(super) fn is_described_by(&self, step: &str) -> bool {
        match &self.what {
            What::Fault(who, name, _) | What::Heal(who, name) => step.starts_with(&format!("{who} {name} ")),
            _ => false,
        }
    }

    /// Whether the pool is paused or not from the start on, so that it needs no step.
    pub(super) fn is_pause_at_start(&self, pools: &BTreeSet<String>, start: Time) -> bool {
        self.at <= start && matches!(&self.what, What::Paused(name, _) if pools.contains(name))
    }

    pub(super) fn ends_update(&self) -> bool {
        let ends = |condition: &Condition| condition.kind == "Progressing" && condition.status == "False";
        matches!(&self.what, What::Reported(conditions) if conditions.iter().any(ends))
    }

    pub(super) fn step(&self) -> String {
        match &self.what {
            What::Update(to, force) => {
                let to = if to.contains('@') {
                    format!("image: {}", quoted(to))
                } else {
                    format!("to: {}", scalar(to))
                };
                let force = if *force { ", force: true" } else { "" };
                format!("update: {{{to}{force}}}")
            }
            What::Clear => "clear-update".to_owned(),
            What::Fault(who, name, Failure { kind, reason, message }) => {
                // Only faults of operators have a reason.
                let reason = if *who == "operator" { reason } else { "" };
                format!(
                    "fault: {}",
                    flow(&[(who, name), ("is", kind), ("reason", reason), ("message", message)])
                )
            }
            What::Heal(who, name) => format!("heal: {}", flow(&[(who, name)])),
            What::Paused(name, paused) => format!(
                "apply:\n    apiVersion: {}\n    kind: {}\n    metadata: {{name: {}}}\n    spec: {{paused: {paused}}}",
                MACHINE_CONFIG_POOLS.api_version(),
                MACHINE_CONFIG_POOLS.kind,
                scalar(name)
            ),
            What::Request(step) => step.clone(),
            What::Reported(_) => String::new(),
        }
    }
}

/// Returns the events after the start of a record that a scenario can express, in order; `lost` gets the other requests of
/// people.
pub(super) fn events(record: &Record, lost: &mut Lost) -> Vec<DraftEvent> {
    let mut failing: BTreeMap<&Key, Failure> = BTreeMap::new();
    let mut away = NodesAway::default();
    let mut found = Vec::new();
    for entry in &record.entries {
        let Event::Write(write) = &entry.event else { continue };
        let is_set_up = record.is_set_up(entry);
        let is_asked = !is_set_up && is_request(write) && !injects(write) && !blocks_drain(write);
        if write.code >= 400 {
            if is_asked {
                lost.add("rejected requests", "a draft repeats those that were accepted", &described(write));
            }
            continue;
        }
        let mut what = Vec::new();
        let Some(after) = &write.after else {
            what.extend(is_asked.then(|| requested_step(write, lost)).flatten());
            found.extend(what.into_iter().map(|what| DraftEvent { at: entry.at, what }));
            continue;
        };
        if write.key.is_kind(&CLUSTER_VERSIONS) && write.key.name == "version" {
            what.extend(requested(write, after, record));
            what.extend(condition_changes(write, after));
        } else if write.key.is_kind(&MACHINE_CONFIG_POOLS) {
            let paused = |object: &Object| pool::is_paused(object);
            let before = write.before.as_ref().is_some_and(paused);
            if before != paused(after) {
                what.push(What::Paused(write.key.name.clone(), paused(after)));
            }
        } else if let Some(who) = who(&write.key) {
            away.notice(after, entry.at);
            let mut now = failure(after);
            if let Some(failure) = now.take_if(|now| away.explain(&now.reason, entry.at)) {
                let report = format!("{} of {who} {}", failure.reason, write.key.name);
                lost.add("reports about nodes that are not ready", NODES_REPORTED, &report);
            }
            if failing.get(&write.key) != now.as_ref() {
                what.push(match now {
                    Some(failure) => {
                        failing.insert(&write.key, failure.clone());
                        What::Fault(who, write.key.name.clone(), failure)
                    }
                    None => {
                        failing.remove(&write.key);
                        What::Heal(who, write.key.name.clone())
                    }
                });
            }
        }
        // Failures and paused pools from the set-up become steps at the start; updates and conditions from it
        // are part of a plain cluster.
        if is_asked && what.is_empty() {
            what.extend(requested_step(write, lost));
        }
        let at = entry.at.max(record.header.epoch);
        let relevant = what
            .into_iter()
            .filter(|what| !is_set_up || !matches!(what, What::Reported(_) | What::Update(..)));
        found.extend(relevant.map(|what| DraftEvent { at, what }));
    }
    found
}

/// Returns the step of a request; `lost` gets one for which there is none.
fn requested_step(write: &WriteEvent, lost: &mut Lost) -> Option<What> {
    match step(write) {
        Ok(step) => Some(What::Request(step)),
        Err(reason) => {
            lost.add("requests", reason, &described(write));
            None
        }
    }
}

fn described(WriteEvent { verb, kind, key, subresource, .. }: &WriteEvent) -> String {
    let of = if subresource.is_empty() { String::new() } else { format!("{subresource} of ") };
    let namespace = if key.namespace.is_empty() { String::new() } else { format!("{}/", key.namespace) };
    format!("{verb} of {of}{kind}/{namespace}{}", key.name)
}

/// Whether a write is part of the fault `drain-blocked`, which has a step of its own: the pod on the node, or its budget.
fn blocks_drain(write: &WriteEvent) -> bool {
    write.by == ADMINISTRATOR && write.key.namespace == "default" && write.key.name.starts_with(DRAIN_BLOCKER)
}

/// Whether a write begins or ends a fault. The draft does so when the operator or node reports it.
fn injects(write: &WriteEvent) -> bool {
    let fault = |object: &Option<Object>| {
        object.as_ref().and_then(|object| object.annotation(ANNOTATION).map(str::to_owned))
    };
    who(&write.key).is_some() && fault(&write.before) != fault(&write.after)
}

fn who(key: &Key) -> Option<&'static str> {
    if key.is_kind(&CLUSTER_OPERATORS) {
        Some("operator")
    } else if key.is_kind(&NODES) {
        Some("node")
    } else {
        None
    }
}

/// Returns the failure of an operator or a node: its injected fault, or what it reports.
fn failure(object: &Object) -> Option<Failure> {
    if let Some(kind) = object.annotation(ANNOTATION).filter(|kind| *kind != NONE) {
        let text = |key| object.annotation(key).unwrap_or_default().to_owned();
        return Some(Failure { kind: kind.to_owned(), reason: text(REASON), message: text(MESSAGE) });
    }
    let conditions = object.conditions();
    let reported = |condition_type: &str, status: &str, kind: &str| {
        let condition = find(conditions, condition_type).filter(|condition| condition["status"] == status)?;
        let Condition { reason, message, .. } = Condition::from_value(condition);
        Some(Failure { kind: kind.to_owned(), reason, message })
    };
    let state = |name| object.annotation(&format!("machineconfiguration.openshift.io/{name}"));
    match (object.text("/kind"), state("state")) {
        ("Node", Some("Degraded")) => {
            let message = state("reason").unwrap_or_default().to_owned();
            Some(Failure { kind: "degraded".to_owned(), reason: String::new(), message })
        }
        ("Node", _) => None,
        _ => {
            reported("Available", "False", "unavailable").or_else(|| reported("Degraded", "True", "degraded"))
        }
    }
}

/// Returns the new update request, or its withdrawal.
fn requested(write: &WriteEvent, after: &Object, record: &Record) -> Option<What> {
    let wanted = |object: &Object| object["spec"]["desiredUpdate"].clone();
    let (before, after) = (write.before.as_ref().map(wanted).unwrap_or_default(), wanted(after));
    if before == after {
        return None;
    }
    let text = |field: &str| after[field].as_str().unwrap_or_default().to_owned();
    let force = after["force"] == true;
    match (text("version"), text("image")) {
        _ if after.is_null() => Some(What::Clear),
        (version, image) if version.is_empty() => {
            Some(What::Update(version_of(&image, record).unwrap_or(image), force))
        }
        (version, _) => Some(What::Update(version, force)),
    }
}

/// Returns the version of an image according to the history at the end of the record.
fn version_of(image: &str, record: &Record) -> Option<String> {
    let view = record.view_at(record.end());
    let version = view.cluster_version()?;
    let mut history = version.list("/status/history").iter();
    let found = history.find(|entry| entry["image"] == image)?;
    found["version"].as_str().filter(|version| !version.is_empty()).map(str::to_owned)
}

/// Returns the changed conditions that are worth an expectation.
fn condition_changes(write: &WriteEvent, after: &Object) -> Option<What> {
    let nothing: &[Value] = &[];
    let before = write.before.as_ref().map_or(nothing, Object::conditions);
    let after = after.conditions();
    let status = |conditions: &[Value], kind: &str| {
        find(conditions, kind).and_then(|condition| condition["status"].as_str().map(str::to_owned))
    };
    let mut changed = Vec::new();
    for (kind, expected) in
        [("ReleaseAccepted", "False"), ("Failing", "True"), ("Failing", "False"), ("Progressing", "False")]
    {
        let is_new = status(before, kind).is_some_and(|was| was != expected);
        if let Some(condition) =
            find(after, kind).filter(|condition| is_new && condition["status"] == expected)
        {
            let Condition { kind, status, reason, message } = Condition::from_value(condition);
            // Other messages contain names that differ from run to run.
            let message = if kind == "Progressing" { message } else { String::new() };
            let reason = if status == "True" || kind == "ReleaseAccepted" { reason } else { String::new() };
            changed.push(Condition { kind, status, reason, message });
        }
    }
    if changed.is_empty() { None } else { Some(What::Reported(changed)) }
}

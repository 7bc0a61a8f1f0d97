//! Coverage: the states that an observer of a cluster can see, in a record.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::alert::AlertState;
use windtunnel_core::yaml;
use windtunnel_core::{Object, condition, text_of};
use windtunnel_openshift::mco::annotations::{REASON, STATE};
use windtunnel_update_status::insight::published;

use super::normal::normalise;
use crate::record::{Event, Record, WriteEvent};

/// States in words, with the time since the start at which each was first seen.
pub(super) type Seen = BTreeMap<String, SignedDuration>;

/// The kinds whose messages of conditions are states as well.
const WITH_MESSAGES: [&str; 3] = ["ClusterVersion", "ClusterOperator", "MachineConfigPool"];

/// Returns the states in a record since the start of the run.
pub(super) fn seen(record: &Record) -> Seen {
    let mut seen = Seen::new();
    for entry in record.entries.iter().filter(|entry| !record.is_set_up(entry)) {
        let at = entry.at.duration_since(record.header.epoch);
        let mut add = |state: String| {
            seen.entry(state).or_insert(at);
        };
        match &entry.event {
            Event::Write(write) => states_of_write(write, &mut add),
            Event::Alert(alert) if alert.state == AlertState::Inactive => {}
            Event::Alert(alert) => add(format!("alert {} {:?}", alert.name(), alert.state)),
            Event::Process { program, started, .. } => {
                let what = if *started { "starts" } else { "ends" };
                add(format!("process {} {what}", normalise(program)));
            }
            _ => {}
        }
    }
    seen
}

fn states_of_write(write: &WriteEvent, add: &mut impl FnMut(String)) {
    if write.code >= 400 {
        let WriteEvent { verb, kind, subresource, code, message, .. } = write;
        add(format!("refusal {verb} {kind} {subresource} {code}: {}", normalise(message)));
        return;
    }
    let Some(after) = &write.after else { return };
    if write.kind == "UpdateStatus" || write.key.name == published::CONFIG_MAP {
        states_of_insights(write.before.as_ref(), after, add);
    }
    if write.kind == "Event" {
        add(format!("event {}", after.text("/reason")));
        return;
    }
    let before = write.before.as_ref();
    for condition in after.list("/status/conditions") {
        let kind = condition::type_of(condition);
        if before.and_then(|before| condition::find_in_status(before, kind)) == Some(condition) {
            continue;
        }
        let (status, reason) = (text_of(condition, "status"), normalise(text_of(condition, "reason")));
        add(format!("condition {}/{kind}={status} {reason}", write.kind));
        if WITH_MESSAGES.contains(&&*write.kind) {
            add(format!("message {}/{kind}: {}", write.kind, normalise(text_of(condition, "message"))));
        }
    }
    match &*write.kind {
        "Node" => {
            let annotation = |key: &str| normalise(after.annotation(key).unwrap_or_default());
            add(format!("node {}: {}", annotation(STATE), annotation(REASON)));
        }
        "ClusterVersion" => add(states_of_history(after)),
        "Pod" => {
            add(format!("pod {} {}", after.text("/status/phase"), normalise(after.text("/status/reason"))))
        }
        _ => {}
    }
}

/// The states of the newest entries of the history.
fn states_of_history(version: &Object) -> String {
    let states = version.list("/status/history").iter().take(3).map(|entry| text_of(entry, "state"));
    format!("history {}", states.collect::<Vec<_>>().join(" "))
}

fn states_of_insights(before: Option<&Object>, after: &Object, add: &mut impl FnMut(String)) {
    let old = before.map(|before| insights(before)).unwrap_or_default();
    for (uid, insight) in insights(after) {
        if old.get(&uid) == Some(&insight) {
            continue;
        }
        let Some((kind, content)) = published::content(&insight) else { continue };
        let conditions = content["conditions"].as_array().into_iter().flatten();
        for condition in conditions {
            let (name, status) = (condition::type_of(condition), text_of(condition, "status"));
            add(format!("insight {kind}/{name}={status} {}", text_of(condition, "reason")));
        }
        if kind == "Health" {
            let impact = &content["impact"];
            let (level, what) = (text_of(impact, "level"), text_of(impact, "type"));
            add(format!("insight Health {level} {what}: {}", normalise(text_of(impact, "summary"))));
        }
        if let Some(assessment) = content["assessment"].as_str() {
            add(format!("insight {kind} {assessment}"));
        }
    }
}

/// The insights that an object publishes, by their uids.
fn insights(object: &Object) -> BTreeMap<String, Value> {
    let value = object.to_value();
    let in_status =
        published::insights_in_status(&value["status"]).map(|(uid, insight)| (uid, insight.clone()));
    let documents = published::documents(&value)
        .filter_map(|(uid, text)| Some((uid.to_owned(), yaml::from_str::<Value>(text).ok()?)));
    in_status.chain(documents).collect()
}

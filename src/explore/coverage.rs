//! Coverage: the states that an observer of a cluster can see, in a record.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde_json::Value;
use windtunnel_core::alert::AlertState;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::PROMETHEUS_RULES;
use windtunnel_core::yaml;
use windtunnel_core::{Object, condition, pod, text_of};
use windtunnel_openshift::mco::annotations::{REASON, STATE};
use windtunnel_update_status::insight::published;

use crate::oracles::normalise;
use crate::record::{Event, Record, WriteEvent};

/// States in words, with the time since the start at which each was first seen.
pub(super) type Seen = BTreeMap<String, SignedDuration>;

/// The kinds whose messages of conditions are states as well.
const WITH_MESSAGES: [&str; 3] = ["ClusterVersion", "ClusterOperator", "MachineConfigPool"];

/// Returns the states in a record since the start of the run, and the marks that its components reached.
pub(super) fn seen(record: &Record, marks: &BTreeMap<&'static str, Time>) -> Seen {
    let since = |at: Time| at.duration_since(record.header.epoch);
    let reached = marks.iter().map(|(name, at)| (marked(name), since(*at).max(SignedDuration::ZERO)));
    let mut seen: Seen = reached.collect();
    for entry in record.entries.iter().filter(|entry| !record.is_set_up(entry)) {
        let at = entry.at.duration_since(record.header.epoch);
        let mut add = |state: String| {
            seen.entry(state).or_insert(at);
        };
        match &entry.event {
            Event::Write(write) => states_of_write(write, &mut add),
            Event::Alert(alert) if alert.state == AlertState::Inactive => {}
            Event::Alert(alert) => add(alert_state(alert.name(), alert.state)),
            Event::Process { program, started, .. } => {
                let what = if *started { "starts" } else { "ends" };
                add(format!("process {} {what}", normalise(program)));
            }
            _ => {}
        }
    }
    seen
}

/// The state in which a component has reached a mark.
pub(super) fn marked(name: &str) -> String {
    format!("mark {name}")
}

/// Whether a state is a mark.
pub(super) fn is_mark(state: &str) -> bool {
    state.starts_with("mark ")
}

/// Returns the condition and the reason in the state of a condition: `insight Node/Updating` and `Draining` of
/// `insight Node/Updating=True Draining`.
pub(super) fn reason_in(state: &str) -> Option<(&str, &str)> {
    let is_of_condition = state.starts_with("condition ") || state.starts_with("insight ");
    let (subject, rest) = state.split_once('=').filter(|_| is_of_condition)?;
    let (_, reason) = rest.split_once(' ')?;
    Some((subject, reason))
}

/// The state in which an alert of this name fires.
pub(super) fn firing(name: &str) -> String {
    alert_state(name, AlertState::Firing)
}

fn alert_state(name: &str, state: AlertState) -> String {
    format!("alert {name} {state:?}")
}

/// Returns the alerts that rules of a cluster define.
pub(super) fn defined_alerts(record: &Record) -> BTreeSet<String> {
    let writes = record.entries.iter().filter_map(|entry| match &entry.event {
        Event::Write(write) if write.kind == PROMETHEUS_RULES.kind => write.after.as_ref(),
        _ => None,
    });
    let groups = writes.flat_map(|rules| rules.list("/spec/groups"));
    let rules = groups.flat_map(|group| group["rules"].as_array().into_iter().flatten());
    rules.filter_map(|rule| rule["alert"].as_str().map(str::to_owned)).collect()
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
    for condition in after.conditions() {
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
            add(format!("pod {} {}", pod::phase(after), normalise(after.text("/status/reason"))));
        }
        _ => {}
    }
}

/// The states of the newest entries of the history.
fn states_of_history(version: &Object) -> String {
    let states = version.list("/status/history").iter().take(3).map(|entry| text_of(entry, "state"));
    format!("history {}", states.collect::<Vec<_>>().join(" "))
}

/// Adds the states of the insights that an object publishes and the one before it did not. Parsing their documents is most
/// of the cost of coverage, so it parses only those whose text changed.
fn states_of_insights(before: Option<&Object>, after: &Object, add: &mut impl FnMut(String)) {
    let old: BTreeMap<String, &Value> = before.into_iter().flat_map(in_status).collect();
    for (_, insight) in in_status(after).filter(|(uid, insight)| old.get(uid) != Some(insight)) {
        states_of_insight(insight, add);
    }
    let old: BTreeMap<&str, &str> =
        before.into_iter().flat_map(|before| published::documents(before)).collect();
    for (_, text) in published::documents(after).filter(|(uid, text)| old.get(uid) != Some(text)) {
        if let Ok(insight) = yaml::from_str::<Value>(text) {
            states_of_insight(&insight, add);
        }
    }
}

/// The insights in the status of an object, by their uids.
fn in_status(object: &Object) -> impl Iterator<Item = (String, &Value)> {
    published::insights_in_status(&object["status"])
}

fn states_of_insight(insight: &Value, add: &mut impl FnMut(String)) {
    let Some((kind, content)) = published::content(insight) else { return };
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::resources::{CLUSTER_OPERATORS, CONFIG_MAPS, EVENTS};

    use super::*;

    fn states(kind: &str, code: u16, before: Option<Value>, after: Value) -> Vec<String> {
        let key = match kind {
            "Event" => EVENTS.key("ns", "n"),
            "ConfigMap" => CONFIG_MAPS.key(published::NAMESPACE, published::CONFIG_MAP),
            _ => CLUSTER_OPERATORS.key("", "dns"),
        };
        let write = WriteEvent {
            by: "a".to_owned(),
            process: String::new(),
            verb: "update".to_owned(),
            kind: kind.to_owned(),
            key,
            subresource: String::new(),
            code,
            message: "revision 17 is old".to_owned(),
            before: before.map(Object::new),
            after: Some(Object::new(after)),
        };
        let mut states = Vec::new();
        states_of_write(&write, &mut |state| states.push(state));
        states
    }

    #[test]
    fn states_are_what_changed_without_numbers() {
        let operator = |message: &str| {
            json!({ "status": { "conditions": [
                { "type": "Degraded", "status": "True", "reason": "Down", "message": message },
            ] } })
        };
        let found = states("ClusterOperator", 200, None, operator("3 of 4 pods are down"));
        let wanted = [
            "condition ClusterOperator/Degraded=True Down",
            "message ClusterOperator/Degraded: # of # pods are down",
        ];
        assert_eq!(found, wanted);
        let same = states("ClusterOperator", 200, Some(operator("x")), operator("x"));
        assert!(same.is_empty(), "{same:?}");
        assert_eq!(
            states("ClusterOperator", 409, None, json!({})),
            ["refusal update ClusterOperator  409: revision # is old",]
        );
        assert_eq!(states("Event", 200, None, json!({ "reason": "Reboot" })), ["event Reboot"]);
    }

    #[test]
    fn only_changed_insights_are_states() {
        let insight = |condition: &str, status: &str| {
            let condition = json!({ "type": condition, "status": status, "reason": "R" });
            json!({ "uid": condition["type"], "type": "Node", "node": { "conditions": [condition] } })
        };
        let published = |status: &str| {
            let [one, other] = [insight("Updating", "True"), insight("Degraded", status)];
            let data = json!({ "usc.ni.a": one.to_string(), "usc.ni.b": other.to_string() });
            let informers = json!([{ "name": "ni", "insights": [one, other] }]);
            (json!({ "data": data }), json!({ "status": { "controlPlane": { "informers": informers } } }))
        };
        let ((config_map, status), (next_config_map, next_status)) = (published("False"), published("True"));
        for (kind, before, after) in
            [("ConfigMap", config_map, next_config_map), ("UpdateStatus", status, next_status)]
        {
            let all = ["insight Node/Updating=True R", "insight Node/Degraded=False R"];
            assert_eq!(states(kind, 200, None, before.clone()), all, "{kind}");
            assert_eq!(states(kind, 200, Some(before), after), ["insight Node/Degraded=True R"], "{kind}");
        }
    }
}

//! Reruns a plan once per write, with a crash of the process after that write, and compares the final
//! clusters.

#[cfg(test)]
mod recovery;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windtunnel_core::pod::MIRROR;
use windtunnel_core::requests::faults::{Hits, RequestFilter};
use windtunnel_core::{Object, View, condition};

use super::error::SessionError;
use super::run::{Failure, run_in_session};
use super::runtime::crashes::{Crash, CrashMoment};
use super::session::Session;
use crate::plan::Plan;
use crate::record::Event;

/// A crash of a process right after one of its writes, before it sees the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// The process, by its name in the timeline.
    pub process: String,
    /// The number of the write since the run began, from 1.
    pub write: u32,
}

impl std::fmt::Display for Restart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} restarted after write {}", self.process, self.write)
    }
}

/// The outcome of a plan without crashes.
#[derive(Debug)]
pub struct Baseline {
    end: Result<BTreeMap<String, Value>, Failure>,
    /// All possible crashes, one for each write of a simulated process.
    pub restarts: Vec<Restart>,
}

/// Runs a plan in process with a seed, and lists the possible crashes.
///
/// # Errors
/// The cluster could not be set up.
pub fn run_baseline(plan: &Plan, seed: u64) -> Result<Baseline, SessionError> {
    let (session, failure) = run_with_restart(plan, seed, None)?;
    let simulation = &session.simulation;
    let processes: BTreeSet<&str> = simulation.schedule.names().map(|(_, name)| name).collect();
    let mut writes: BTreeMap<&str, u32> = BTreeMap::new();
    let record = &simulation.record;
    for entry in record.entries.iter().filter(|entry| !record.is_set_up(entry)) {
        if let Event::Write(write) = &entry.event
            && processes.contains(write.by.as_str())
        {
            *writes.entry(&write.by).or_default() += 1;
        }
    }
    let each = |(process, writes): (&str, u32)| {
        (1..=writes).map(move |write| Restart { process: process.to_owned(), write }).collect::<Vec<_>>()
    };
    let restarts = writes.into_iter().flat_map(each).collect();
    Ok(Baseline { end: failure.map_or_else(|| Ok(comparable_state(&simulation.view)), Err), restarts })
}

impl Baseline {
    /// Reruns the plan with a crash. Returns how its end differs, if it does.
    ///
    /// # Errors
    /// As [`run_baseline`].
    pub fn difference(
        &self,
        plan: &Plan,
        seed: u64,
        restart: &Restart,
    ) -> Result<Option<String>, SessionError> {
        let (session, failure) = run_with_restart(plan, seed, Some(restart))?;
        let end = failure.map_or_else(|| Ok(comparable_state(&session.simulation.view)), Err);
        Ok(match (&self.end, &end) {
            (Ok(one), Ok(other)) => first_difference(one, other),
            (Ok(_), Err(failure)) => Some(format!("{}: {}", failure.step, failure.error)),
            // A plan that fails anyway has no end to compare.
            (Err(_), _) => None,
        })
    }
}

fn run_with_restart(
    plan: &Plan,
    seed: u64,
    restart: Option<&Restart>,
) -> Result<(Session, Option<Failure>), SessionError> {
    let mut session = Session::start(&plan.cluster, &plan.name, &plan.ids, seed)?;
    if let Some(restart) = restart {
        session.simulation.crashes.add(Crash {
            process: restart.process.clone(),
            writes: RequestFilter::default(),
            moment: CrashMoment::After,
            hits: Hits::new(restart.write, Some(1)),
        });
    }
    let failure = run_in_session(&mut session, plan);
    Ok((session, failure))
}

fn first_difference(one: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>) -> Option<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differs = names.into_iter().find(|name| one.get(*name) != other.get(*name))?;
    let at = |end: &BTreeMap<String, Value>| end.get(differs).cloned().unwrap_or(Value::Null);
    let (path, was, is) = first_differing_field(&at(one), &at(other), String::new());
    Some(format!("{differs}: {path} is {is}, and {was} without the restart"))
}

/// The first field in which two values differ.
fn first_differing_field(one: &Value, other: &Value, path: String) -> (String, Value, Value) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let at = |fields: &serde_json::Map<String, Value>, name: &str| {
                fields.get(name).cloned().unwrap_or(Value::Null)
            };
            match names.into_iter().find(|name| a.get(*name) != b.get(*name)) {
                Some(name) => first_differing_field(&at(a, name), &at(b, name), format!("{path}.{name}")),
                None => (path, one.clone(), other.clone()),
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            match (0..a.len()).find(|index| a[*index] != b[*index]) {
                Some(index) => first_differing_field(&a[index], &b[index], format!("{path}[{index}]")),
                None => (path, one.clone(), other.clone()),
            }
        }
        _ => (path, one.clone(), other.clone()),
    }
}

/// Kinds that are not compared: records of past events, objects that each attempt creates anew, and objects
/// that contain generated names.
const IGNORED_KINDS: [&str; 5] = ["Event", "Lease", "Job", "EndpointSlice", "Endpoints"];

/// The cluster without times, generated names and records of the past.
pub(in crate::engine) fn comparable_state(view: &View) -> BTreeMap<String, Value> {
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    for (key, object) in view.objects().filter(|(_, object)| !IGNORED_KINDS.contains(&object.text("/kind"))) {
        let place = format!("{}/{}", object.text("/kind"), key.namespace);
        if object.text("/metadata/generateName").is_empty() && !is_pod(object)
            || object.annotation(MIRROR).is_some()
        {
            let mut value = object.to_value();
            remove_times(&mut value);
            seen.insert(format!("{place}/{}", key.name), value);
        } else if is_pod(object) && !is_over(object) {
            // Pods with generated names are counted by template.
            let prefix = object.text("/metadata/generateName");
            let counts =
                seen.entry(format!("{place}/{prefix}*")).or_insert_with(|| json!({ "pods": 0, "ready": 0 }));
            counts["pods"] = json!(counts["pods"].as_i64().unwrap_or(0) + 1);
            let ready = i64::from(condition::is_true(object, "Ready"));
            counts["ready"] = json!(counts["ready"].as_i64().unwrap_or(0) + ready);
        }
    }
    seen
}

fn is_pod(object: &Object) -> bool {
    object.text("/kind") == "Pod"
}

fn is_over(pod: &Object) -> bool {
    matches!(pod.text("/status/phase"), "Succeeded" | "Failed")
}

/// Removes times, counters, and all but the newest item of a ClusterVersion's history: an operator that
/// restarts before it has replaced itself first retargets to its own release, and records that.
fn remove_times(value: &mut Value) {
    const FIELDS: [&str; 6] =
        ["uid", "resourceVersion", "generation", "observedGeneration", "managedFields", "creationTimestamp"];
    match value {
        Value::Object(fields) => {
            const ENDS: [&str; 5] = ["Time", "-time", "edAt", "/config.seen", "ResourceVersion"];
            let is_time = |name: &str| ENDS.iter().any(|end| name.ends_with(end));
            fields.retain(|name, _| !FIELDS.contains(&name.as_str()) && !is_time(name));
            if let Some(Value::Array(history)) = fields.get_mut("history") {
                history.truncate(1);
            }
            fields.values_mut().for_each(remove_times);
        }
        Value::Array(list) => {
            list.iter_mut().for_each(remove_times);
            // A changed condition moves to the end.
            list.sort_by_cached_key(|item| item["type"].as_str().unwrap_or_default().to_owned());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_its_field() {
        let end = |value: Value| BTreeMap::from([("Node//w".to_owned(), value)]);
        let one = end(json!({ "a": 1, "list": [{ "b": 1 }, { "b": 2 }] }));
        let other = end(json!({ "a": 1, "list": [{ "b": 1 }, { "b": 3 }] }));
        assert_eq!(first_difference(&one, &one), None);
        let difference = first_difference(&one, &other).unwrap();
        assert_eq!(difference, "Node//w: .list[1].b is 3, and 2 without the restart");
        let gone = first_difference(&one, &BTreeMap::new()).unwrap();
        assert!(gone.starts_with("Node//w:  is null, and {"), "{gone}");
    }

    #[test]
    fn times_are_ignored() {
        let mut value = json!({ "metadata": { "uid": "u", "name": "n" }, "status": { "conditions": [
            { "type": "B", "lastTransitionTime": "t" }, { "type": "A", "lastTransitionTime": "t" },
        ], "history": [{ "version": "2", "startedTime": "t" }, { "version": "1" }] } });
        remove_times(&mut value);
        assert_eq!(
            value,
            json!({ "metadata": { "name": "n" }, "status": {
                "conditions": [{ "type": "A" }, { "type": "B" }],
                "history": [{ "version": "2" }],
            } })
        );
    }
}

//! Steps that are simpler than another: without optional fields, and with shorter and rounder numbers.

use serde_json::{Value, json};
use windtunnel_core::text::parse_duration;

use crate::explore::case::seconds;

/// Simpler lengths of faults and waits, in minutes.
const LENGTHS: [u64; 5] = [1, 10, 20, 60, 120];

/// Returns simpler forms of a step. `needs_ends`: a fault keeps its end.
pub(super) fn simpler_steps(step: &Value, needs_ends: bool) -> Vec<Value> {
    let mut found = Vec::new();
    let Some((kind, fields)) = step.as_object().and_then(|step| step.iter().next()) else {
        return found;
    };
    let mut push = |fields: Value| found.push(json!({ kind: fields }));
    for key in optional(kind, needs_ends) {
        // A fault of requests that ends after a number of them has no other end.
        let is_end =
            needs_ends && *key == "times" && fields.get("api").is_some() && fields.get("for").is_none();
        if fields.get(*key).is_some() && !is_end {
            push(without(fields, key));
        }
    }
    if kind == "fault" {
        shorter_faults(fields).into_iter().for_each(&mut push);
        for key in ["verb", "kind", "name", "subresource"] {
            if fields["api"].get(key).is_some() {
                let mut simpler = fields.clone();
                simpler["api"] = without(&fields["api"], key);
                push(simpler);
            }
        }
    }
    found
}

/// The fields that a step may leave out.
fn optional(kind: &str, needs_ends: bool) -> &'static [&'static str] {
    match kind {
        "fault" if needs_ends => &["message", "reason", "nth", "times", "retry-after"],
        "fault" => &["for", "message", "reason", "nth", "times", "retry-after"],
        "update" => &["force"],
        "feature-set" => &["quick"],
        _ => &[],
    }
}

fn without(fields: &Value, key: &str) -> Value {
    let mut simpler = fields.clone();
    if let Some(map) = simpler.as_object_mut() {
        map.remove(key);
    }
    simpler
}

/// The fault with simpler lengths and numbers.
fn shorter_faults(fault: &Value) -> Vec<Value> {
    let with = |key: &str, value: Value| {
        let mut simpler = fault.clone();
        simpler[key] = value;
        simpler
    };
    let mut found: Vec<Value> = ["for", "after"]
        .iter()
        .flat_map(|key| shorter(&fault[*key]).into_iter().map(|shorter| with(key, json!(shorter))))
        .collect();
    let delay =
        fault["by"].as_str().and_then(parse_duration).map_or(0, |delay| delay.as_secs().unsigned_abs());
    let fewer = [1, delay / 2].into_iter().filter(|fewer| (1..delay).contains(fewer));
    found.extend(fewer.map(|fewer| with("by", json!(seconds(fewer)))));
    for key in ["times", "nth"] {
        if let Some(number) = fault[key].as_u64().filter(|number| *number > 1) {
            found.extend([1, number - 1].map(|smaller| with(key, json!(smaller))));
        }
    }
    found
}

/// Returns shorter forms of a step that lets time pass.
pub(super) fn simpler_waits(step: &Value) -> Vec<Value> {
    let of = |key: &str| shorter(&step[key]).into_iter().map(|shorter| json!({ key: shorter })).collect();
    match step.as_object().and_then(|step| step.keys().next()).map(String::as_str) {
        Some(key @ ("advance" | "at")) => of(key),
        _ => Vec::new(),
    }
}

/// Durations that are rounder and shorter than this one.
fn shorter(duration: &Value) -> Vec<String> {
    let span = duration.as_str().and_then(parse_duration);
    let length = span.and_then(|span| u64::try_from(span.as_secs()).ok()).unwrap_or(0);
    LENGTHS.iter().filter(|minutes| **minutes * 60 < length).map(|minutes| seconds(minutes * 60)).collect()
}

/// The object that a request of the administrator changes, as `Kind/name`.
pub(super) fn object_of(step: &Value) -> Option<String> {
    let applied = &step["apply"];
    let named = [&step["delete"], &step["patch"]["object"]].into_iter().find_map(Value::as_str);
    let made = || Some(format!("{}/{}", applied["kind"].as_str()?, applied["metadata"]["name"].as_str()?));
    named.map(str::to_owned).or_else(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_keeps_its_end_only_if_it_needs_one() {
        let fault =
            |length: &str| json!({ "fault": { "node": "worker-0", "is": "not-ready", "for": length } });
        let endless = json!({ "fault": { "node": "worker-0", "is": "not-ready" } });
        let found = simpler_steps(&fault("15m"), true);
        assert_eq!(found, [fault("1m"), fault("10m")]);
        assert_eq!(simpler_steps(&fault("15m"), false), [endless, fault("1m"), fault("10m")]);
    }

    #[test]
    fn numbers_become_smaller_and_selections_wider() {
        let found = simpler_steps(
            &json!({ "fault": { "api": { "by": "a", "kind": "Pod" }, "is": "conflict", "times": 3 } }),
            true,
        );
        let api = json!({ "by": "a", "kind": "Pod" });
        assert_eq!(
            found,
            [
                json!({ "fault": { "api": api, "is": "conflict", "times": 1 } }),
                json!({ "fault": { "api": api, "is": "conflict", "times": 2 } }),
                json!({ "fault": { "api": { "by": "a" }, "is": "conflict", "times": 3 } }),
            ]
        );
        let with_end = json!({ "fault": { "api": api, "is": "conflict", "times": 1, "for": "1m" } });
        let without_times = json!({ "fault": { "api": api, "is": "conflict", "for": "1m" } });
        assert!(simpler_steps(&with_end, true).contains(&without_times));
    }

    #[test]
    fn requests_have_objects() {
        let apply = json!({ "apply": { "kind": "MachineConfig", "metadata": { "name": "a" } } });
        assert_eq!(object_of(&apply), object_of(&json!({ "delete": "MachineConfig/a" })));
        assert_eq!(object_of(&json!("clear-update")), None);
    }
}

//! Cases that are a little smaller or simpler than another.

use serde_json::{Value, json};
use windtunnel_core::text::parse_duration;

use crate::explore::case::{Case, Moment, seconds};

/// Simpler lengths of faults, in minutes.
const LENGTHS: [u64; 5] = [1, 10, 20, 60, 120];

/// Returns cases that are smaller than this one, those first that are much smaller.
pub(super) fn smaller(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    fewer_moments(case, &mut found);
    less_environment(case, &mut found);
    simpler_moments(case, &mut found);
    found.retain(|smaller| smaller != case);
    found
}

/// Without halves, quarters and single steps.
fn fewer_moments(case: &Case, found: &mut Vec<Case>) {
    let count = case.moments.len();
    let mut size = count;
    while size > 0 {
        for start in (0..count).step_by(size) {
            let mut smaller = case.clone();
            smaller.moments.drain(start..(start + size).min(count));
            found.push(smaller);
        }
        size /= 2;
    }
}

/// With a simpler cluster, and without releases that no step names.
fn less_environment(case: &Case, found: &mut Vec<Case>) {
    if !case.own_steps.is_empty() {
        return;
    }
    let mut push = |change: &mut dyn FnMut(&mut Case)| {
        let mut smaller = case.clone();
        change(&mut smaller);
        found.push(smaller);
    };
    let steps = json!(case.timeline()).to_string();
    let is_named = |release: &str| steps.contains(&format!("\"{release}\""));
    push(&mut |smaller| {
        if let Some(Value::Object(releases)) = smaller.environment.get_mut("releases") {
            releases.retain(|release, _| is_named(release));
            if releases.is_empty() {
                smaller.environment.remove("releases");
            }
        }
    });
    for release in case
        .environment
        .get("releases")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
    {
        push(&mut |smaller| {
            if let Some(release) =
                smaller.environment.get_mut("releases").and_then(|all| all.get_mut(release))
            {
                *release = Value::Null;
            }
        });
    }
    let keys: Vec<String> = case
        .environment
        .get("cluster")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect();
    for key in keys.iter().filter(|key| *key != "version") {
        push(&mut |smaller| {
            if let Some(cluster) = smaller.environment.get_mut("cluster").and_then(Value::as_object_mut) {
                cluster.remove(key);
            }
        });
    }
    for (key, counts) in [("workers", [0, 1, 2]), ("control-plane", [1, 2, 3])] {
        for count in counts {
            push(&mut |smaller| {
                if let Some(nodes) =
                    smaller.environment.get_mut("cluster").and_then(|cluster| cluster.get_mut("nodes"))
                    && nodes[key].as_u64() > Some(count)
                {
                    nodes[key] = json!(count);
                }
            });
        }
    }
    for key in ["pools", "leases"] {
        push(&mut |smaller| {
            if let Some(Value::Object(nodes)) =
                smaller.environment.get_mut("cluster").and_then(|cluster| cluster.get_mut("nodes"))
            {
                nodes.remove(key);
            }
        });
    }
}

/// With simpler steps, at simpler moments.
fn simpler_moments(case: &Case, found: &mut Vec<Case>) {
    for (index, moment) in case.moments.iter().enumerate() {
        for simpler in simpler_steps(moment) {
            let mut smaller = case.clone();
            smaller.moments[index].step = simpler;
            found.push(smaller);
        }
        let previous = index.checked_sub(1).map_or(0, |before| case.moments[before].at);
        for at in simpler_times(moment.at, previous) {
            let mut smaller = case.clone();
            smaller.moments[index].at = at;
            found.push(smaller);
        }
    }
}

/// Earlier and rounder times that keep the order of steps.
fn simpler_times(at: u64, previous: u64) -> Vec<u64> {
    let rounded = [3600, 600, 60].map(|unit| at / unit * unit);
    let mut times: Vec<u64> = [previous].into_iter().chain(rounded).collect();
    times.retain(|time| (previous..at).contains(time));
    times.dedup();
    times
}

fn simpler_steps(moment: &Moment) -> Vec<Value> {
    let mut found = Vec::new();
    let Some((kind, fields)) = moment.step.as_object().and_then(|step| step.iter().next()) else {
        return found;
    };
    let mut push = |fields: Value| found.push(json!({ kind: fields }));
    let optional: &[&str] = match kind.as_str() {
        "fault" => &["message", "reason", "nth", "times", "retry-after"],
        "update" => &["force"],
        "feature-set" => &["quick"],
        _ => &[],
    };
    for key in optional.iter().filter(|key| fields.get(**key).is_some()) {
        let mut simpler = fields.clone();
        if let Some(map) = simpler.as_object_mut() {
            map.remove(*key);
        }
        push(simpler);
    }
    if kind == "fault" {
        for simpler in shorter_faults(fields) {
            push(simpler);
        }
        for key in ["verb", "kind", "name", "subresource"] {
            if fields["api"].get(key).is_some() {
                let mut simpler = fields.clone();
                if let Some(map) = simpler["api"].as_object_mut() {
                    map.remove(key);
                }
                push(simpler);
            }
        }
    }
    found
}

/// The fault with simpler lengths and numbers.
fn shorter_faults(fault: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let span = fault["for"].as_str().and_then(parse_duration);
    if let Some(length) = span.and_then(|span| u64::try_from(span.as_secs()).ok()) {
        for minutes in LENGTHS.iter().filter(|minutes| **minutes * 60 < length) {
            let mut shorter = fault.clone();
            shorter["for"] = json!(seconds(minutes * 60));
            found.push(shorter);
        }
    }
    let delay = fault["by"].as_str().and_then(parse_duration).map_or(0, |delay| delay.as_secs());
    for fewer in [1, delay / 2].into_iter().filter(|fewer| (1..delay).contains(fewer)) {
        let mut shorter = fault.clone();
        shorter["by"] = json!(seconds(fewer.unsigned_abs()));
        found.push(shorter);
    }
    for key in ["times", "nth"] {
        if let Some(number) = fault[key].as_u64().filter(|number| *number > 1) {
            for smaller in [1, number - 1] {
                let mut simpler = fault.clone();
                simpler[key] = json!(smaller);
                found.push(simpler);
            }
        }
    }
    found
}

//! Clusters that have converged and still change.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Problem;
use crate::engine::sweep::is_routine;
use crate::record::{Event, Record, WriteEvent};

/// How often an object may change in the quiet hour. Some controllers repeat a check every ten minutes or so.
const CHANGES_MAX: usize = 8;

/// Fields that change with time alone.
const TIMES: [&str; 4] = ["Time", "time", "Timestamp", "lastHeartbeat"];

/// Judges the quiet time, from this entry of the record on.
pub(super) fn judge(record: &Record, quiet_from: usize) -> Option<Problem> {
    let mut changes: BTreeMap<(&str, &str, String), (usize, &WriteEvent)> = BTreeMap::new();
    for entry in record.entries.iter().skip(quiet_from) {
        let Event::Write(write) = &entry.event else { continue };
        if is_routine(write) || write.kind == "Lease" || write.code < 400 && changed_path(write).is_none() {
            continue;
        }
        let object = if write.code < 400 { write.key.name.clone() } else { String::new() };
        let counted = changes.entry((&write.by, &write.kind, object)).or_insert((0, write));
        counted.0 += 1;
    }
    let (count, write) = changes.into_values().max_by_key(|(count, _)| *count)?;
    (count > CHANGES_MAX).then(|| {
        let WriteEvent { by, verb, kind, key, .. } = write;
        let name = if key.namespace.is_empty() { key.name.clone() } else { format!("{}/{}", key.namespace, key.name) };
        let path = changed_path(write).unwrap_or_default();
        let text = format!("{by} still makes {verb} requests for {kind} {name} in a converged cluster: {count} in an hour {path}");
        let expect = if path.is_empty() {
            json!({ "requests": { "by": by, "verb": verb, "kind": kind, "at-most": CHANGES_MAX, "within": "1h" } })
        } else {
            json!({ "object": format!("{kind}/{name}"), "unchanged": [path], "throughout": "1h" })
        };
        let last_steps = vec![json!({ "advance": "3h" }), json!({ "expect": expect })];
        let cause = format!("{by} {verb} {kind} {path}");
        Problem { cause: Some(cause), last_steps, ..Problem::new("quiet", text) }
    })
}

/// The path of the first field that a write changed, apart from times; an empty path for a created or deleted object.
fn changed_path(write: &WriteEvent) -> Option<String> {
    match (&write.before, &write.after) {
        (Some(before), Some(after)) => first_difference(&before.to_value(), &after.to_value(), String::new()),
        _ => Some(String::new()),
    }
}

fn first_difference(before: &Value, after: &Value, path: String) -> Option<String> {
    let join = |key: &str| {
        let key = if key.contains(['.', '/']) { format!("[\"{key}\"]") } else { format!(".{key}") };
        format!("{path}{key}").trim_start_matches('.').to_owned()
    };
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            let mut keys = keys.filter(|key| !is_ignored(key));
            keys.find_map(|key| first_difference(&before[key.as_str()], &after[key.as_str()], join(key)))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut pairs = one.iter().zip(other).enumerate();
            pairs.find_map(|(index, (one, other))| first_difference(one, other, format!("{path}[{index}]")))
        }
        _ => (before != after).then_some(path),
    }
}

fn is_ignored(key: &str) -> bool {
    ["resourceVersion", "generation", "managedFields"].contains(&key)
        || TIMES.iter().any(|end| key.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_and_counters_may_differ() {
        let object = |time: u32, status: &str| {
            json!({
                "metadata": { "resourceVersion": time.to_string(), "annotations": { "a/b": status } },
                "status": { "conditions": [{ "type": "Ready", "lastHeartbeatTime": time, "status": status }] },
            })
        };
        let found = |one: Value, other: Value| first_difference(&one, &other, String::new());
        assert_eq!(found(object(1, "True"), object(2, "True")), None);
        assert_eq!(
            found(object(1, "True"), object(2, "False")),
            Some("metadata.annotations[\"a/b\"]".to_owned())
        );
    }
}

//! The fields that a write changes, apart from times and counters.

use serde_json::Value;

use crate::record::WriteEvent;

/// Fields that change with time alone.
const TIMES: [&str; 4] = ["Time", "time", "Timestamp", "lastHeartbeat"];

/// Returns the path of the first field that a write changed, apart from times; an empty path for a created or deleted object.
pub fn changed_path(write: &WriteEvent) -> Option<String> {
    match (&write.before, &write.after) {
        (Some(before), Some(after)) if before.is_same(after) => None,
        (Some(before), Some(after)) => first_difference(before, after, &mut Vec::new()),
        _ => Some(String::new()),
    }
}

fn first_difference<'v>(before: &'v Value, after: &'v Value, path: &mut Vec<Step<'v>>) -> Option<String> {
    match (before, after) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one.keys().chain(other.keys().filter(|key| !one.contains_key(*key)));
            let mut keys = keys.filter(|key| !is_ignored(key));
            keys.find_map(|key| within(Step::Field(key), &before[key.as_str()], &after[key.as_str()], path))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut pairs = one.iter().zip(other).enumerate();
            pairs.find_map(|(index, (one, other))| within(Step::Item(index), one, other, path))
        }
        _ => (before != after).then(|| text_of_path(path)),
    }
}

fn within<'v>(
    step: Step<'v>,
    before: &'v Value,
    after: &'v Value,
    path: &mut Vec<Step<'v>>,
) -> Option<String> {
    path.push(step);
    let found = first_difference(before, after, path);
    path.pop();
    found
}

/// A step of a path.
enum Step<'v> {
    Field(&'v str),
    Item(usize),
}

fn text_of_path(path: &[Step<'_>]) -> String {
    let text: String = path
        .iter()
        .map(|step| match step {
            Step::Field(key) if key.contains(['.', '/']) => format!("[\"{key}\"]"),
            Step::Field(key) => format!(".{key}"),
            Step::Item(index) => format!("[{index}]"),
        })
        .collect();
    text.trim_start_matches('.').to_owned()
}

fn is_ignored(key: &str) -> bool {
    ["resourceVersion", "generation", "managedFields"].contains(&key)
        || TIMES.iter().any(|end| key.ends_with(end))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_times_and_counters_may_differ() {
        let object = |time: u32, status: &str| {
            json!({
                "metadata": { "resourceVersion": time.to_string(), "annotations": { "a/b": status } },
                "status": { "conditions": [{ "type": "Ready", "lastHeartbeatTime": time, "status": status }] },
            })
        };
        let found = |one: Value, other: Value| first_difference(&one, &other, &mut Vec::new());
        assert_eq!(found(object(1, "True"), object(2, "True")), None);
        assert_eq!(
            found(object(1, "True"), object(2, "False")),
            Some("metadata.annotations[\"a/b\"]".to_owned())
        );
        assert_eq!(found(json!({ "a": [1, 2] }), json!({ "a": [1, 3] })), Some("a[1]".to_owned()));
    }
}

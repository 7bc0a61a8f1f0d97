//! Prometheus answers in the files of a dump.

use serde_json::{Value, json};

/// Returns whether a file's name is that of a Prometheus answer.
pub(super) fn is_answer(path: &str) -> bool {
    path.ends_with("alerts.json")
}

/// Returns the body of an answer to `/api/v1/alerts`: the answer itself, or one built from the answer to
/// `/api/v1/rules`, which a must-gather contains instead.
pub(super) fn of_answer(answer: &Value) -> Option<String> {
    // A ConfigMap may have such keys, too.
    let data = answer.get("data").filter(|_| answer.get("kind").is_none())?;
    if data.get("alerts").is_some_and(Value::is_array) {
        return Some(answer.to_string());
    }
    let groups = data.get("groups")?.as_array()?;
    let rules = groups.iter().filter_map(|group| group["rules"].as_array()).flatten();
    let alerts: Vec<&Value> = rules.filter_map(|rule| rule["alerts"].as_array()).flatten().collect();
    Some(json!({ "status": "success", "data": { "alerts": alerts } }).to_string())
}

//! Alerts in the files of a dump: answers of Prometheus and of Alertmanager.

use serde_json::{Value, json};

/// The source of alerts, the best one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The answer to `/api/v1/alerts`.
    Alerts,
    /// The answer to `/api/v1/rules`.
    Rules,
    /// The answer of Alertmanager, which an Insights archive has.
    Alertmanager,
}

/// Returns whether a file's name is that of a Prometheus answer.
pub(super) fn is_answer(path: &str) -> bool {
    path.ends_with("alerts.json")
}

/// Returns the body of an answer to `/api/v1/alerts`: the answer itself, or one built from the answer to
/// `/api/v1/rules`, which a must-gather contains instead, or from the answer of Alertmanager.
pub(super) fn of_answer(path: &str, answer: &Value) -> Option<(Origin, String)> {
    if let Value::Array(alerts) = answer {
        return of_alertmanager(path, alerts).map(|body| (Origin::Alertmanager, body));
    }
    // A ConfigMap may have such keys, too.
    let data = answer.get("data").filter(|_| answer.get("kind").is_none())?;
    if data.get("alerts").is_some_and(Value::is_array) {
        return Some((Origin::Alerts, answer.to_string()));
    }
    // Alertmanager's first API.
    if let Some(alerts) = data.as_array() {
        return of_alertmanager(path, alerts).map(|body| (Origin::Alertmanager, body));
    }
    let groups = data.get("groups")?.as_array()?;
    let rules = groups.iter().filter_map(|group| group["rules"].as_array()).flatten();
    let alerts: Vec<&Value> = rules.filter_map(|rule| rule["alerts"].as_array()).flatten().collect();
    Some((Origin::Rules, body(&json!(alerts))))
}

fn body(alerts: &Value) -> String {
    json!({ "status": "success", "data": { "alerts": alerts } }).to_string()
}

/// Converts Alertmanager's alerts, all of which fire.
fn of_alertmanager(path: &str, alerts: &[Value]) -> Option<String> {
    let is_alert = |alert: &Value| alert["labels"]["alertname"].is_string() || alert["startsAt"].is_string();
    let is_list = if alerts.is_empty() { is_answer(path) } else { alerts.iter().all(is_alert) };
    let firing = alerts.iter().map(|alert| {
        json!({
            "labels": alert.get("labels").cloned().unwrap_or_else(|| json!({})),
            "annotations": alert.get("annotations").cloned().unwrap_or_else(|| json!({})),
            "state": "firing",
            "activeAt": alert["startsAt"],
            "value": "1e+00",
        })
    });
    is_list.then(|| body(&firing.collect()))
}

/// Returns both lists of alerts in one answer; the first one if the other is none.
pub(super) fn joined(one: &str, other: &str) -> String {
    let alerts = |text: &str| -> Option<Vec<Value>> {
        serde_json::from_str::<Value>(text).ok()?["data"]["alerts"].as_array().cloned()
    };
    match (alerts(one), alerts(other)) {
        (Some(one), Some(other)) => body(&one.into_iter().chain(other).collect()),
        _ => one.to_owned(),
    }
}

//! Alerts in the files of a dump: answers of Prometheus and of Alertmanager.

use serde_json::{Map, Value, json};

/// The source of alerts, the best one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// The answer to `/api/v1/alerts`.
    Alerts,
    /// The answer to `/api/v1/rules`.
    Rules,
    /// The answer of Alertmanager, which an Insights archive has.
    Alertmanager,
    /// The metric `ALERTS`, which older Insights archives have.
    Metrics,
}

/// Returns whether a file has the metrics of an Insights archive.
pub(super) fn is_metrics(path: &str) -> bool {
    path == "config/metrics" || path.ends_with("/config/metrics")
}

/// Returns the alerts in a text of metrics; `None` if there are none.
pub(super) fn of_metrics(text: &str) -> Option<String> {
    let samples = text.lines().filter_map(|line| line.strip_prefix("ALERTS{"));
    let alerts: Vec<Value> = samples.filter_map(of_sample).collect();
    (!alerts.is_empty()).then(|| body(&json!(alerts)))
}

/// Converts `alertname="A",alertstate="firing",severity="critical"} 1 1700000000000`.
fn of_sample(sample: &str) -> Option<Value> {
    let (mut labels, mut rest) = (Map::new(), sample);
    while !rest.starts_with('}') {
        let (name, value) = rest.split_once("=\"")?;
        let end = end_of_text(value)?;
        let text = value[..end].replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\");
        labels.insert(name.trim_start_matches([',', ' ']).to_owned(), json!(text));
        rest = value[end + 1..].trim_start_matches(',');
    }
    let state = labels.remove("alertstate")?;
    Some(json!({ "labels": labels, "annotations": {}, "state": state, "value": "1e+00" }))
}

/// Returns the position of the quote that ends a text.
fn end_of_text(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(index, char)| {
        let is_end = char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        is_end.then_some(index)
    })
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

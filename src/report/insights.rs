//! Insights as the update status controller publishes them: YAML documents in the data of a `ConfigMap`, with the Go
//! field names of the prototype in lower case.

use serde_json::Value;

use crate::base::yaml;
use crate::model::{Key, Object, resources};
use crate::record::{Event, Record};

/// Where the controller publishes: the prototype's `ConfigMap`.
const NAMESPACE: &str = "openshift-update-status-controller";
const NAME: &str = "status-api-cm-prototype";
/// Data keys with this prefix are insights.
const PREFIX: &str = "usc.";

/// Whether this is the `ConfigMap` that insights are published in.
pub(super) fn is_home(key: &Key) -> bool {
    key.is(&resources::CONFIG_MAPS) && key.namespace == NAMESPACE && key.name == NAME
}

/// The insights of the `ConfigMap`, by data key, in order.
pub(super) fn entries(object: &Object) -> impl Iterator<Item = (&str, &str)> {
    let data = object.get("data").and_then(Value::as_object);
    data.into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with(PREFIX))
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

/// An insight in a few words: its `Updating` condition and how far it is, or the impact of a health insight.
pub(super) fn in_short(document: &str) -> String {
    let Ok(insight) = yaml::from_str::<Value>(document) else { return "is no YAML".to_owned() };
    let Some(content) = content(&insight) else { return "is no insight".to_owned() };
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let mut parts = Vec::new();
    let conditions = content["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(updating) = conditions.iter().find(|condition| condition["type"] == "Updating") {
        let status = format!("Updating={}", text(updating, "status"));
        parts.extend([status, text(updating, "reason")]);
    }
    parts.push(text(content, "assessment"));
    if let Some(percent) = content["completion"].as_i64() {
        parts.push(format!("{percent}%"));
    }
    if let Some(impact) = content.get("impact") {
        parts.extend([text(impact, "level"), text(impact, "type")]);
        parts.push(format!("\"{}\"", text(impact, "summary")));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// The one insight within the union that a document wraps it in.
fn content(insight: &Value) -> Option<&Value> {
    let union =
        ["controlplaneinsightunion", "workerpoolinsightunion"].iter().find_map(|name| insight.get(name))?;
    let kind = union["type"].as_str()?.to_lowercase();
    union.get(format!("{kind}statusinsight")).or_else(|| union.get(format!("{kind}insight")))
}

/// The insights that stood at the end of a run, one YAML document after the other under its data key; empty where
/// none were published.
pub fn at_the_end(record: &Record) -> String {
    let last = record.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Write(write) if is_home(&write.key) && write.code < 400 => Some(write.after.as_ref()),
        _ => None,
    });
    let mut out = String::new();
    for (key, document) in last.flatten().into_iter().flat_map(entries) {
        out.push_str(key);
        out.push_str(":\n");
        for line in document.lines() {
            out.push_str("    ");
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

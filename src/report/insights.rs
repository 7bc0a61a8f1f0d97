//! Insights as the update status controller publishes them, in words.

use serde_json::Value;

use crate::base::yaml;
use crate::model::insight::published::{self, CONFIG_MAP, NAMESPACE};
use crate::model::{Key, resources};
use crate::record::{Event, Record};

/// Whether this is the ConfigMap that insights are published in.
pub(super) fn is_home(key: &Key) -> bool {
    key.is(&resources::CONFIG_MAPS) && key.namespace == NAMESPACE && key.name == CONFIG_MAP
}

/// An insight in a few words: its `Updating` condition, what is not as expected and how far it is, or the impact of a
/// health insight.
pub(super) fn in_short(document: &str) -> String {
    let Ok(insight) = yaml::from_str::<Value>(document) else { return "is no YAML".to_owned() };
    let Some((_, content)) = published::content(&insight) else { return "is no insight".to_owned() };
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let mut parts = Vec::new();
    let conditions = content["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    for condition in conditions.iter().filter(|condition| condition["reason"] != "AsExpected") {
        let status = format!("{}={}", text(condition, "type"), text(condition, "status"));
        parts.extend([status, text(condition, "reason")]);
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

/// The insights that stood at the end of a run, one YAML document after the other under its data key; empty where
/// none were published.
pub fn at_the_end(record: &Record) -> String {
    let last = record.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Write(write) if is_home(&write.key) && write.code < 400 => Some(write.after.as_ref()),
        _ => None,
    });
    let mut out = String::new();
    for (key, document) in last.flatten().into_iter().flat_map(|map| published::documents(map)) {
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

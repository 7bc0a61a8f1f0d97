//! Published insights as text.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::Value;
use windtunnel_core::text::one_line;
use windtunnel_core::{Key, resources, yaml};
use windtunnel_update_status::insight::documents;
use windtunnel_update_status::insight::published::{self, CONFIG_MAP, KEY_PREFIX, NAMESPACE};

use crate::record::{Event, Record};

/// Returns whether this is the ConfigMap that insights are published in.
pub(super) fn is_insights_config_map(key: &Key) -> bool {
    key.is_kind(&resources::CONFIG_MAPS) && key.namespace == NAMESPACE && key.name == CONFIG_MAP
}

/// Returns whether this is the UpdateStatus, which contains the same insights.
pub(super) fn is_update_status(key: &Key) -> bool {
    key.is_kind(&resources::UPDATE_STATUSES)
}

/// An insight in its published form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PublishedInsight<'a> {
    /// A YAML document of the ConfigMap.
    Document(&'a str),
    /// A part of the UpdateStatus.
    Part(&'a Value),
}

impl<'a> PublishedInsight<'a> {
    /// Parses the insight; `None` for invalid YAML.
    pub(super) fn parse(self) -> Option<Insight<'a>> {
        match self {
            Self::Document(text) => documents::parse_cached(text).map(Insight::Parsed),
            Self::Part(insight) => Some(Insight::Part(insight)),
        }
    }

    /// Returns the insight as a YAML document.
    fn document(self) -> Cow<'a, str> {
        match self {
            Self::Document(text) => Cow::Borrowed(text),
            Self::Part(insight) => Cow::Owned(yaml::to_string(insight).unwrap_or_default()),
        }
    }
}

/// The content of an insight.
pub(super) enum Insight<'a> {
    /// A parsed document.
    Parsed(Rc<Value>),
    /// A part of the UpdateStatus.
    Part(&'a Value),
}

impl Deref for Insight<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Parsed(insight) => insight,
            Self::Part(insight) => insight,
        }
    }
}

/// Returns the insights of the ConfigMap or of the UpdateStatus, by their data keys; empty for any other
/// object.
pub(super) fn published_insights(object: &Value) -> BTreeMap<Cow<'_, str>, PublishedInsight<'_>> {
    let in_data = published::documents(object)
        .map(|(key, text)| (Cow::Borrowed(key), PublishedInsight::Document(text)));
    let in_status = published::insights_in_status(&object["status"])
        .map(|(key, insight)| (Cow::Owned(format!("{KEY_PREFIX}{key}")), PublishedInsight::Part(insight)));
    in_data.chain(in_status).collect()
}

/// Returns an insight in a few words: its conditions that are not as expected, including `Updating`, its
/// progress, or the impact of a health insight.
pub(super) fn summarize(source: PublishedInsight<'_>) -> String {
    let Some(insight) = source.parse() else { return "invalid YAML".to_owned() };
    let Some((_, content)) = published::content(&insight) else { return "not an insight".to_owned() };
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

/// Returns whether an insight about an operator or a node has no news: it is not updating, and everything
/// else is as expected.
pub(super) fn has_no_news(source: PublishedInsight<'_>) -> bool {
    let Some(insight) = source.parse() else { return false };
    let Some((kind, content)) = published::content(&insight) else { return false };
    let is_quiet = |condition: &Value| match condition["type"].as_str() {
        Some("Updating") => condition["status"] == "False" && condition["reason"] != "Pending",
        _ => condition["reason"] == "AsExpected",
    };
    matches!(kind, "ClusterOperator" | "Node")
        && content["conditions"].as_array().is_some_and(|conditions| conditions.iter().all(is_quiet))
}

/// Returns whether an insight about an operator or a node has no problem, so that a few words describe it.
fn has_no_problem(source: PublishedInsight<'_>) -> bool {
    let Some(insight) = source.parse() else { return false };
    let Some((kind, content)) = published::content(&insight) else { return false };
    let is_quiet = |condition: &Value| condition["type"] == "Updating" || condition["reason"] == "AsExpected";
    matches!(kind, "ClusterOperator" | "Node")
        && content["conditions"].as_array().is_some_and(|conditions| conditions.iter().all(is_quiet))
}

/// Returns the insights at the end of a run, one YAML document after the other under its data key; operators
/// and nodes without a problem take one line. Empty if none were published.
pub fn at_the_end(record: &Record) -> String {
    let last = |is_it: fn(&Key) -> bool| {
        let writes = record.entries.iter().rev().filter_map(|entry| match &entry.event {
            Event::Write(write) if is_it(&write.key) && write.code < 400 => Some(write.after.as_ref()),
            _ => None,
        });
        writes.into_iter().next().flatten()
    };
    let object = last(is_insights_config_map).or_else(|| last(is_update_status));
    let mut out = String::new();
    for (key, source) in object.map(|object| published_insights(object)).unwrap_or_default() {
        out.push_str(&one_line(&key));
        if has_no_problem(source) {
            out.push_str(": ");
            out.push_str(&one_line(&summarize(source)));
            out.push('\n');
            continue;
        }
        out.push_str(":\n");
        for line in source.document().lines() {
            out.push_str("    ");
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Returns a line for each insight that changed during the run, with its summary before and after; insights
/// of a kind with the same change share a line. Empty if none were published.
pub fn changed(record: &Record) -> String {
    let writes_of = |is_it: fn(&Key) -> bool| {
        record.entries.iter().filter_map(move |entry| match &entry.event {
            Event::Write(write) if is_it(&write.key) && write.code < 400 => {
                Some((record.is_set_up(entry), write.after.as_ref()))
            }
            _ => None,
        })
    };
    let has_config_map = writes_of(is_insights_config_map).next().is_some();
    let writes = writes_of(if has_config_map { is_insights_config_map } else { is_update_status });
    let mut histories: BTreeMap<String, History> = BTreeMap::new();
    for (is_set_up, object) in writes {
        let insights = object.map(|object| published_insights(object)).unwrap_or_default();
        for (key, source) in &insights {
            histories.entry(key.to_string()).or_default().show(&source.document(), *source, is_set_up);
        }
        for (key, history) in &mut histories {
            if !insights.contains_key(key.as_str()) {
                history.hide(is_set_up);
            }
        }
    }
    let mut lines: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    let mut unchanged = 0;
    for (key, history) in &histories {
        match history.change() {
            Some(change) => lines.entry((kind_of(key).to_owned(), change)).or_default().push(key),
            None => unchanged += 1,
        }
    }
    let line = |((_, change), keys): (&(String, String), &Vec<&str>)| match keys.as_slice() {
        [first, _, ..] => format!("{first} and {} more: {change}", keys.len() - 1),
        keys => format!("{}: {change}", keys.concat()),
    };
    let mut text: String = lines.iter().map(line).map(|line| one_line(&line).into_owned() + "\n").collect();
    if unchanged > 0 {
        text += &format!("{unchanged} insight{} did not change\n", if unchanged == 1 { "" } else { "s" });
    }
    text
}

/// Returns the part of a key before the name of its object, such as `usc.cpi.co`.
fn kind_of(key: &str) -> &str {
    key.split_once('-').map_or(key, |(kind, _)| kind)
}

/// The summaries of an insight over a run.
#[derive(Debug, Default)]
struct History {
    /// The summary before the run; `None` without the insight.
    before: Option<String>,
    /// The current summary.
    now: Option<String>,
    /// The latest summary, even after the insight is gone.
    latest: String,
    /// The document of the latest summary.
    document: String,
}

impl History {
    fn show(&mut self, document: &str, source: PublishedInsight<'_>, is_set_up: bool) {
        if self.document != document || self.latest.is_empty() {
            document.clone_into(&mut self.document);
            self.latest = summarize(source);
        }
        self.now = Some(self.latest.clone());
        if is_set_up {
            self.before.clone_from(&self.now);
        }
    }

    fn hide(&mut self, is_set_up: bool) {
        self.now = None;
        if is_set_up {
            self.before = None;
        }
    }

    /// Returns the change during the run; `None` without one.
    fn change(&self) -> Option<String> {
        match (&self.before, &self.now) {
            (Some(before), Some(now)) if before == now => None,
            (Some(before), Some(now)) => Some(format!("{before} -> {now}")),
            (None, Some(now)) => Some(format!("new: {now}")),
            (Some(before), None) => Some(format!("{before} -> gone")),
            (None, None) => Some(format!("{} -> gone", self.latest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_idle_operators_and_nodes_have_no_news() {
        let check = |kind: &str, conditions: &str, expected: bool| {
            let member = kind[..1].to_lowercase() + &kind[1..];
            let document =
                format!("{{uid: u, type: {kind}, {member}: {{name: n, conditions: [{conditions}]}}}}");
            assert_eq!(has_no_news(PublishedInsight::Document(&document)), expected, "{document}");
        };
        let (updated, pending) = (
            "{type: Updating, status: 'False', reason: Completed}",
            "{type: Updating, status: 'False', reason: Pending}",
        );
        let (available, unavailable) = (
            "{type: Available, status: 'True', reason: AsExpected}",
            "{type: Available, status: 'False', reason: Not ready}",
        );
        check("Node", &format!("{updated}, {available}"), true);
        check("Node", &format!("{updated}, {unavailable}"), false);
        check("Node", &format!("{pending}, {available}"), false);
        check("ClusterOperator", updated, true);
        check("ClusterVersion", updated, false);
        assert!(!has_no_news(PublishedInsight::Document("{")));
    }
}

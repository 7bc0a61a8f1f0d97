//! Converts insights to the limits of the API. The upstream controller wrote values that its own API would
//! have rejected: reasons that are sentences, uids with dots or in base64, empty versions.

use serde_json::{Value, json};
use windtunnel_core::clock::rfc3339;
use windtunnel_core::text::truncate;

use crate::assessment::time::ZERO_TIME;
use crate::insight::{Detail, Insight, uid};

/// Placeholder for the version before an installation.
const NO_VERSION: &str = "<none>";
/// Placeholder for an unknown version.
const UNKNOWN_VERSION: &str = "unknown";
/// Maximum length of a node's message.
const MESSAGE_MAX: usize = 100;
/// Maximum length of a condition's message.
const CONDITION_MESSAGE_MAX: usize = 32768;
/// Maximum length of a version.
const VERSION_MAX: usize = 64;
/// Maximum length of a reason that is made from a sentence.
const REASON_MAX: usize = 64;

/// An insight in the form of the API.
#[derive(Debug)]
pub(in crate::controller) struct ApiInsight {
    /// The insight.
    pub(in crate::controller) value: Value,
    /// Its size in bytes.
    pub(in crate::controller) size: usize,
}

impl ApiInsight {
    /// Converts an insight that has this uid within its informer; `None` if the API does not accept the name of
    /// its object.
    pub(in crate::controller) fn new(insight: &Insight, uid: &str) -> Option<Self> {
        let value = fit(insight, uid)?;
        Some(Self { size: value.to_string().len(), value })
    }
}

/// Returns the member of the envelope with the content of the insight.
pub(in crate::controller) fn member(insight: &Insight) -> &'static str {
    match insight.detail {
        Detail::ClusterVersion(_) => "clusterVersion",
        Detail::ClusterOperator(_) => "clusterOperator",
        Detail::MachineConfigPool(_) => "machineConfigPool",
        Detail::Node(_) => "node",
        Detail::Health(_) => "health",
    }
}

fn fit(insight: &Insight, uid: &str) -> Option<Value> {
    let mut value = serde_json::to_value(insight).ok()?;
    value["uid"] = json!(uid::dns_label(uid));
    let acquired_at = rfc3339(insight.acquired_at);
    let content = &mut value[member(insight)];
    for condition in content["conditions"].as_array_mut().into_iter().flatten() {
        fit_condition(condition, &acquired_at);
    }
    let is_operator_name = |name: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (1..=64).contains(&name.len()) && name.chars().all(fits)
    };
    match &insight.detail {
        Detail::ClusterVersion(_) => fit_versions(content),
        Detail::ClusterOperator(operator) if !is_operator_name(&operator.name) => return None,
        Detail::MachineConfigPool(pool) if !is_operator_name(&pool.name) => return None,
        Detail::Node(node) => {
            if !node.message.is_empty() {
                content["message"] = json!(truncate(&node.message, MESSAGE_MAX));
            }
            if !node.version.is_empty() {
                content["version"] = json!(truncate(&node.version, VERSION_MAX));
            }
        }
        _ => {}
    }
    Some(value)
}

/// Parses an insight of the API, and restores its original uid; `uid` is that of a health insight.
pub(in crate::controller) fn insight_from_api(value: &Value, uid: &str) -> Option<Insight> {
    let mut insight: Insight = serde_json::from_value(value.clone()).ok()?;
    let named = |prefix: &str, name: &str| uid::of_object(prefix, name);
    insight.uid = match &insight.detail {
        Detail::ClusterVersion(found) => named("cv", &found.resource.name),
        Detail::ClusterOperator(found) => named("co", &found.name),
        Detail::MachineConfigPool(found) => named("mcp", &found.name),
        Detail::Node(found) => named("node", &found.name),
        Detail::Health(_) => uid.to_owned(),
    };
    Some(insight)
}

fn fit_condition(condition: &mut Value, acquired_at: &str) {
    if condition["lastTransitionTime"].is_null() {
        condition["lastTransitionTime"] = json!(acquired_at);
    }
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    if !matches!(text("status").as_str(), "True" | "False") {
        condition["status"] = json!("Unknown");
    }
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    let (reason, message) = (reason(&text("reason"), &text("type")), text("message"));
    condition["reason"] = json!(reason);
    condition["message"] = json!(truncate(&message, CONDITION_MESSAGE_MAX));
}

/// Makes a reason one word: `Not ready | Disk pressure` becomes `NotReady,DiskPressure`. If the result is no
/// word or is too long, returns the condition's type; the message has the details.
fn reason(text: &str, kind: &str) -> String {
    let word = |part: &str| -> String {
        let words =
            part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
    };
    let parts: Vec<String> = text.split(" | ").map(word).filter(|part| !part.is_empty()).collect();
    let reason = parts.join(",");
    let is_word = reason.starts_with(|c: char| c.is_ascii_alphabetic()) && reason.len() <= REASON_MAX;
    if is_word { reason } else { kind.to_owned() }
}

/// Moves the mark of an installation from the target, where upstream has it, to the previous version, as the
/// API requires.
fn fit_versions(content: &mut Value) {
    let versions = &mut content["versions"];
    let is_installation = versions["target"]["metadata"][0]["key"] == "Installation";
    if is_installation {
        let metadata = versions["target"]["metadata"].take();
        versions["previous"] = json!({"version": NO_VERSION, "metadata": metadata});
        if let Some(target) = versions["target"].as_object_mut() {
            target.remove("metadata");
        }
    }
    for version in ["previous", "target"] {
        let text = versions[version]["version"].as_str().unwrap_or_default();
        // The API requires at least five characters.
        let fitting = if text.len() < 5 { UNKNOWN_VERSION.to_owned() } else { truncate(text, VERSION_MAX) };
        versions[version]["version"] = json!(fitting);
    }
    if content["startedAt"].is_null() {
        content["startedAt"] = json!(rfc3339(ZERO_TIME));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_sentences_to_one_word_reasons() {
        for (text, wanted) in [
            ("Completed", "Completed"),
            ("Not ready | Disk pressure", "NotReady,DiskPressure"),
            ("Node is marked unschedulable", "NodeIsMarkedUnschedulable"),
            ("", "Degraded"),
            ("3 disks", "Degraded"),
            ("\u{e9}t\u{e9}", "T"),
        ] {
            assert_eq!(reason(text, "Degraded"), wanted);
        }
        assert_eq!(reason(&"very ".repeat(99), "Degraded"), "Degraded");
    }
}

//! What is told of cluster versions and cluster operators, and of what the machine-config daemon does to nodes.

use serde_json::Value;
use windtunnel_core::Object;

use super::{Change, LAST_SYNCED, change, condition_changes, text_change};

pub(super) fn of_cluster_version(before: Option<&Object>, after: &Object) -> Vec<Change> {
    let mut found = Vec::new();
    found.extend(request_change(before, after));
    found.extend(text_change(before, after, "/spec/channel", "channel", "none"));
    found.extend(history_changes(before, after));
    let versions = |object: &Object| -> Vec<String> {
        let updates = object.list("/status/availableUpdates").iter();
        updates.map(|update| update["version"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let (old, new) = (before.map(versions).unwrap_or_default(), versions(after));
    if old != new {
        let list = if new.is_empty() { "none".to_owned() } else { new.join(", ") };
        found.push(change("available updates", format!("available updates {list}")));
    }
    found
}

/// `requested 4.14.8`, `requested <image>`, with `by force`; `request cleared`.
fn request_change(before: Option<&Object>, after: &Object) -> Option<Change> {
    let old = before.and_then(|before| before.pointer("/spec/desiredUpdate")).unwrap_or(&Value::Null);
    let new = after.pointer("/spec/desiredUpdate").unwrap_or(&Value::Null);
    if old == new {
        return None;
    }
    let text = |field: &str| new[field].as_str().filter(|text| !text.is_empty());
    let Some(target) = text("version").or_else(|| text("image")) else {
        return Some(change("request", "request cleared"));
    };
    let force = if new["force"] == true { " by force" } else { "" };
    Some(change("request", format!("requested {target}{force}")))
}

/// Entries of the history that are new or have another state; an entry is known by its start and its version.
fn history_changes(before: Option<&Object>, after: &Object) -> Vec<Change> {
    const HISTORY: &str = "/status/history";
    let old = before.map_or(&[] as &[Value], |before| before.list(HISTORY));
    let mut found = Vec::new();
    for (index, entry) in after.list(HISTORY).iter().enumerate() {
        let was =
            old.iter().find(|old| ["startedTime", "version", "image"].iter().all(|f| old[*f] == entry[*f]));
        if was.is_none_or(|was| was["state"] != entry["state"]) {
            let text = |field: &str| entry[field].as_str().unwrap_or_default();
            found.push(change("history", format!("history[{index}] {} {}", text("state"), text("version"))));
        }
    }
    found
}

/// `version operator=4.14.8` for each version that an operator newly reports; with its own version, those of its
/// operands go without saying.
pub(super) fn of_cluster_operator(before: Option<&Object>, after: &Object) -> Vec<Change> {
    const VERSIONS: &str = "/status/versions";
    let old = before.map_or(&[] as &[Value], |before| before.list(VERSIONS));
    let mut found = Vec::new();
    for entry in after.list(VERSIONS).iter().filter(|entry| !old.contains(entry)) {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        found.push(change(format!("version {name}"), format!("version {name}={version}")));
    }
    let own = |change: &Change| change.subject == "version operator";
    if found.iter().any(own) {
        found.retain(own);
    }
    found
}

/// Cordons, and what the machine-config daemon notes on a node.
pub(super) fn of_node(before: Option<&Object>, after: &Object) -> Vec<Change> {
    const PREFIX: &str = "machineconfiguration.openshift.io/";
    let mut found = Vec::new();
    let cordoned = |object: &Object| object["spec"]["unschedulable"] == true;
    if cordoned(after) != before.is_some_and(cordoned) {
        found.push(change("cordon", if cordoned(after) { "cordoned" } else { "uncordoned" }));
    }
    let annotations = after.pointer("/metadata/annotations").and_then(Value::as_object);
    for (name, value) in annotations.into_iter().flatten() {
        let Some(short) = name.strip_prefix(PREFIX).filter(|_| name != LAST_SYNCED) else { continue };
        let (old, new) =
            (before.and_then(|before| before.annotation(name)), value.as_str().unwrap_or_default());
        if before.is_some() && old.unwrap_or_default() != new {
            found.push(change(name, format!("{short}={new}")));
        }
    }
    found
}

/// Phases that a node enters and those that it is through with, and when it needs an update; that all of them are over when
/// it is updated goes without saying.
pub(super) fn of_machine_config_node(before: Option<&Object>, after: &Object) -> Vec<Change> {
    let says =
        |change: &Change| !change.text.contains("=False ") || change.text.starts_with("Updated=False ");
    condition_changes(before, after).into_iter().filter(says).collect()
}

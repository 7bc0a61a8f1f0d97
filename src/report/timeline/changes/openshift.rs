//! Changes of ClusterVersions, ClusterOperators and MachineConfigNodes, and of nodes by the machine-config
//! daemon.

use serde_json::Value;
use windtunnel_core::{Object, node};

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

/// Returns `requested 4.14.8` or `requested <image>`, with `by force` if forced, or `request cleared`.
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

/// Returns history entries that are new or have a new state. Start, version and image identify an entry.
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

/// Returns `version operator=4.14.8` for each version that an operator newly reports. A new version of its
/// own implies those of its operands.
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

/// Returns cordons, and annotations of the machine-config daemon.
pub(super) fn of_node(before: Option<&Object>, after: &Object) -> Vec<Change> {
    const PREFIX: &str = "machineconfiguration.openshift.io/";
    let mut found = Vec::new();
    let cordoned = |object: &Object| node::is_unschedulable(object);
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

/// Returns phases that a node enters or completes, and the start of a required update. `Updated=True` implies
/// that all phases are over.
pub(super) fn of_machine_config_node(before: Option<&Object>, after: &Object) -> Vec<Change> {
    let is_relevant =
        |change: &Change| !change.text.contains("=False ") || change.text.starts_with("Updated=False ");
    condition_changes(before, after).into_iter().filter(is_relevant).collect()
}

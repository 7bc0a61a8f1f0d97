//! Describes what a write changed, only from the object before and after it.

mod generic;
mod openshift;

use serde_json::Value;
use windtunnel_core::condition::{self, Condition};
use windtunnel_core::text::one_line;
use windtunnel_core::{Object, pod, resources};
use windtunnel_update_status::insight::published;

use crate::record::WriteEvent;
use crate::report::insights::{self, PublishedInsight};

/// The annotation of nodes that changes with each write of the ControllerConfig; it contains nothing about
/// the node.
const LAST_SYNCED: &str = "machineconfiguration.openshift.io/lastSyncedControllerConfigResourceVersion";

/// A change of an object.
#[derive(Debug)]
pub(in crate::report) struct Change {
    /// The changed part of the object; the timeline can merge consecutive changes of one subject.
    pub(in crate::report) subject: String,
    pub(in crate::report) text: String,
}

fn change(subject: impl Into<String>, text: impl Into<String>) -> Change {
    Change { subject: subject.into(), text: text.into() }
}

/// Returns the interesting changes of a write; empty if there are none.
pub(in crate::report) fn changes_of_write(write: &WriteEvent) -> Vec<Change> {
    if write.key.plural == resources::EVENTS.plural {
        return Vec::new();
    }
    if write.code >= 400 {
        return vec![change(
            "refusal",
            format!("rejected {}: {}", write.code, one_line(write.message.trim_end())),
        )];
    }
    let (before, after) = match (&write.before, &write.after) {
        // The write that follows a binding or an eviction shows its effect.
        (_, None) if write.verb == "create" => return Vec::new(),
        (_, None) => return vec![change("life", "deleted")],
        (before, Some(after)) => (before.as_ref(), after),
    };
    let mut found = Vec::new();
    if before.is_none() {
        found.push(change("life", "created"));
    }
    found.extend(specific(write, before, after));
    let starts_to_terminate = after.is_terminating() && !before.is_some_and(Object::is_terminating);
    if starts_to_terminate && !write.key.is_kind(&resources::PODS) {
        found.push(change("life", "terminating"));
    }
    if found.is_empty()
        && let Some(before) = before
        && !write.key.is_kind(&resources::LEASES)
        && !write.key.is_kind(&resources::PODS)
        && !write.key.is_kind(&resources::DEPLOYMENTS)
        && !write.key.is_kind(&resources::MACHINE_CONFIG_NODES)
        && !insights::is_insights_config_map(&write.key)
        && !insights::is_update_status(&write.key)
    {
        found.extend(generic::of(before, after));
    }
    found
}

/// Returns changes in the terms of the object's kind.
fn specific(write: &WriteEvent, before: Option<&Object>, after: &Object) -> Vec<Change> {
    let key = &write.key;
    if key.is_kind(&resources::PODS) {
        return pod_changes(before, after);
    }
    if key.is_kind(&resources::LEASES) {
        return text_change(before, after, "/spec/holderIdentity", "holder", "nobody").into_iter().collect();
    }
    if insights::is_insights_config_map(key) {
        return insight_changes(before, after);
    }
    if insights::is_update_status(key) {
        return update_status_changes(before, after);
    }
    let mut found = Vec::new();
    if key.is_kind(&resources::CLUSTER_VERSIONS) {
        found.extend(openshift::of_cluster_version(before, after));
    } else if key.is_kind(&resources::CLUSTER_OPERATORS) {
        found.extend(openshift::of_cluster_operator(before, after));
    } else if key.is_kind(&resources::CUSTOM_RESOURCE_DEFINITIONS) {
        if before.is_some_and(|before| before["spec"] != after["spec"]) {
            found.push(change("schema", format!("schema replaced (generation {})", after.generation())));
        }
    } else if key.is_kind(&resources::DEPLOYMENTS) {
        // Its other conditions change with every rollout.
        let available = condition_changes(before, after).into_iter();
        found.extend(image_changes(before, after));
        found.extend(replicas_change(before, after));
        found.extend(available.filter(|change| change.subject == "condition Available"));
        return found;
    } else if key.is_kind(&resources::NODES) {
        found.extend(openshift::of_node(before, after));
    }
    if key.is_kind(&resources::MACHINE_CONFIG_NODES) {
        found.extend(openshift::of_machine_config_node(before, after));
        return found;
    }
    found.extend(condition_changes(before, after));
    found
}

/// Returns the new value of a changed text field, as `what value`.
fn text_change(
    before: Option<&Object>,
    after: &Object,
    pointer: &str,
    what: &str,
    none: &str,
) -> Option<Change> {
    let (old, new) = (before.map_or("", |before| before.text(pointer)), after.text(pointer));
    let shown = if new.is_empty() { none } else { new };
    (old != new).then(|| change(what, format!("{what} {shown}")))
}

fn pod_changes(before: Option<&Object>, after: &Object) -> Vec<Change> {
    let status = pod::status_column(after);
    if status.is_empty() || before.map(pod::status_column).as_deref() == Some(status.as_str()) {
        return Vec::new();
    }
    vec![change("status", status)]
}

/// Returns conditions with a changed status, reason or message, and removed conditions.
fn condition_changes(before: Option<&Object>, after: &Object) -> Vec<Change> {
    let read = |object: &Object| object.conditions().iter().map(Condition::from_value).collect();
    let old: Vec<Condition> = before.map(read).unwrap_or_default();
    let new: Vec<Condition> = read(after);
    let mut found = Vec::new();
    for condition in &new {
        if !old.contains(condition) {
            found.push(change(format!("condition {}", condition.kind), condition_text(condition)));
        }
    }
    for condition in old.iter().filter(|old| !new.iter().any(|new| new.kind == old.kind)) {
        found.push(change(format!("condition {}", condition.kind), format!("{} removed", condition.kind)));
    }
    found
}

/// Formats a condition as `Progressing=True ClusterOperatorsUpdating "message"`; leaves out an empty reason
/// or message.
fn condition_text(condition: &Condition) -> String {
    let mut text = format!("{}={}", condition.kind, condition.status);
    if !condition.reason.is_empty() {
        text.push(' ');
        text.push_str(&condition.reason);
    }
    if !condition.message.is_empty() {
        text.extend([" \"", &one_line(condition.message.trim_end()), "\""]);
    }
    text
}

fn image_changes(before: Option<&Object>, after: &Object) -> Vec<Change> {
    const CONTAINERS: &str = "/spec/template/spec/containers";
    let old = before.map_or(&[] as &[Value], |before| before.list(CONTAINERS));
    let mut found = Vec::new();
    for container in after.list(CONTAINERS) {
        let same_name = old.iter().find(|old| old["name"] == container["name"]);
        if before.is_some() && same_name.is_none_or(|old| old["image"] != container["image"]) {
            let image = container["image"].as_str().unwrap_or_default();
            found.push(change("image", format!("image {}", short_image(image))));
        }
    }
    found
}

/// Returns the changed number of replicas of a Deployment.
fn replicas_change(before: Option<&Object>, after: &Object) -> Option<Change> {
    let replicas = |object: &Object| object.number("/spec/replicas");
    let wanted = replicas(after)?;
    (before.is_some_and(|before| replicas(before) != Some(wanted)))
        .then(|| change("replicas", format!("replicas {wanted}")))
}

/// Returns a pull specification with a shortened digest.
fn short_image(image: &str) -> String {
    const SHOWN: usize = 12;
    match image.split_once("@sha256:") {
        Some((repository, digest)) if digest.len() > SHOWN => {
            let digest: String = digest.chars().take(SHOWN).collect();
            format!("{repository}@sha256:{digest}...")
        }
        _ => image.to_owned(),
    }
}

/// Returns changed conditions of the UpdateStatus, and the changed `Updating` status and reason of the
/// control plane and of each pool. Its insights repeat those of the ConfigMap.
fn update_status_changes(before: Option<&Object>, after: &Object) -> Vec<Change> {
    let mut found = condition_changes(before, after);
    let updating = |object: Option<&Object>, pool: Option<&str>| {
        let status = &object?["status"];
        let part = match pool {
            None => &status["controlPlane"],
            Some(name) => status["workerPools"].as_array()?.iter().find(|pool| pool["name"] == name)?,
        };
        let list = part["conditions"].as_array()?;
        condition::find(list, "Updating").map(Condition::from_value)
    };
    let pools = after["status"]["workerPools"].as_array().into_iter().flatten();
    let names = pools.filter_map(|pool| pool["name"].as_str()).map(Some);
    for name in std::iter::once(None).chain(names) {
        let (old, new) = (updating(before, name), updating(Some(after), name));
        let summary = |condition: &Condition| (condition.status.clone(), condition.reason.clone());
        if let Some(new) = new.filter(|new| old.as_ref().map(summary) != Some(summary(new))) {
            let part = name.map_or("controlPlane".to_owned(), |name| format!("pool {name}"));
            found.push(change(part.clone(), format!("{part} Updating={} {}", new.status, new.reason)));
        }
    }
    found
}

/// Returns new, changed and removed insights. Ignores changed times and ids, and counts new insights about
/// healthy operators and nodes.
fn insight_changes(before: Option<&Object>, after: &Object) -> Vec<Change> {
    let find = |key: &str| before.and_then(|before| before["data"].get(key)).and_then(Value::as_str);
    let (mut found, mut quiet) = (Vec::new(), 0);
    for (key, document) in published::documents(after) {
        let old = find(key);
        if old == Some(document) {
            continue;
        }
        if old.is_none() && insights::has_no_news(PublishedInsight::Document(document)) {
            quiet += 1;
            continue;
        }
        let text = insights::summarize(PublishedInsight::Document(document));
        if old.map(|old| insights::summarize(PublishedInsight::Document(old))).as_ref() != Some(&text) {
            found.push(change(key, format!("{key} {text}")));
        }
    }
    for (key, _) in before.into_iter().flat_map(|map| published::documents(map)) {
        if after["data"].get(key).is_none() {
            found.push(change(key, format!("{key} removed")));
        }
    }
    if quiet > 0 {
        let what = if quiet == 1 { "insight" } else { "insights" };
        found.push(change("insights", format!("{quiet} {what} about healthy operators and nodes")));
    }
    found
}

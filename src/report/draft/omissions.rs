//! The omissions of a draft beside objects: taints, Secrets and faults.

use windtunnel_core::resources::{NODES, SECRETS};
use windtunnel_core::{Object, View, node, pull_secret};

use super::lost::Lost;
use super::start::is_custom;
use crate::record::{ADMINISTRATOR, Event, INSTALLER, Record, WriteEvent};

/// The names under which people write, or the starts of these names: field managers of clients.
const PEOPLE: [&str; 4] = [ADMINISTRATOR, "kubectl", "oc", "Mozilla"];

/// The beginnings of steps that a draft takes from the writes that they made, or needs not.
const OTHER_STEPS: [&str; 14] = [
    "update",
    "clear update",
    "publish insights",
    "apply ",
    "patch ",
    "delete ",
    "try to ",
    "run ",
    "advance ",
    "at ",
    "expect ",
    "keep ",
    "retry ",
    "feature set",
];

/// Adds the taints of nodes that users have set.
pub(super) fn taints(start: &View, lost: &mut Lost) {
    for node in start.list(&NODES) {
        let custom = |key: &str| is_custom(key, "") || key.starts_with("node-role.kubernetes.io/infra");
        for taint in node::taints(node).iter().filter(|taint| taint["key"].as_str().is_some_and(custom)) {
            let text = |field: &str| taint[field].as_str().unwrap_or_default();
            let thing = format!("{}={}:{} of {}", text("key"), text("value"), text("effect"), node.name());
            lost.add("taints of nodes", "a scenario sets no taints", &thing);
        }
    }
}

/// Adds the Secrets that the scenario or the user created before the record begins.
pub(super) fn secrets(record: &Record, lost: &mut Lost) {
    for entry in record.entries.iter().filter(|entry| record.is_set_up(entry)) {
        let Event::Write(write) = &entry.event else { continue };
        if write.key.is_kind(&SECRETS)
            && write.verb == "create"
            && (write.by == INSTALLER || is_request(write))
            && !is_of_every_cluster(write)
        {
            let name = format!("{}/{}", write.key.namespace, write.key.name);
            lost.add("Secrets", "a record has no values of Secrets: create them under `objects`", &name);
        }
    }
}

/// Returns whether each cluster has this Secret from its installation.
fn is_of_every_cluster(write: &WriteEvent) -> bool {
    let key = (write.key.namespace.as_ref(), write.key.name.as_ref());
    write.by == INSTALLER && key == (pull_secret::NAMESPACE, pull_secret::NAME)
}

/// Adds the faults of the record that no object shows, and other steps that made no request.
pub(super) fn faults(record: &Record, is_drafted: impl Fn(&str) -> bool, lost: &mut Lost) {
    for entry in &record.entries {
        let Event::Step { text } = &entry.event else { continue };
        if !OTHER_STEPS.iter().any(|start| text.starts_with(start)) && !is_drafted(text) {
            let reason = "objects show the effects of such steps and not the steps: add them";
            lost.add("faults and other steps", reason, text);
        }
    }
}

/// Whether a write is the request of a person. A record of a live cluster does not know who deletes: there it is the
/// deletion of an object without owners outside of the namespaces of operators.
pub(super) fn is_request(write: &WriteEvent) -> bool {
    if write.verb == "delete" && write.by != ADMINISTRATOR {
        let has_owner = |before: &Object| !before.list("/metadata/ownerReferences").is_empty();
        let is_of_operator = write.key.namespace.starts_with("openshift-");
        return write.by == "unknown" && !is_of_operator && !write.before.as_ref().is_some_and(has_owner);
    }
    PEOPLE.iter().any(|name| {
        let rest = write.by.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '/']))
    })
}

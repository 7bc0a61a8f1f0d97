//! The omissions of a draft, listed for the user: custom pools, labels and taints of nodes, and requests of people that
//! are no step of the draft.

use std::collections::{BTreeMap, BTreeSet};

use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::text::{clock_time, one_line};
use windtunnel_core::yaml::comment;
use windtunnel_core::{Object, View, node};

use crate::record::{ADMINISTRATOR, Entry, Event, Record, WriteEvent};

/// The maximum number of requests in the list.
const REQUESTS_MAX: usize = 40;

/// The pools of every cluster.
const POOLS: [&str; 2] = ["master", "worker"];

/// The domains of labels that the components of every cluster set.
const DOMAINS: [&str; 3] = ["kubernetes.io", "k8s.io", "openshift.io"];

/// The roles of nodes that a draft counts.
const ROLES: [&str; 3] = ["master", "control-plane", "worker"];

/// The names under which people write, or the starts of these names: field managers of clients.
const PEOPLE: [&str; 4] = [ADMINISTRATOR, "kubectl", "oc", "Mozilla"];

/// Returns comment lines about the start of a record and about these requests, which are no steps; empty if the draft
/// leaves out nothing.
pub(super) fn render(record: &Record, start: &View, requests: &[&Entry]) -> String {
    let mut lines: Vec<String> = pools(start).chain(labels(start)).chain(taints(start)).collect();
    lines.extend(requests.iter().take(REQUESTS_MAX).filter_map(|entry| request(record, entry)));
    if let Some(more) = requests.len().checked_sub(REQUESTS_MAX).filter(|more| *more > 0) {
        lines.push(format!("{more} further requests"));
    }
    if lines.is_empty() {
        return String::new();
    }
    let list: String = lines.iter().map(|line| comment(&format!("- {}", one_line(line)))).collect();
    comment("The record has more, which this draft leaves out:") + &list
}

/// Whether a write is the request of a person. A record of a live cluster does not know who deletes: there it is the
/// deletion of an object without owners.
pub(super) fn is_request(write: &WriteEvent) -> bool {
    if write.verb == "delete" && write.by != ADMINISTRATOR {
        let has_owner = |before: &Object| !before.list("/metadata/ownerReferences").is_empty();
        return write.by == "unknown" && !write.before.as_ref().is_some_and(has_owner);
    }
    PEOPLE.iter().any(|name| {
        let rest = write.by.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '/']))
    })
}

fn request(record: &Record, entry: &Entry) -> Option<String> {
    let Event::Write(write) = &entry.event else { return None };
    let at = clock_time(entry.at.duration_since(record.header.epoch));
    let names = [&write.kind, &write.key.namespace, &write.key.name];
    let object: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).map(String::as_str).collect();
    Some(format!("at {at}, {} of {} by {}", write.verb, object.join("/"), write.by))
}

fn pools(start: &View) -> impl Iterator<Item = String> {
    let custom = start.list(&MACHINE_CONFIG_POOLS).filter(|pool| !POOLS.contains(&pool.name()));
    custom.map(|pool| format!("the pool {}", pool.name()))
}

fn labels(start: &View) -> impl Iterator<Item = String> {
    let of_node = |node: &Object| {
        let labels = node["metadata"]["labels"].as_object().cloned();
        labels.unwrap_or_default().into_iter().filter(|(name, _)| is_custom(name)).map(|(name, value)| {
            let value = value.as_str().unwrap_or_default();
            format!("the label {name}={value}")
        })
    };
    by_node(start, move |node| of_node(node).collect())
}

/// Whether a label is none that every cluster has: a role of its own, or one of another domain.
fn is_custom(label: &str) -> bool {
    let (domain, name) = label.split_once('/').unwrap_or(("", label));
    if domain == "node-role.kubernetes.io" {
        return !ROLES.contains(&name);
    }
    !DOMAINS.iter().any(|known| domain == *known || domain.ends_with(&format!(".{known}")))
}

fn taints(start: &View) -> impl Iterator<Item = String> {
    by_node(start, |node| {
        let custom = node::taints(node).iter().filter(|taint| taint["key"].as_str().is_some_and(is_custom));
        custom
            .map(|taint| {
                let text = |field: &str| taint[field].as_str().unwrap_or_default();
                format!("the taint {}={}:{}", text("key"), text("value"), text("effect"))
            })
            .collect()
    })
}

/// Returns each of the texts with the nodes that have it.
fn by_node(start: &View, texts: impl Fn(&Object) -> Vec<String>) -> impl Iterator<Item = String> {
    let mut nodes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for node in start.list(&NODES) {
        for text in texts(node) {
            nodes.entry(text).or_default().insert(node.name().to_owned());
        }
    }
    nodes
        .into_iter()
        .map(|(text, names)| format!("{text} of {}", names.into_iter().collect::<Vec<_>>().join(", ")))
}

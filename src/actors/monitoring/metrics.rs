//! Metrics by name, made of the objects of a cluster.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::clock::parse_rfc3339;
use crate::model::promql::{Labels, Sample};
use crate::model::resources::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, FEATURE_GATES, NODES};
use crate::model::{Object, Resource, View};

/// Kinds that only clusters with their definitions have.
const INFRASTRUCTURES: Resource =
    Resource::cluster("config.openshift.io", "v1", "Infrastructure", "infrastructures");
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// The samples of a metric; none of one that nothing here exports.
pub(super) fn of(metric: &str, view: &View) -> Vec<Sample> {
    match metric {
        "cluster_version" => cluster_version(view),
        "cluster_version_available_updates" => available_updates(view),
        "cluster_version_capability" => capabilities(view),
        "cluster_operator_up" => operators_up(view),
        "cluster_operator_conditions" => operator_conditions(view),
        "cluster_installer" => installer(view),
        "cluster_infrastructure_provider" => infrastructure(view),
        "cluster_feature_set" => feature_set(view),
        "apiserver_storage_objects" => storage_objects(view),
        "kube_configmap_info" => info(view, &CONFIG_MAPS, "configmap"),
        "kube_secret_info" => info(view, &SECRETS, "secret"),
        "kube_node_role" => node_roles(view),
        "kube_node_labels" => node_labels(view),
        _ => Vec::new(),
    }
}

fn sample(labels: &[(&str, &str)], value: f64) -> Sample {
    // A label without a value is none.
    let labels = labels.iter().filter(|(_, value)| !value.is_empty());
    Sample { labels: labels.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(), value }
}

#[expect(clippy::cast_precision_loss, reason = "counts and seconds are far below 2^52")]
fn number(count: i64) -> f64 {
    count as f64
}

fn count(count: usize) -> f64 {
    number(i64::try_from(count).unwrap_or(i64::MAX))
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

fn the_cluster_version(view: &View) -> Option<&Object> {
    view.get(&CLUSTER_VERSIONS, "", "version")
}

/// `cluster_version` by type: what runs, what is wanted, what was done last and what the cluster was born with.
fn cluster_version(view: &View) -> Vec<Sample> {
    let Some(object) = the_cluster_version(view) else { return Vec::new() };
    let history = object.list("/status/history");
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let time = |value: &Value, field: &str| {
        value[field].as_str().and_then(parse_rfc3339).map_or(0.0, |at| number(at.as_second()))
    };
    let is_done = |entry: &&Value| entry["state"] == "Completed";
    let done = history.iter().find(is_done);
    let before = |head: &Value| {
        let earlier = history.iter().filter(is_done).find(|entry| entry["image"] != head["image"]);
        earlier.map(|entry| text(entry, "version")).unwrap_or_default()
    };
    let mut found = Vec::new();
    let mut add = |kind: &str, of: &Value, from: &str, value: f64| {
        let (version, image) = (text(of, "version"), text(of, "image"));
        let labels = [("type", kind), ("version", &version), ("image", &image), ("from_version", from)];
        found.push(sample(&labels, value));
    };
    if let Some(head) = history.first() {
        add("current", head, &before(head), time(head, "startedTime"));
        if !is_done(&head) {
            add("updating", head, &before(head), time(head, "startedTime"));
        }
    }
    add("desired", &object["status"]["desired"], "", history.first().map_or(0.0, |e| time(e, "startedTime")));
    if let Some(done) = done {
        add("completed", done, "", time(done, "completionTime"));
        add("cluster", done, "", time(object, "creationTimestamp"));
    }
    if let Some(born) = history.last() {
        add("initial", born, "", time(born, "startedTime"));
    }
    found
}

fn available_updates(view: &View) -> Vec<Sample> {
    let Some(object) = the_cluster_version(view) else { return Vec::new() };
    let labels = [("upstream", object.text("/spec/upstream")), ("channel", object.text("/spec/channel"))];
    vec![sample(&labels, count(object.list("/status/availableUpdates").len()))]
}

fn capabilities(view: &View) -> Vec<Sample> {
    let Some(object) = the_cluster_version(view) else { return Vec::new() };
    let enabled = object.list("/status/capabilities/enabledCapabilities");
    let known = object.list("/status/capabilities/knownCapabilities").iter();
    known
        .filter_map(|name| Some(sample(&[("name", name.as_str()?)], truth(enabled.contains(name)))))
        .collect()
}

fn operators_up(view: &View) -> Vec<Sample> {
    let is_up = |object: &Object| crate::model::condition::is_true(object, "Available");
    view.list(&CLUSTER_OPERATORS).map(|o| sample(&[("name", o.name())], truth(is_up(o)))).collect()
}

/// Those of ClusterVersion count as an operator's called `version`; Unknown ones are left out.
fn operator_conditions(view: &View) -> Vec<Sample> {
    view.list(&CLUSTER_OPERATORS)
        .chain(the_cluster_version(view))
        .flat_map(|object| object.list("/status/conditions").iter().map(|found| (object.name(), found)))
        .filter(|(_, condition)| condition["status"] != "Unknown")
        .map(|(name, condition)| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default();
            let labels = [("name", name), ("condition", text("type")), ("reason", text("reason"))];
            sample(&labels, truth(condition["status"] == "True"))
        })
        .collect()
}

/// By the ConfigMap that the installer leaves.
fn installer(view: &View) -> Vec<Sample> {
    let found = view.get(&CONFIG_MAPS, "openshift-config", "openshift-install");
    let left = found.or_else(|| view.get(&CONFIG_MAPS, "openshift-config", "openshift-install-manifests"));
    let Some(left) = left else { return vec![sample(&[("type", "other")], 1.0)] };
    let kind = if found.is_some() { "openshift-install" } else { "other" };
    let (version, invoker) = (left.text("/data/version"), left.text("/data/invoker"));
    vec![sample(&[("type", kind), ("version", version), ("invoker", invoker)], 1.0)]
}

fn infrastructure(view: &View) -> Vec<Sample> {
    let Some(object) = view.get(&INFRASTRUCTURES, "", "cluster") else { return Vec::new() };
    let platform = &object["status"]["platformStatus"];
    let kind = platform["type"].as_str().unwrap_or_default();
    let region = platform[kind.to_lowercase()]["region"].as_str().unwrap_or_default();
    vec![sample(&[("type", kind), ("region", region)], 1.0)]
}

fn feature_set(view: &View) -> Vec<Sample> {
    let Some(gate) = view.get(&FEATURE_GATES, "", "cluster") else { return Vec::new() };
    let name = gate.text("/spec/featureSet");
    vec![sample(&[("name", name)], truth(name.is_empty()))]
}

fn storage_objects(view: &View) -> Vec<Sample> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (key, _) in view.objects() {
        let dot = if key.group.is_empty() { "" } else { "." };
        *counts.entry(format!("{}{dot}{}", key.plural, key.group)).or_default() += 1;
    }
    counts.iter().map(|(resource, number)| sample(&[("resource", resource)], count(*number))).collect()
}

fn info(view: &View, resource: &Resource, label: &str) -> Vec<Sample> {
    view.list(resource).map(|o| sample(&[("namespace", o.namespace()), (label, o.name())], 1.0)).collect()
}

fn labels_of(node: &Object) -> impl Iterator<Item = (&String, &str)> {
    let labels = node["metadata"]["labels"].as_object();
    labels.into_iter().flatten().map(|(name, value)| (name, value.as_str().unwrap_or_default()))
}

fn node_roles(view: &View) -> Vec<Sample> {
    let of = |node: &Object| -> Vec<Sample> {
        let roles = labels_of(node).filter_map(|(name, _)| name.strip_prefix("node-role.kubernetes.io/"));
        roles.map(|role| sample(&[("node", node.name()), ("role", role)], 1.0)).collect()
    };
    view.list(&NODES).flat_map(of).collect()
}

/// Labels become `label_<name>`, with `_` for what metrics' labels cannot hold.
fn node_labels(view: &View) -> Vec<Sample> {
    let plain = |name: &str| -> String {
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
    };
    let of = |node: &Object| {
        let shown = labels_of(node).map(|(name, value)| (format!("label_{}", plain(name)), value.to_owned()));
        let mut labels: Labels = shown.filter(|(_, value)| !value.is_empty()).collect();
        labels.insert("node".to_owned(), node.name().to_owned());
        Sample { labels, value: 1.0 }
    };
    view.list(&NODES).map(of).collect()
}

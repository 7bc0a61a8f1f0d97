//! Metrics about objects from exporters other than the cluster-version operator: kube-state-metrics, the
//! kube-apiserver, and operators of OpenShift's configuration.

use std::collections::BTreeMap;

use windtunnel_core::resources::{CONFIG_MAPS, FEATURE_GATES, INFRASTRUCTURES, NODES};
use windtunnel_core::{Change, ChangeKind, Key, Object, Resource, View};

use super::{count, truth};
use crate::promql::SampleCollector;

/// No simulated component reads this kind.
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// Collects the samples of a metric. An unknown metric has none.
pub(super) fn collect(metric: &str, view: &View, taken: &mut SampleCollector<'_>) {
    match metric {
        "cluster_infrastructure_provider" => infrastructure(view, taken),
        "cluster_feature_set" => feature_set(view, taken),
        "apiserver_storage_objects" => storage_objects(view, taken),
        "kube_configmap_info" => info(view, &CONFIG_MAPS, "configmap", taken),
        "kube_secret_info" => info(view, &SECRETS, "secret", taken),
        "kube_node_role" => node_roles(view, taken),
        "kube_node_labels" => node_labels(view, taken),
        _ => {}
    }
}

/// Returns whether objects of this kind can affect a metric.
pub(super) fn concerns(metric: &str, kind: &Key) -> bool {
    match metric {
        "cluster_infrastructure_provider" => kind.is_kind(&INFRASTRUCTURES),
        "cluster_feature_set" => kind.is_kind(&FEATURE_GATES),
        "apiserver_storage_objects" => true,
        "kube_configmap_info" => kind.is_kind(&CONFIG_MAPS),
        "kube_secret_info" => kind.is_kind(&SECRETS),
        "kube_node_role" | "kube_node_labels" => kind.is_kind(&NODES),
        _ => false,
    }
}

/// Returns whether a change can affect a metric. Modifications do not affect metrics that only count or list
/// objects.
pub(super) fn is_touched(metric: &str, change: &Change) -> bool {
    let counts = ["apiserver_storage_objects", "kube_configmap_info", "kube_secret_info"].contains(&metric);
    (change.kind != ChangeKind::Modified || !counts) && concerns(metric, &change.key)
}

fn infrastructure(view: &View, taken: &mut SampleCollector<'_>) {
    let Some(object) = view.get(&INFRASTRUCTURES, "", "cluster") else { return };
    let platform = &object["status"]["platformStatus"];
    let kind = platform["type"].as_str().unwrap_or_default();
    let region = platform[kind.to_lowercase()]["region"].as_str().unwrap_or_default();
    taken.add(&[("type", kind), ("region", region)], 1.0);
}

fn feature_set(view: &View, taken: &mut SampleCollector<'_>) {
    let Some(gate) = view.get(&FEATURE_GATES, "", "cluster") else { return };
    let name = gate.text("/spec/featureSet");
    taken.add(&[("name", name)], truth(name.is_empty()));
}

fn storage_objects(view: &View, taken: &mut SampleCollector<'_>) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (key, _) in view.objects() {
        let dot = if key.group.is_empty() { "" } else { "." };
        *counts.entry(format!("{}{dot}{}", key.plural, key.group)).or_default() += 1;
    }
    for (resource, number) in &counts {
        taken.add(&[("resource", resource)], count(*number));
    }
}

fn info(view: &View, resource: &Resource, label: &str, taken: &mut SampleCollector<'_>) {
    for object in view.list(resource) {
        taken.add(&[("namespace", object.namespace()), (label, object.name())], 1.0);
    }
}

fn labels_of(node: &Object) -> impl Iterator<Item = (&String, &str)> {
    let labels = node["metadata"]["labels"].as_object();
    labels.into_iter().flatten().map(|(name, value)| (name, value.as_str().unwrap_or_default()))
}

fn node_roles(view: &View, taken: &mut SampleCollector<'_>) {
    for node in view.list(&NODES) {
        for (name, _) in labels_of(node) {
            if let Some(role) = name.strip_prefix("node-role.kubernetes.io/") {
                taken.add(&[("node", node.name()), ("role", role)], 1.0);
            }
        }
    }
}

/// Labels become `label_<name>`. Characters that are invalid in metric labels become `_`.
fn node_labels(view: &View, taken: &mut SampleCollector<'_>) {
    let plain = |name: &str| -> String {
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
    };
    for node in view.list(&NODES) {
        let shown: BTreeMap<String, &str> =
            labels_of(node).map(|(name, value)| (format!("label_{}", plain(name)), value)).collect();
        let mut labels: Vec<(&str, &str)> = shown.iter().map(|(name, value)| (&**name, *value)).collect();
        labels.push(("node", node.name()));
        taken.add(&labels, 1.0);
    }
}

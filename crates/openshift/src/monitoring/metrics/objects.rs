//! Metrics about objects from exporters other than the cluster-version operator: kube-state-metrics, the
//! kube-apiserver, and operators of OpenShift's configuration.

use std::collections::BTreeMap;

use windtunnel_core::resources::{CONFIG_MAPS, FEATURE_GATES, INFRASTRUCTURES, NODES};
use windtunnel_core::{Change, ChangeKind, Key, Object, Resource, View};

use super::{count, truth};
use crate::promql::Taken;

/// No simulated component reads this kind.
const SECRETS: Resource = Resource::namespaced("", "v1", "Secret", "secrets");

/// Collects the samples of a metric. An unknown metric has none.
pub(super) fn collect(metric: &str, view: &View, taken: &mut Taken<'_>) {
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
        "cluster_infrastructure_provider" => kind.is(&INFRASTRUCTURES),
        "cluster_feature_set" => kind.is(&FEATURE_GATES),
        "apiserver_storage_objects" => true,
        "kube_configmap_info" => kind.is(&CONFIG_MAPS),
        "kube_secret_info" => kind.is(&SECRETS),
        "kube_node_role" | "kube_node_labels" => kind.is(&NODES),
        _ => false,
    }
}

/// Returns whether a change can affect a metric. Modifications do not affect metrics that only count or list
/// objects.
pub(super) fn is_touched(metric: &str, change: &Change) -> bool {
    let counts = ["apiserver_storage_objects", "kube_configmap_info", "kube_secret_info"].contains(&metric);
    (change.kind != ChangeKind::Modified || !counts) && concerns(metric, &change.key)
}

fn infrastructure(view: &View, taken: &mut Taken<'_>) {
    let Some(object) = view.get(&INFRASTRUCTURES, "", "cluster") else { return };
    let platform = &object["status"]["platformStatus"];
    let kind = platform["type"].as_str().unwrap_or_default();
    let region = platform[kind.to_lowercase()]["region"].as_str().unwrap_or_default();
    taken.offer(&[("type", kind), ("region", region)], 1.0);
}

fn feature_set(view: &View, taken: &mut Taken<'_>) {
    let Some(gate) = view.get(&FEATURE_GATES, "", "cluster") else { return };
    let name = gate.text("/spec/featureSet");
    taken.offer(&[("name", name)], truth(name.is_empty()));
}

fn storage_objects(view: &View, taken: &mut Taken<'_>) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (key, _) in view.objects() {
        let dot = if key.group.is_empty() { "" } else { "." };
        *counts.entry(format!("{}{dot}{}", key.plural, key.group)).or_default() += 1;
    }
    for (resource, number) in &counts {
        taken.offer(&[("resource", resource)], count(*number));
    }
}

fn info(view: &View, resource: &Resource, label: &str, taken: &mut Taken<'_>) {
    for object in view.list(resource) {
        taken.offer(&[("namespace", object.namespace()), (label, object.name())], 1.0);
    }
}

fn labels_of(node: &Object) -> impl Iterator<Item = (&String, &str)> {
    let labels = node["metadata"]["labels"].as_object();
    labels.into_iter().flatten().map(|(name, value)| (name, value.as_str().unwrap_or_default()))
}

fn node_roles(view: &View, taken: &mut Taken<'_>) {
    for node in view.list(&NODES) {
        for (name, _) in labels_of(node) {
            if let Some(role) = name.strip_prefix("node-role.kubernetes.io/") {
                taken.offer(&[("node", node.name()), ("role", role)], 1.0);
            }
        }
    }
}

/// Labels become `label_<name>`. Characters that are invalid in metric labels become `_`.
fn node_labels(view: &View, taken: &mut Taken<'_>) {
    let plain = |name: &str| -> String {
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
    };
    for node in view.list(&NODES) {
        let shown: BTreeMap<String, &str> =
            labels_of(node).map(|(name, value)| (format!("label_{}", plain(name)), value)).collect();
        let mut labels: Vec<(&str, &str)> = shown.iter().map(|(name, value)| (&**name, *value)).collect();
        labels.push(("node", node.name()));
        taken.offer(&labels, 1.0);
    }
}

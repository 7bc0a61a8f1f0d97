//! Metrics about objects from exporters other than the cluster-version operator: kube-state-metrics, the
//! kube-apiserver, and operators of OpenShift's configuration.

use std::collections::BTreeMap;

use windtunnel_core::resources::{
    CONFIG_MAPS, FEATURE_GATES, INFRASTRUCTURES, NODES, PODS, PROXIES, SECRETS,
};
use windtunnel_core::{Change, ChangeKind, Key, Object, Resource, View};

use super::origin::Origin;
use super::workloads::{
    CLUSTER_SERVICE_VERSIONS, WAITING_REASON, changes_waiting, containers, csv_count, csv_succeeded,
    node_info, waiting_reasons,
};
use super::{count, truth};
use crate::promql::SampleCollector;

type Collect = fn(&View, &mut SampleCollector<'_>);

/// Name, function and origin of each metric.
const METRICS: &[(&str, Collect, Origin)] = &[
    ("cluster_infrastructure_provider", infrastructure, Origin::Objects(&[INFRASTRUCTURES])),
    ("cluster_feature_set", feature_set, Origin::Objects(&[FEATURE_GATES])),
    ("cluster_proxy_enabled", proxy, Origin::Objects(&[PROXIES])),
    ("apiserver_storage_objects", storage_objects, Origin::Storage),
    ("csv_count", csv_count, Origin::Objects(&[CLUSTER_SERVICE_VERSIONS])),
    ("csv_succeeded", csv_succeeded, Origin::Objects(&[CLUSTER_SERVICE_VERSIONS])),
    ("kube_configmap_info", config_maps, Origin::Objects(&[CONFIG_MAPS])),
    ("kube_secret_info", secrets, Origin::Objects(&[SECRETS])),
    ("kube_pod_container_info", containers, Origin::Objects(&[PODS])),
    (WAITING_REASON, waiting_reasons, Origin::Objects(&[PODS])),
    ("kube_node_info", node_info, Origin::Objects(&[NODES])),
    ("kube_node_role", node_roles, Origin::Objects(&[NODES])),
    ("kube_node_labels", node_labels, Origin::Objects(&[NODES])),
];

/// Collects the samples of a metric. An unknown metric has none.
pub(super) fn collect(metric: &str, view: &View, taken: &mut SampleCollector<'_>) {
    if let Some((_, collect, _)) = METRICS.iter().find(|(name, ..)| *name == metric) {
        collect(view, taken);
    }
}

/// Returns the names of the metrics.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|(name, ..)| *name)
}

/// Returns the origin of a metric; `None` for an unknown one.
pub(super) fn origin(metric: &str) -> Option<Origin> {
    METRICS.iter().find(|(name, ..)| *name == metric).map(|(.., origin)| *origin)
}

/// Returns whether objects of this kind can affect a metric.
pub(super) fn concerns(metric: &str, kind: &Key) -> bool {
    match origin(metric) {
        Some(Origin::Objects(kinds)) => kinds.iter().any(|resource| kind.is_kind(resource)),
        Some(Origin::Storage) => true,
        _ => false,
    }
}

/// Returns whether a change can affect a metric. Modifications do not affect metrics that only count or list
/// objects.
pub(super) fn is_touched(metric: &str, change: &Change) -> bool {
    if metric == WAITING_REASON {
        return concerns(metric, &change.key) && changes_waiting(change);
    }
    let counts = ["apiserver_storage_objects", "kube_configmap_info", "kube_secret_info"].contains(&metric);
    (change.kind != ChangeKind::Modified || !counts) && concerns(metric, &change.key)
}

fn config_maps(view: &View, taken: &mut SampleCollector<'_>) {
    info(view, &CONFIG_MAPS, "configmap", taken);
}

fn secrets(view: &View, taken: &mut SampleCollector<'_>) {
    info(view, &SECRETS, "secret", taken);
}

/// Whether the cluster uses a proxy, by the setting (cluster-config-operator).
fn proxy(view: &View, taken: &mut SampleCollector<'_>) {
    let Some(proxy) = view.get(&PROXIES, "", "cluster") else { return };
    let set = |pointer: &str| truth(!proxy.text(pointer).is_empty());
    taken.add(&[("type", "http")], set("/spec/httpProxy"));
    taken.add(&[("type", "https")], set("/spec/httpsProxy"));
    taken.add(&[("type", "trusted_ca")], set("/spec/trustedCA/name"));
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

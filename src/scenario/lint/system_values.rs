//! Warns of labels and fields that the user cannot set: a component sets them, or the API server ignores them.

use serde_json::Value;
use windtunnel_core::resources::NODES;

use crate::plan::{Action, ClusterPlan, Step};

/// Labels of nodes that the kubelet sets.
const LABELS_OF_KUBELETS: [&str; 3] = ["kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os"];

/// Fields of the metadata that the API server sets.
const METADATA: [&str; 5] = ["creationTimestamp", "deletionTimestamp", "generation", "selfLink", "uid"];

/// Returns warnings about the labels in the plan of a cluster.
pub(super) fn of_cluster(cluster: &ClusterPlan) -> Vec<String> {
    let of_nodes = cluster.node_labels.values().flat_map(|labels| labels.keys());
    let of_pools = cluster.pools.iter().flat_map(|pool| pool.labels.keys());
    of_nodes.chain(of_pools).filter_map(|key| kubelets_label(key)).collect()
}

/// Returns warnings about a step.
pub(super) fn of_step(step: &Step) -> Vec<String> {
    match step {
        Step::Act(Action::Join { labels, .. }) => {
            labels.keys().filter_map(|key| kubelets_label(key)).collect()
        }
        Step::Act(Action::Patch { object, patch, status }) => {
            let mut found = system_fields(patch);
            if object.resource == NODES {
                let labels = patch["metadata"]["labels"].as_object().into_iter().flatten();
                found.extend(labels.filter_map(|(key, _)| kubelets_label(key)));
            }
            if !status && patch.get("status").is_some() && object.resource.kind != "Event" {
                let why = "the API server ignores `status` in this patch: write `subresource: status` beside `merge`";
                found.push(why.to_owned());
            }
            found
        }
        _ => Vec::new(),
    }
}

fn kubelets_label(key: &str) -> Option<String> {
    LABELS_OF_KUBELETS.contains(&key).then(|| {
        format!("the kubelet sets the label {key} of its node, so a user cannot: remove it, or use a label of your own")
    })
}

fn system_fields(object: &Value) -> Vec<String> {
    let given = METADATA.iter().filter(|field| object["metadata"].get(field).is_some());
    given.map(|field| format!("the API server sets metadata.{field}, so a user cannot: remove it")).collect()
}

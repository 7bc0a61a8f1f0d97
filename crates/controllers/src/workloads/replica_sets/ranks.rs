//! The order in which excess pods are deleted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use windtunnel_core::{Object, pod};

use crate::owners::available_at;

/// The annotation with the deletion cost of a pod.
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Selects pods to delete: first those that are not bound, not running or not ready, then those with the
/// lowest cost, with the most pods on their node, and the youngest.
pub(super) fn pods_to_delete<'v>(pods: &[&'v Object], count: usize) -> Vec<&'v Object> {
    let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        *on_node.entry(pod::node_name(pod)).or_default() += 1;
    }
    let rank = |pod: &Object| {
        let node = pod::node_name(pod);
        let phase = ["Pending", "Unknown", "Running"].iter().position(|phase| *phase == pod::phase(pod));
        let ready_since = available_at(pod, 0);
        let cost: i64 = pod.annotation(COST).and_then(|text| text.parse().ok()).unwrap_or(0);
        (
            !node.is_empty(),
            phase,
            ready_since.is_some(),
            cost,
            Reverse(on_node[node]),
            Reverse(ready_since),
            Reverse(pod.time("/metadata/creationTimestamp")),
            pod.name().to_owned(),
        )
    };
    let mut ranked = pods.to_vec();
    ranked.sort_by_cached_key(|pod| rank(pod));
    ranked.truncate(count);
    ranked
}

//! Which of too many pods go first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use windtunnel_core::Object;

use crate::workloads::owners::available_at;

/// What people say that the deletion of a pod costs.
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// So many pods, those first that are missed least: not bound, not running, not ready, cheap, together on a node, young.
pub(super) fn first_to_go<'v>(pods: &[&'v Object], count: usize) -> Vec<&'v Object> {
    let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods {
        *on_node.entry(pod.text("/spec/nodeName")).or_default() += 1;
    }
    let rank = |pod: &Object| {
        let node = pod.text("/spec/nodeName");
        let phase =
            ["Pending", "Unknown", "Running"].iter().position(|phase| *phase == pod.text("/status/phase"));
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

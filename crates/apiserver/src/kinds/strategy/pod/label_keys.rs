//! Selectors that the server completes with labels of the pod.

use serde_json::{Value, json};

use crate::profile::since;

/// Adds the labels of the pod for `matchLabelKeys` and `mismatchLabelKeys` to the selectors (`mutatePodAffinity`,
/// `mutateTopologySpreadConstraints`).
pub(super) fn merge_label_keys(pod: &mut Value, minor: u32) {
    let labels = pod["metadata"]["labels"].clone();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if minor >= since::MERGED_SPREAD_KEYS {
        let constraints = spec.get_mut("topologySpreadConstraints").and_then(Value::as_array_mut);
        constraints.into_iter().flatten().for_each(|constraint| merge_keys(constraint, &labels));
    }
    let Some(affinity) = spec.get_mut("affinity").filter(|_| minor >= since::MERGED_AFFINITY_KEYS) else {
        return;
    };
    for field in ["podAffinity", "podAntiAffinity"] {
        let Some(terms) = affinity.get_mut(field) else { continue };
        let required = terms.get_mut("requiredDuringSchedulingIgnoredDuringExecution");
        for term in required.and_then(Value::as_array_mut).into_iter().flatten() {
            merge_keys(term, &labels);
        }
        let preferred = terms.get_mut("preferredDuringSchedulingIgnoredDuringExecution");
        for term in preferred.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(term) = term.get_mut("podAffinityTerm") {
                merge_keys(term, &labels);
            }
        }
    }
}

fn merge_keys(term: &mut Value, labels: &Value) {
    let mut added = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term[field].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                added.push(json!({ "key": key, "operator": operator, "values": [value] }));
            }
        }
    }
    let Some(choice) = term.get_mut("labelSelector").and_then(Value::as_object_mut) else { return };
    if !added.is_empty() {
        let expressions = choice.entry("matchExpressions").or_insert_with(|| json!([]));
        expressions.as_array_mut().into_iter().for_each(|list| list.append(&mut added));
    }
}

//! The pods of a StatefulSet: their ordinals, names, labels and volumes.

use serde_json::{Value, json};
use windtunnel_core::Object;
use windtunnel_core::resources::STATEFUL_SETS;

use super::{ordinals, volumes};
use crate::owners;
use crate::workloads::revisions::REVISION;

/// The label of a pod with its own name.
pub(super) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
/// The label of a pod with its ordinal.
pub(super) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

/// The pod with this ordinal, from a pod template and for the revision of that template.
pub(super) fn build(set: &Object, template: &Value, revision: &str, ordinal: i64) -> Value {
    let name = ordinals::name(set, ordinal);
    let index = ordinal.to_string();
    let labels = [(POD_NAME, name.as_str()), (POD_INDEX, index.as_str()), (REVISION, revision)];
    let mut pod = owners::unnamed_pod(set, &STATEFUL_SETS, template, &labels);
    pod["spec"]["hostname"] = json!(name);
    pod["spec"]["subdomain"] = set["spec"]["serviceName"].clone();
    if let Some(volumes) = volumes::mounted(set, &pod, ordinal) {
        pod["spec"]["volumes"] = json!(volumes);
    }
    pod["metadata"]["name"] = json!(name);
    pod
}

/// The pod with the labels and volumes of its ordinal, if it lacks some of them.
pub(super) fn corrected(set: &Object, pod: &Object, ordinal: i64) -> Option<Value> {
    let mut correct = pod.to_value();
    if pod.label(POD_NAME) != Some(pod.name()) {
        correct["metadata"]["labels"][POD_NAME] = json!(pod.name());
        correct["metadata"]["labels"][POD_INDEX] = json!(ordinal.to_string());
    }
    if !volumes::matches(set, pod, ordinal)
        && let Some(volumes) = volumes::mounted(set, pod, ordinal)
    {
        correct["spec"]["volumes"] = json!(volumes);
    }
    (correct != **pod).then_some(correct)
}

//! Controlling owners of pods, and pods from templates.

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after, parse_rfc3339};
use windtunnel_core::resources::PODS;
use windtunnel_core::rng::{Streams, fnv1a};
use windtunnel_core::{Key, Object, Resource, View, condition, pod};

use crate::{ON_MACHINES, PROGRAM};

/// The owner reference of the controller of an object.
pub fn controller(object: &Object) -> Option<&Value> {
    object.list("/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true)
}

/// The key of the controller of `pod` if it is a `resource`.
pub fn controller_of(pod: &Object, resource: &Resource) -> Option<Key> {
    let owner = controller(pod).filter(|owner| owner["kind"] == *resource.kind)?;
    Some(resource.key(pod.namespace(), owner["name"].as_str()?))
}

/// Whether `owner` controls an object.
pub fn controls(owner: &Object, object: &Object) -> bool {
    controller(object).is_some_and(|reference| reference["uid"] == *owner.uid())
}

/// The pods in the namespace of `owner` that it controls.
pub fn pods_of<'a>(view: &'a View, owner: &Object) -> impl Iterator<Item = &'a Object> {
    view.list_in(&PODS, owner.namespace()).filter(move |pod| controls(owner, pod))
}

/// Whether a pod has neither ended nor is terminating.
pub fn is_active(pod: &Object) -> bool {
    !pod::has_ended(pod) && !pod.is_terminating()
}

/// The time from which a ready pod counts as available; `None` if it is not ready.
pub fn available_at(pod: &Object, min_ready_seconds: i64) -> Option<Time> {
    let ready = condition::find_with_status(pod, "Ready", "True")?;
    let since = ready["lastTransitionTime"].as_str().and_then(parse_rfc3339).unwrap_or(Time::MIN);
    Some(after(since, SignedDuration::from_secs(min_ready_seconds)))
}

/// An owner reference that makes `owner` the controller of an object.
pub fn reference(owner: &Object, resource: &Resource) -> Value {
    json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "name": owner.name(),
        "uid": owner.uid(),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Whether a workload belongs to the release payload and has no simulated program, so that it gets no pods.
pub fn is_of_payload(workload: &Object) -> bool {
    let owners = workload.list("/metadata/ownerReferences");
    let is_program = workload["spec"]["template"]["metadata"]["annotations"][PROGRAM] == "true";
    owners.iter().any(|owner| owner["kind"] == "ClusterVersion") && !is_program
}

/// Whether the programs of a workload run on machines instead of in pods.
pub fn runs_on_machines(workload: &Object) -> bool {
    workload["spec"]["template"]["metadata"]["annotations"][PROGRAM] == ON_MACHINES
}

/// Creates a pod from the `spec.template` of `owner` with additional labels. The server generates its name
/// from `prefix`.
pub fn pod_from_template(
    owner: &Object,
    resource: &Resource,
    prefix: &str,
    labels: &[(&str, &str)],
) -> Value {
    let mut pod = unnamed_pod(owner, resource, &owner["spec"]["template"], labels);
    pod["metadata"]["generateName"] = json!(format!("{prefix}-"));
    pod
}

/// Creates a pod without a name for `owner` from this template, with additional labels.
pub fn unnamed_pod(owner: &Object, resource: &Resource, template: &Value, labels: &[(&str, &str)]) -> Value {
    let mut metadata =
        json!({ "namespace": owner.namespace(), "ownerReferences": [reference(owner, resource)] });
    // The API server does not normalize templates, so the fields may have any value.
    for field in ["labels", "annotations"] {
        if let Value::Object(values) = &template["metadata"][field] {
            metadata[field] = json!(values);
        }
    }
    if let Value::Array(finalizers) = &template["metadata"]["finalizers"] {
        metadata["finalizers"] = json!(finalizers);
    }
    for (label, value) in labels {
        metadata["labels"][*label] = json!(value);
    }
    let spec = template["spec"].as_object().cloned().unwrap_or_default();
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec })
}

/// A hash of a pod template, with ten letters.
pub fn template_hash(template: &Value) -> String {
    let text = serde_json::to_vec(template).unwrap_or_default();
    Streams::new(fnv1a(&text)).stream("pod-template-hash").suffix(10)
}

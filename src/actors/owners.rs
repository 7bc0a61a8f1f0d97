//! Pods and the objects that control them.

use serde_json::{Value, json};

use crate::model::{Key, Object, Resource, View, Write, resources::PODS};

/// The controlling owner of `pod` if it is a `resource`: its key and uid.
pub(super) fn controller_of(pod: &Object, resource: &Resource) -> Option<(Key, String)> {
    let owner = pod
        .list("/metadata/ownerReferences")
        .iter()
        .find(|owner| owner["controller"] == true && owner["kind"] == *resource.kind)?;
    let key = resource.key(pod.namespace(), owner["name"].as_str()?);
    Some((key, owner["uid"].as_str().unwrap_or_default().to_owned()))
}

/// The pods in the namespace of `owner` that it controls, with the uid that they name.
pub(super) fn pods_of<'a>(view: &'a View, owner: &Key, resource: &Resource) -> Vec<(&'a Object, String)> {
    let of_owner = |pod: &'a Object| {
        let (_, uid) = controller_of(pod, resource).filter(|(key, _)| key == owner)?;
        Some((pod, uid))
    };
    let mut pods = Vec::new();
    for pod in view.list_in(&PODS, &owner.namespace) {
        pods.extend(of_owner(pod));
    }
    pods
}

/// Removes the pods of `owner` that name another uid than `uid`, as the garbage collector does in the background for
/// owners that are gone (`None`).
pub(super) fn collect_orphans(
    view: &View,
    owner: &Key,
    resource: &Resource,
    uid: Option<&str>,
) -> Vec<Write> {
    pods_of(view, owner, resource)
        .iter()
        .filter(|(pod, named)| uid != Some(named.as_str()) && !pod.is_terminating())
        .map(|(pod, _)| Write::delete(&PODS, pod.namespace(), pod.name()))
        .collect()
}

/// A pod from the `spec.template` of `owner`, with these labels more, named by the server after `prefix`.
pub(super) fn pod_from_template(
    owner: &Object,
    resource: &Resource,
    prefix: &str,
    labels: &[(&str, &str)],
) -> Value {
    let template = &owner["spec"]["template"];
    let mut metadata = json!({
        "generateName": format!("{prefix}-"),
        "namespace": owner.namespace(),
        "ownerReferences": [{
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "name": owner.name(),
            "uid": owner.uid(),
            "controller": true,
            "blockOwnerDeletion": true,
        }],
    });
    // The API server does not look into templates, so they hold what people wrote.
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

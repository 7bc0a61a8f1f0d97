//! Events about unreachable nodes and the pods on them.

use serde_json::json;
use windtunnel_core::{Object, Resource};

use crate::recorder::{Notice, Recorder, Subject};

/// The reporting component, which differs from the name of the process.
const COMPONENT: &str = "node-controller";
const NOT_READY: &str = "NodeNotReady";

/// A recorder for an object of this kind. Events about cluster-scoped objects are in namespace `default`.
pub(super) fn recorder_for(resource: &Resource, object: &Object) -> Recorder {
    let mut involved = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "name": object.name(),
        "uid": object.uid(),
    });
    let mut namespace = object.namespace();
    if namespace.is_empty() {
        namespace = "default";
    } else {
        involved["namespace"] = json!(namespace);
    }
    let namespace = namespace.to_owned();
    Recorder::of(Subject { involved, namespace, source: json!({ "component": COMPONENT }) })
}

/// The Event for a ready node that becomes unreachable.
pub(super) fn node_not_ready(node: &Object) -> Notice {
    Notice::normal(NOT_READY, format!("Node {} status is now: {NOT_READY}", node.name()))
}

/// The Event for a pod that becomes unready with its node.
pub(super) fn pod_not_ready() -> Notice {
    Notice::warning(NOT_READY, "Node is not ready")
}

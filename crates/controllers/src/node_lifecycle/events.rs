//! What is told of nodes that fell silent, and of the pods on them.

use serde_json::json;
use windtunnel_core::{Object, Resource};

use crate::recorder::{Notice, Recorder, Subject};

/// Who tells it: the process has more than one name.
const COMPONENT: &str = "node-controller";
const NOT_READY: &str = "NodeNotReady";

/// What is told of an object of this kind. Events of what has no namespace stand in `default`.
pub(super) fn of(resource: &Resource, object: &Object) -> Recorder {
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

/// A node that was ready is not known to be any more.
pub(super) fn node_not_ready(node: &Object) -> Notice {
    Notice::normal(NOT_READY, format!("Node {} status is now: {NOT_READY}", node.name()))
}

/// A pod is said not to be ready, for its node is not.
pub(super) fn pod_not_ready() -> Notice {
    Notice::warning(NOT_READY, "Node is not ready")
}

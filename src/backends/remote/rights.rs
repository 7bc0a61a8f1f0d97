//! Permissions of simulated kubelets. An API server without a node authorizer, as in test suites, has the
//! role `system:node` without a binding.

use std::sync::Arc;

use http::Method;
use serde_json::json;
use windtunnel_core::Rejection;
use windtunnel_core::resources::CLUSTER_ROLE_BINDINGS;

use super::marks::stamp::RUN;
use super::wire::Wire;
use crate::backends::BackendError;

/// The group of kubelets, and their role.
const GROUP: &str = "system:nodes";
const ROLE: &str = "system:node";
const BINDING: &str = "windtunnel:nodes";

/// Gives kubelets their permissions if they lack them. The binding is removed with the objects of the run.
///
/// # Errors
/// The access review or the binding is rejected.
pub(crate) fn grant_kubelet_permissions(wire: &Arc<Wire>, run: &str) -> Result<(), BackendError> {
    if has_permissions(wire).map_err(|rejection| failed(&rejection))? {
        return Ok(());
    }
    let binding = json!({
        "apiVersion": CLUSTER_ROLE_BINDINGS.api_version(),
        "kind": CLUSTER_ROLE_BINDINGS.kind,
        "metadata": { "name": BINDING, "labels": { RUN: run } },
        "roleRef": { "apiGroup": CLUSTER_ROLE_BINDINGS.group, "kind": "ClusterRole", "name": ROLE },
        "subjects": [{ "apiGroup": CLUSTER_ROLE_BINDINGS.group, "kind": "Group", "name": GROUP }],
    });
    wire.change(Method::POST, &CLUSTER_ROLE_BINDINGS.path("", ""), &binding)
        .checked()
        .map(drop)
        .map_err(|rejection| failed(&rejection))
}

/// Returns whether a kubelet may report the status of its node, which is its first request.
fn has_permissions(wire: &Arc<Wire>) -> Result<bool, Rejection> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "system:node:windtunnel",
            "groups": [GROUP, "system:authenticated"],
            "resourceAttributes":
                { "verb": "patch", "version": "v1", "resource": "nodes", "subresource": "status", "name": "windtunnel" },
        },
    });
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = wire.change(Method::POST, path, &review).checked()?;
    Ok(answer["status"]["allowed"] == true)
}

fn failed(rejection: &Rejection) -> BackendError {
    BackendError::Failed(format!("cannot give simulated kubelets their permissions: {}", rejection.message))
}

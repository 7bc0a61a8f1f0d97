//! Rights of simulated kubelets: an API server without a node authorizer, as those of test suites are, has the role
//! `system:node` and nobody who has it.

use std::sync::Arc;

use http::Method;
use serde_json::json;
use windtunnel_core::Refusal;
use windtunnel_core::resources::CLUSTER_ROLE_BINDINGS;

use super::stamp::RUN;
use super::wire::Wire;
use crate::backends::BackendError;

/// The group of kubelets, and the role that is made for them.
const GROUP: &str = "system:nodes";
const ROLE: &str = "system:node";
/// The binding of a run.
const BINDING: &str = "windtunnel:nodes";

/// Lets kubelets do their work, if they may not already, until the objects of the run are removed.
///
/// # Errors
/// The server does not tell, or takes no binding.
pub(crate) fn let_kubelets_work(wire: &Arc<Wire>, run: &str) -> Result<(), BackendError> {
    if may_work(wire).map_err(|refusal| failed(&refusal))? {
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
        .map_err(|refusal| failed(&refusal))
}

/// Whether a kubelet may tell how its node is, which each does first.
fn may_work(wire: &Arc<Wire>) -> Result<bool, Refusal> {
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

fn failed(refusal: &Refusal) -> BackendError {
    BackendError::Failed(format!("whether kubelets may work: {}", refusal.message))
}

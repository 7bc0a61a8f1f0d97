//! Projects, which are namespaces, and requests for them (`openshift-apiserver`).

use serde_json::{Value, json};
use windtunnel_core::requests::aggregated::{AggregatedKind, AggregatedRequest};
use windtunnel_core::resources::{NAMESPACES, ROLE_BINDINGS};
use windtunnel_core::{Rejection, Resource, Write};

const PROJECTS: Resource = Resource::cluster("project.openshift.io", "v1", "Project", "projects");
const PROJECT_REQUESTS: Resource =
    Resource::cluster("project.openshift.io", "v1", "ProjectRequest", "projectrequests");

/// Prefixes of names that nobody can request (`forbiddenPrefixes`).
const RESERVED: [&str; 3] = ["kube-", "kubernetes-", "openshift-"];

pub(super) fn kinds() -> [AggregatedKind; 2] {
    [
        AggregatedKind {
            resource: PROJECTS,
            short_names: &[],
            verbs: &["create", "delete", "get", "list", "patch", "update", "watch"],
            shows: Some(NAMESPACES),
        },
        AggregatedKind {
            resource: PROJECT_REQUESTS,
            short_names: &[],
            verbs: &["create", "list"],
            shows: None,
        },
    ]
}

/// Returns the answer to a list of requests, by which clients ask whether they may make one.
pub(super) fn may_request() -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" })
}

/// Returns the writes of a request for a project, as the default template has them: the namespace, and its user as its
/// administrator.
pub(super) fn create(request: &AggregatedRequest<'_>, object: &Value) -> Result<Vec<Write>, Rejection> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let user = &request.user.user;
    if name.is_empty() {
        return Err(refused(
            422,
            "Invalid",
            name,
            "is invalid: metadata.name: Required value: name or generateName is required",
        ));
    }
    if (request.stored)(&NAMESPACES).iter().any(|namespace| namespace.name() == name) {
        return Err(refused(409, "AlreadyExists", name, "already exists"));
    }
    // Also for administrators, who create the Project itself (`oc adm new-project`).
    if let Some(prefix) = RESERVED.into_iter().find(|prefix| name.starts_with(prefix)) {
        let why = format!("is forbidden: cannot request a project starting with \"{prefix}\"");
        return Err(refused(403, "Forbidden", name, &why));
    }
    if RESERVED.iter().any(|prefix| prefix.trim_end_matches('-') == name) {
        let why = format!("is forbidden: cannot request a project with the name \"{name}\"");
        return Err(refused(403, "Forbidden", name, &why));
    }
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let given = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let mut annotations = json!(given);
    for (key, value) in [
        ("openshift.io/description", text("description")),
        ("openshift.io/display-name", text("displayName")),
        ("openshift.io/requester", user),
    ] {
        annotations[key] = json!(value);
    }
    let labels = &object["metadata"]["labels"];
    let mut metadata = json!({ "name": name, "annotations": annotations });
    if labels.is_object() {
        metadata["labels"] = labels.clone();
    }
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata });
    let kind = if user.starts_with("system:serviceaccount:") { "ServiceAccount" } else { "User" };
    let mut subject = json!({ "kind": kind, "name": user });
    match user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':')) {
        Some((namespace, account)) => {
            subject["namespace"] = json!(namespace);
            subject["name"] = json!(account);
        }
        None => subject["apiGroup"] = json!("rbac.authorization.k8s.io"),
    }
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": { "name": "admin", "namespace": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin" },
        "subjects": [subject],
    });
    Ok(vec![Write::create(&NAMESPACES, namespace), Write::create(&ROLE_BINDINGS, binding)])
}

fn refused(code: u16, reason: &str, name: &str, why: &str) -> Rejection {
    Rejection {
        code,
        reason: reason.to_owned(),
        message: format!("project.project.openshift.io \"{name}\" {why}"),
        details: json!({ "name": name, "group": "project.openshift.io", "kind": "project" }),
    }
}

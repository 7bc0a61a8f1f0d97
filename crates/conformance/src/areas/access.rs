//! Roles, bindings, impersonation and reviews.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::values::pick;

const VERBS: &[&str] = &[
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "*",
    "impersonate",
    "bind",
    "escalate",
    "use",
];
const GROUPS: &[&str] = &["", "apps", "*", "batch", "rbac.authorization.k8s.io"];
const RESOURCES: &[&str] = &[
    "pods",
    "configmaps",
    "*",
    "deployments",
    "pods/log",
    "*/status",
    "deployments/scale",
    "secrets",
    "roles",
    "rolebindings",
    "pods/status",
];
const USERS: &[&str] = &["u", "v", "system:serviceaccount:${ns}:s", "system:anonymous", "system:admin", ""];
const MEMBERS: &[&str] = &[
    "g",
    "system:masters",
    "system:authenticated",
    "system:unauthenticated",
    "system:serviceaccounts",
    "system:serviceaccounts:${ns}",
];

pub(super) fn case(rng: &mut Rng) -> Value {
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}";
    let mut steps = Vec::new();
    for name in ["r1", "r2"] {
        let rules: Vec<Value> = (0..rng.usize(1..3)).map(|_| rule(rng)).collect();
        steps.push(post(&format!("{roles}/roles"), &json!({"metadata": {"name": name}, "rules": rules})));
        let subjects = [subject(rng)];
        let kind = *pick(rng, &["Role", "Role", "Role", "ClusterRole"]);
        let name_of_role = if kind == "Role" {
            name
        } else {
            *pick(rng, &["view", "edit", "admin", "cluster-admin", "none"])
        };
        steps.push(post(
            &format!("{roles}/rolebindings"),
            &json!({"metadata": {"name": name}, "subjects": subjects,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name_of_role}}),
        ));
    }
    // A real server sees roles a moment later.
    steps.push(json!({"settle": 1}));
    for _ in 0..24 {
        let request = if rng.u8(..3) == 0 { review(rng) } else { as_user(rng) };
        steps.push(json!({"request": request, "sort": "/status/resourceRules"}));
    }
    json!({"steps": steps})
}

fn post(path: &str, body: &Value) -> Value {
    json!({"setup": true, "request": {"method": "POST", "path": path, "body": body}})
}

fn rule(rng: &mut Rng) -> Value {
    let mut rule = json!({"apiGroups": [*pick(rng, GROUPS)], "resources": [*pick(rng, RESOURCES)], "verbs": [*pick(rng, VERBS), *pick(rng, VERBS)]});
    if rng.u8(..4) == 0 {
        rule["resourceNames"] = json!([*pick(rng, &["x", "y"])]);
    }
    rule
}

fn subject(rng: &mut Rng) -> Value {
    match rng.u8(..3) {
        0 => json!({"kind": "User", "name": *pick(rng, &USERS[..2])}),
        1 => json!({"kind": "Group", "name": *pick(rng, MEMBERS)}),
        _ => json!({"kind": "ServiceAccount", "name": "s", "namespace": "${ns}"}),
    }
}

/// A request as another user.
fn as_user(rng: &mut Rng) -> Value {
    let mut headers = json!({"Impersonate-User": *pick(rng, USERS)});
    if rng.u8(..3) == 0 {
        headers["Impersonate-Group"] = json!(*pick(rng, MEMBERS));
    }
    match rng.u8(..16) {
        0 => headers["Impersonate-Uid"] = json!("x"),
        1 => headers["Impersonate-Extra-scopes"] = json!("a"),
        2 => headers = json!({"Impersonate-Group": "g"}),
        3 => headers = json!({"Impersonate-Extra-a": "b"}),
        _ => {}
    }
    let mut request = target(rng);
    request["headers"] = headers;
    match rng.u8(..24) {
        0 => request["anonymous"] = json!(true),
        1 => request["token"] = json!("wrong"),
        _ => {}
    }
    request
}

fn target(rng: &mut Rng) -> Value {
    let core = "/api/v1/namespaces/${ns}";
    let role = json!({"metadata": {"name": "z"}, "rules": [rule(rng)]});
    let binding = json!({"metadata": {"name": "z"}, "subjects": [subject(rng)],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": *pick(rng, &["r1", "r2", "none"])}});
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}";
    match rng.u8(..16) {
        0 => json!({"path": format!("{core}/pods")}),
        1 => json!({"path": format!("{core}/pods/x")}),
        2 => json!({"path": format!("{core}/pods/x/log")}),
        3 => json!({"path": format!("{core}/configmaps"), "query": {"watch": *pick(rng, &["0", "false"])}}),
        4 => {
            json!({"method": "POST", "path": format!("{core}/configmaps"), "query": {"dryRun": "All"}, "body": {"metadata": {"name": "x"}}})
        }
        5 => {
            json!({"method": "PUT", "path": format!("{core}/configmaps/x"), "body": {"metadata": {"name": "x"}}})
        }
        6 => json!({"method": "DELETE", "path": format!("{core}/secrets/y")}),
        7 => json!({"method": "DELETE", "path": format!("{core}/secrets"), "query": {"dryRun": "All"}}),
        8 => {
            json!({"method": "PATCH", "path": "/apis/apps/v1/namespaces/${ns}/deployments/x/scale", "type": "application/merge-patch+json", "body": {"spec": {"replicas": 1}}})
        }
        9 | 10 => {
            json!({"method": "POST", "path": format!("{rbac}/roles"), "query": {"dryRun": "All"}, "body": role})
        }
        11 | 12 => {
            json!({"method": "POST", "path": format!("{rbac}/rolebindings"), "query": {"dryRun": "All"}, "body": binding})
        }
        13 => {
            json!({"path": *pick(rng, &["/healthz", "/x", "/livez", "/openapi/v2x", "/logs"])})
        }
        14 => {
            json!({"path": *pick(rng, &["/api/v1/nodes", "/api/v1/namespaces", "/api/v1/namespaces/${ns}", "/apis/example.com/v1/things", "/apis/apps/v1/namespaces/${ns}/none"])})
        }
        _ => {
            json!({"method": "PATCH", "path": format!("{core}/pods/x/status"), "type": "application/merge-patch+json", "body": {}})
        }
    }
}

fn review(rng: &mut Rng) -> Value {
    let attributes = json!({"namespace": *pick(rng, &["${ns}", "", "x"]), "verb": *pick(rng, VERBS), "group": *pick(rng, GROUPS),
        "resource": *pick(rng, &["pods", "configmaps", "secrets", "*", ""]), "subresource": *pick(rng, &["", "", "log", "status"]), "name": *pick(rng, &["", "x"])});
    let mut spec = if rng.u8(..5) == 0 {
        json!({"nonResourceAttributes": {"path": *pick(rng, &["/healthz", "/x", ""]), "verb": "get"}})
    } else {
        json!({"resourceAttributes": attributes})
    };
    if rng.u8(..12) == 0 {
        spec = json!({});
    }
    let authorization = "/apis/authorization.k8s.io/v1";
    match rng.u8(..6) {
        0 => {
            json!({"method": "POST", "path": format!("{authorization}/selfsubjectaccessreviews"), "body": {"spec": spec}, "headers": {"Impersonate-User": *pick(rng, &USERS[..2])}})
        }
        1 => {
            json!({"method": "POST", "path": format!("{authorization}/selfsubjectrulesreviews"), "body": {"spec": {"namespace": *pick(rng, &["${ns}", ""])}},
            "headers": {"Impersonate-User": *pick(rng, &USERS[..2])}})
        }
        2 => {
            json!({"method": "POST", "path": "/apis/authentication.k8s.io/v1/selfsubjectreviews", "body": {}, "headers": {"Impersonate-User": *pick(rng, &USERS[..2])}})
        }
        3 => {
            spec["user"] = json!(*pick(rng, USERS));
            json!({"method": "POST", "path": format!("{authorization}/namespaces/${{ns}}/localsubjectaccessreviews"), "body": {"spec": spec}})
        }
        _ => {
            spec["user"] = json!(*pick(rng, USERS));
            if rng.bool() {
                spec["groups"] = json!([*pick(rng, MEMBERS)]);
            }
            json!({"method": "POST", "path": format!("{authorization}/subjectaccessreviews"), "body": {"spec": spec}})
        }
    }
}

//! Rejections by access control, admission and field ownership.

use super::*;

#[test]
fn rbac_deny() {
    let alice = |what: &'static str, method, path: &'static str, message: &str, details: Value| {
        row(what, method, path).by("alice").is(403, "Forbidden", message, details)
    };
    check(&[
        alice(
            "RBAC deny",
            Method::Get,
            "/api/v1/namespaces/default/configmaps/a",
            "configmaps \"a\" is forbidden: User \"alice\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"default\"",
            details_of("a", "configmaps"),
        ),
        alice(
            "RBAC deny, cluster",
            Method::Get,
            "/api/v1/nodes",
            "nodes is forbidden: User \"alice\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
            json!({ "kind": "nodes" }),
        ),
        alice(
            "RBAC deny, subresource",
            Method::Put,
            "/apis/apps/v1/namespaces/default/deployments/d/status",
            "deployments.apps \"d\" is forbidden: User \"alice\" cannot update resource \"deployments/status\" in API group \"apps\" in the namespace \"default\"",
            json!({ "name": "d", "group": "apps", "kind": "deployments" }),
        ),
        alice(
            "RBAC deny, non-resource",
            Method::Get,
            "/metrics",
            "forbidden: User \"alice\" cannot get path \"/metrics\"",
            json!({}),
        ),
    ]);
}

#[test]
fn admission_deny() {
    check(&[row("admission deny (generic)", Method::Delete, "/api/v1/namespaces/default").is(
        403,
        "Forbidden",
        "namespaces \"default\" is forbidden: this namespace may not be deleted",
        details_of("default", "namespaces"),
    )]);
}

#[test]
fn method_not_allowed() {
    check(&[row("405", Method::Post, "/api/v1/namespaces/default/configmaps/a").json(&map("a")).is(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        json!({}),
    )]);
}

#[test]
fn apply_conflict() {
    const A: &str = "/api/v1/namespaces/default/configmaps/b?fieldManager=me";
    let applied = |data: &Value| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b" }, "data": data });
    let cause = |field: &str, message: &str| json!({ "reason": "FieldManagerConflict", "field": field, "message": message });
    let mut server = prepared();
    let first = "/api/v1/namespaces/default/configmaps/b?fieldManager=mgr";
    let created = row("", Method::Patch, first)
        .of_type(APPLY)
        .json(&applied(&json!({ "a": "1", "b": "1" })))
        .ask(&mut server);
    assert_eq!(created.code, 201);
    row("apply conflict", Method::Patch, A)
        .of_type(APPLY)
        .json(&applied(&json!({ "a": "2" })))
        .is(
            409,
            "Conflict",
            "Apply failed with 1 conflict: conflict with \"mgr\": .data.a",
            json!({ "causes": [cause(".data.a", "conflict with \"mgr\"")] }),
        )
        .check(&mut server);
    row("apply conflict, several", Method::Patch, A).of_type(APPLY).json(&applied(&json!({ "a": "2", "b": "2" })))
        .is(409, "Conflict", "Apply failed with 2 conflicts: conflicts with \"mgr\":\n- .data.a\n- .data.b",
            json!({ "causes": [cause(".data.a", "conflict with \"mgr\""), cause(".data.b", "conflict with \"mgr\"")] }))
        .check(&mut server);
    let updated = row("", Method::Patch, "/api/v1/namespaces/default/configmaps/b?fieldManager=other")
        .of_type(MERGE)
        .json(&json!({ "data": { "c": "1" } }))
        .ask(&mut server);
    assert_eq!(updated.code, 200);
    let body = row("apply conflict with an update", Method::Patch, A)
        .of_type(APPLY)
        .json(&applied(&json!({ "c": "2" })))
        .ask(&mut server)
        .json()
        .unwrap();
    let text = body["message"].as_str().unwrap();
    assert!(text.starts_with("Apply failed with 1 conflict: conflict with \"other\" using v1"), "{text}");
    check(&[
        row("apply with uid of a missing object", Method::Patch, "/apis/ex.io/v1/cvs/none?fieldManager=me").of_type(APPLY)
            .json(&json!({ "apiVersion": "ex.io/v1", "kind": "CV", "metadata": { "name": "none", "uid": "123" } }))
            .is(409, "Conflict",
                "Operation cannot be fulfilled on cvs.ex.io \"none\": uid mismatch: the provided object specified uid 123, and no existing object was found",
                json!({ "name": "none", "group": "ex.io", "kind": "cvs" })),
        row("apply: field not in schema", Method::Patch, "/apis/ex.io/v1/cvs/version?fieldManager=me").of_type(APPLY)
            .json(&cv("version", &json!({ "zz": 1 })))
            .is(500, "", "failed to create typed patch object (/version; ex.io/v1, Kind=CV): .spec.zz: field not declared in schema", Value::Null),
        row("apply: wrong type", Method::Patch, "/apis/ex.io/v1/cvs/version?fieldManager=me").of_type(APPLY)
            .json(&cv("version", &json!({ "n": "x" })))
            .is(500, "", "failed to create typed patch object (/version; ex.io/v1, Kind=CV): .spec.n: expected numeric (int or float), got string", Value::Null),
    ]);
}

#[test]
fn eviction_blocked() {
    let mut server = prepared();
    let pod = json!({ "metadata": { "name": "p", "labels": { "a": "b" } }, "spec": { "nodeName": "n",
        "containers": [{ "name": "c", "image": "i" }] } });
    let budget = json!({ "metadata": { "name": "b" }, "spec": { "minAvailable": 1,
        "selector": { "matchLabels": { "a": "b" } } } });
    let ready =
        json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
    let pods = "/api/v1/namespaces/default/pods";
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    assert_eq!(row("", Method::Post, pods).json(&pod).ask(&mut server).code, 201);
    assert_eq!(row("", Method::Post, budgets).json(&budget).ask(&mut server).code, 201);
    let status = "/api/v1/namespaces/default/pods/p/status";
    assert_eq!(row("", Method::Patch, status).of_type(MERGE).json(&ready).ask(&mut server).code, 200);
    let seen = json!({ "status": { "observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
        "disruptionsAllowed": 0 } });
    let path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status";
    assert_eq!(row("", Method::Patch, path).of_type(MERGE).json(&seen).ask(&mut server).code, 200);
    let reply = row("eviction blocked", Method::Post, "/api/v1/namespaces/default/pods/p/eviction")
        .json(&json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p" } }))
        .ask(&mut server);
    let body = reply.json().unwrap();
    assert_eq!(body["message"], "Cannot evict pod as it would violate the pod's disruption budget.");
    assert_eq!((reply.code, body["reason"].as_str()), (429, Some("TooManyRequests")));
    assert_eq!(body["details"]["causes"][0]["reason"], "DisruptionBudget");
}

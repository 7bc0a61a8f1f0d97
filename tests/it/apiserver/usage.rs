//! The counts of requests, and the use of the rules of users' roles.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Body, Impersonate, Method, Request, RuleUse, UserAccess};
use windtunnel_core::{Identity, Resource, Write, resources};

use super::kinds::REQUEST;
use super::requests::{now, server};

const ROLES: Resource = Resource::namespaced("rbac.authorization.k8s.io", "v1", "Role", "roles");
const ROLE_BINDINGS: Resource =
    Resource::namespaced("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings");

/// A server whose user `mine` has these rules in the namespace `default`.
fn with_rules(rules: &Value) -> ApiServer {
    let mut server = server(36);
    let metadata = json!({ "name": "mine", "namespace": "default" });
    let role = json!({ "metadata": metadata, "rules": rules });
    let binding = json!({ "metadata": metadata,
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "mine" },
        "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mine" }] });
    for (resource, object) in [(&ROLES, role), (&ROLE_BINDINGS, binding)] {
        server.write(&Write::create(resource, object), &Identity::admin(), now()).unwrap();
    }
    server.count_requests();
    server
}

fn get(server: &mut ApiServer, path: &str) -> u16 {
    let mine = Identity { user: "mine".to_owned(), ..Identity::anonymous() };
    server.handle(&Request::new(Method::Get, path, &mine), now()).code
}

fn report(server: &mut ApiServer) -> UserAccess {
    server.access_report().into_iter().find(|user| user.user == "mine").unwrap()
}

#[test]
fn rules_are_used_by_allowed_requests_and_permissions_are_listed() {
    let mut server = with_rules(&json!([
        { "apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a", "b"], "verbs": ["get", "delete"] },
        { "apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"] },
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["bind", "get"] },
    ]));
    let namespace = "/api/v1/namespaces/default";
    assert_eq!(get(&mut server, &format!("{namespace}/pods")), 200);
    assert_eq!(get(&mut server, &format!("{namespace}/pods?watch=true")), 200);
    assert_eq!(get(&mut server, &format!("{namespace}/configmaps/a")), 404);
    assert_eq!(get(&mut server, "/apis/apps/v1/namespaces/default/deployments"), 200);
    for _ in 0..2 {
        assert_eq!(get(&mut server, &format!("{namespace}/secrets")), 403);
    }
    assert_eq!(get(&mut server, "/api/v1/pods"), 403, "the role is for one namespace");

    let user = report(&mut server);
    assert_eq!((user.requests, user.is_privileged), (7, false));
    let refused: Vec<_> =
        user.refused.iter().map(|asked| (&*asked.resource, &*asked.namespace, asked.refused)).collect();
    assert_eq!(refused, [("pods", "", 1), ("secrets", "default", 2)]);
    let texts = |rule: &RuleUse| (rule.requests, rule.used.join(", "), rule.unused.join(", "));
    let found: Vec<_> = user.rules.iter().map(texts).collect();
    let expected = [
        (3, "get configmaps, list pods, watch pods", "get pods, list configmaps, watch configmaps"),
        (1, "get configmaps", "get configmaps b, delete configmaps a, delete configmaps b"),
        (1, "list deployments.apps", ""),
        (0, "", "bind roles.rbac.authorization.k8s.io, get roles.rbac.authorization.k8s.io"),
    ];
    assert_eq!(found, expected.map(|(count, used, unused)| (count, used.to_owned(), unused.to_owned())));
    let first = &user.rules[0];
    assert_eq!((&*first.binding, &*first.role), ("RoleBinding/default/mine", "Role/default/mine"));
}

#[test]
fn nothing_is_counted_before_it_is_asked_for() {
    let mut server = server(36);
    server
        .write(
            &Write::create(&resources::NAMESPACES, json!({ "metadata": { "name": "a" } })),
            &Identity::admin(),
            now(),
        )
        .unwrap();
    assert!(server.request_counts().is_empty() && server.access_report().is_empty());
    server.count_requests();
    assert_eq!(get(&mut server, "/version"), 200);
    let counts = server.request_counts();
    assert_eq!((counts.len(), &*counts[0].path, &*counts[0].verb), (1, "/version", "get"));
}

/// A server whose user `mine` has these rules in the whole cluster, with a request for a certificate of each signer.
fn with_signers(rules: &Value, signers: &[&str]) -> ApiServer {
    let mut server = server(36);
    let role = json!({ "metadata": { "name": "mine" }, "rules": rules });
    let binding = json!({ "metadata": { "name": "mine" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mine" },
        "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mine" }] });
    for (resource, object) in
        [(&resources::CLUSTER_ROLES, role), (&resources::CLUSTER_ROLE_BINDINGS, binding)]
    {
        server.write(&Write::create(resource, object), &Identity::admin(), now()).unwrap();
    }
    for (index, signer) in signers.iter().enumerate() {
        let request = json!({ "metadata": { "name": format!("c{index}") },
            "spec": { "signerName": signer, "usages": ["client auth"], "request": REQUEST } });
        server
            .write(
                &Write::create(&resources::CERTIFICATE_SIGNING_REQUESTS, request),
                &Identity::admin(),
                now(),
            )
            .unwrap();
    }
    server.count_requests();
    server
}

/// Sends a merge patch as the user `mine`.
fn patch(server: &mut ApiServer, path: &str, body: &Value) -> u16 {
    let mine = Identity { user: "mine".to_owned(), ..Identity::anonymous() };
    let request = Request {
        content_type: "application/merge-patch+json".into(),
        body: Body::Bytes(body.to_string().into_bytes().into()),
        ..Request::new(Method::Patch, path, &mine)
    };
    server.handle(&request, now()).code
}

#[test]
fn permissions_that_admission_checks_count_as_used_or_refused() {
    let mut server = with_signers(
        &json!([
            { "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests/approval", "certificatesigningrequests/status"], "verbs": ["patch"] },
            { "apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": ["example.com/*"], "verbs": ["approve", "sign"] },
            { "apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": ["a.com/b"], "verbs": ["sign", "attest"] },
            { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create", "escalate", "bind"] },
        ]),
        &["example.com/x", "a.com/b", "c.com/d"],
    );
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let approved =
        json!({ "status": { "conditions": [{ "type": "Approved", "status": "True", "reason": "r" }] } });
    let failed =
        json!({ "status": { "conditions": [{ "type": "Failed", "status": "True", "reason": "r" }] } });
    assert_eq!(patch(&mut server, &format!("{path}/c0/approval"), &approved), 200);
    assert_eq!(patch(&mut server, &format!("{path}/c1/status"), &failed), 200);
    for _ in 0..2 {
        assert_eq!(patch(&mut server, &format!("{path}/c2/approval"), &approved), 403);
    }
    let mine = Identity { user: "mine".to_owned(), ..Identity::anonymous() };
    let role = json!({ "metadata": { "name": "strong", "namespace": "default" },
        "rules": [{ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] }] });
    server.write(&Write::create(&ROLES, role), &mine, now()).unwrap();

    let user = report(&mut server);
    assert_eq!(user.requests, 5, "the permissions that admission checks are no requests");
    let found: Vec<_> =
        user.rules.iter().map(|rule| (rule.used.join(", "), rule.unused.join(", "))).collect();
    let requests = "certificatesigningrequests";
    let expected = [
        (
            format!(
                "patch {requests}/approval.certificates.k8s.io, patch {requests}/status.certificates.k8s.io"
            ),
            String::new(),
        ),
        (
            "approve signers.certificates.k8s.io".to_owned(),
            "sign signers.certificates.k8s.io example.com/*".to_owned(),
        ),
        ("sign signers.certificates.k8s.io".to_owned(), String::new()),
        (
            "create roles.rbac.authorization.k8s.io, escalate roles.rbac.authorization.k8s.io".to_owned(),
            "bind roles.rbac.authorization.k8s.io".to_owned(),
        ),
    ];
    assert_eq!(found, expected);
    let refused: Vec<_> = user
        .refused
        .iter()
        .map(|asked| (&*asked.verb, &*asked.resource, &*asked.name, asked.refused))
        .collect();
    assert_eq!(refused, [("approve", "signers", "c.com/d", 2)]);
}

#[test]
fn impersonation_counts_for_the_client_and_the_request_for_the_other_user() {
    let mut server = with_signers(
        &json!([{ "apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"] }]),
        &[],
    );
    let mine = Identity { user: "mine".to_owned(), ..Identity::anonymous() };
    let jane = Impersonate { user: "jane".to_owned(), ..Impersonate::default() };
    let request = Request::new(Method::Get, "/version", &mine).with_impersonation(jane);
    assert_eq!(server.handle(&request, now()).code, 200);
    let user = report(&mut server);
    let rule = &user.rules[0];
    assert_eq!((user.requests, rule.requests, rule.used.join(", ")), (0, 1, "impersonate users".to_owned()));
    assert_eq!(rule.unused.join(", "), "impersonate groups");
    assert_eq!(server.access_report().iter().find(|user| user.user == "jane").unwrap().requests, 1);
}

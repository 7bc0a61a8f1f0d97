//! The counts of requests, and the use of the rules of users' roles.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Request, RuleUse, UserAccess};
use windtunnel_core::{Identity, Resource, Write, resources};

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
        (0, "", "get roles.rbac.authorization.k8s.io"),
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

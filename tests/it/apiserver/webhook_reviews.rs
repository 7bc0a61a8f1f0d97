//! What mutating webhooks may answer, and what webhooks are asked about subresources. The texts and the order of checks are
//! those of a kube-apiserver 1.36.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Reply, Request};
use windtunnel_core::{Identity, Resource, Write, resources};

use super::requests::now;
use super::webhooks::{CallLog, MUTATING, VALIDATING, body, configure, map, patched, post, server, webhook};

/// The message about a ConfigMap that a webhook answers with this response.
fn message(response: &Value) -> String {
    let response = response.clone();
    let (mut server, _) = server(move |_| Ok(response.clone()));
    configure(&mut server, &MUTATING, &[webhook("a", &json!({}))]);
    let reply = post(&mut server, "", &map("m"));
    assert_eq!(reply.code, 500);
    body(&reply)["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_webhook_cannot_change_the_kind_of_an_object() {
    let change = |field: &str, value: &str| {
        message(&patched(&json!([{ "op": "replace", "path": format!("/{field}"), "value": value }])))
    };
    let start = "Internal error occurred: ";
    let expected = "converting (v1.Namespace) to (core.ConfigMap): unknown conversion";
    assert_eq!(change("kind", "Namespace"), format!("{start}{expected}"));
    let expected =
        "no kind \"Cat\" is registered for version \"v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"";
    assert_eq!(change("kind", "Cat"), format!("{start}{expected}"));
}

#[test]
fn a_patch_that_is_no_json_is_an_error_with_its_place() {
    let patch = json!({ "allowed": true, "patchType": "JSONPatch", "patch": "bm8=" });
    let expected = "Internal error occurred: failed calling webhook \"a.example.io\": received undecodable patch in \
                    webhook response: invalid character 'o' in literal null (expecting 'u')";
    assert_eq!(message(&patch), expected);
}

#[test]
fn warnings_that_no_header_can_have_are_dropped() {
    let (mut server, _) = server(|_| {
        Ok(json!({ "allowed": true, "warnings": ["one", "", "two\nlines", "bell\u{7}", "last"] }))
    });
    configure(&mut server, &VALIDATING, &[webhook("a", &json!({}))]);
    assert_eq!(post(&mut server, "", &map("m")).warnings, ["one", "last"]);
}

/// A server whose webhook of a kind denies all writes of these resources, with a pod, an account and a Deployment from before.
fn denying(kind: &Resource, resources: &[&str]) -> (ApiServer, CallLog) {
    let (mut server, calls) =
        server(|_| Ok(json!({ "allowed": false, "status": { "message": "denied", "code": 418 } })));
    let pod = json!({ "metadata": { "name": "p", "namespace": "default" },
        "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let account = json!({ "metadata": { "name": "s", "namespace": "default" } });
    let labels = json!({ "a": "b" });
    let deployment = json!({ "metadata": { "name": "d", "namespace": "default" }, "spec": {
        "replicas": 1, "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": pod["spec"] } } });
    for (resource, object) in [
        (&resources::PODS, pod),
        (&resources::SERVICE_ACCOUNTS, account),
        (&resources::DEPLOYMENTS, deployment),
    ] {
        server.write(&Write::create(resource, object), &Identity::admin(), now()).unwrap();
    }
    let rules =
        json!([{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources }]);
    configure(&mut server, kind, &[webhook("a", &json!({ "rules": rules }))]);
    (server, calls)
}

fn send(server: &mut ApiServer, method: Method, path: &str, body: &Value) -> Reply {
    server.handle(&Request::new(method, path, &Identity::admin()).with_body(body), now())
}

#[test]
fn an_object_of_a_subresource_is_checked_before_validating_webhooks_and_the_named_object_after_them() {
    let (mut server, calls) = denying(&VALIDATING, &["pods/binding", "serviceaccounts/token"]);
    let mut code = |path: &str, body: &Value| send(&mut server, Method::Post, path, body).code;
    let binding = |pod: &str, node: &str| json!({ "metadata": { "name": pod }, "target": { "name": node } });
    let path = "/api/v1/namespaces/default/pods/p/binding";
    assert_eq!(code(path, &binding("q", "n")), 400, "the name differs from the path");
    assert_eq!(code(path, &binding("p", "")), 500, "there is no node");
    assert_eq!(calls.lock().unwrap().len(), 0);
    assert_eq!(code(path, &binding("p", "n")), 418);
    let missing = "/api/v1/namespaces/default/pods/none/binding";
    assert_eq!(code(missing, &binding("none", "n")), 418, "before the pod is read");
    assert_eq!(calls.lock().unwrap().len(), 2);
    let token = |name: &str| format!("/api/v1/namespaces/default/serviceaccounts/{name}/token");
    let short = json!({ "spec": { "expirationSeconds": 1 } });
    assert_eq!(code(&token("s"), &short), 422);
    assert_eq!(code(&token("none"), &json!({ "spec": {} })), 404, "the account is read first");
    assert_eq!(calls.lock().unwrap().len(), 2);
    assert_eq!(code(&token("s"), &json!({ "spec": {} })), 418);
    assert_eq!(calls.lock().unwrap().len(), 3);
}

#[test]
fn the_review_of_a_scale_shows_the_owners_of_the_number_of_replicas_alone() {
    let (mut server, calls) = denying(&MUTATING, &["deployments/scale"]);
    let path = "/apis/apps/v1/namespaces/default/deployments/d/scale?fieldManager=tester";
    let scale = json!({ "metadata": { "name": "d" }, "spec": { "replicas": 3 } });
    assert_eq!(send(&mut server, Method::Put, path, &scale).code, 418);
    let calls = calls.lock().unwrap();
    let request = &calls[0].review["request"];
    assert_eq!(request["kind"], json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" }));
    let replicas = json!({ "f:spec": { "f:replicas": {} } });
    let owners = |object: &str| {
        let all = request[object]["metadata"]["managedFields"].as_array().unwrap().clone();
        all.into_iter().map(|one| (one["manager"].clone(), one["fieldsV1"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(owners("object"), [(json!("tester"), replicas.clone())]);
    let before = owners("oldObject");
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].1, replicas);
    assert_eq!(
        (&request["oldObject"]["spec"]["replicas"], &request["object"]["spec"]["replicas"]),
        (&json!(1), &json!(3))
    );
}

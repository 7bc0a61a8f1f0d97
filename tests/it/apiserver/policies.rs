//! Policies in CEL and their bindings: what they deny, warn of and are refused for.

use serde_json::{Value, json};
use windtunnel::apiserver::{ApiServer, Body, HookCall, Method, Reply, Request};
use windtunnel::model::Identity;

use super::requests::{now, server};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

fn send(server: &mut ApiServer, method: Method, path: &str, body: &Value) -> Reply {
    let admin = Identity::admin();
    let mut request = Request::new(method, path, &admin).with_content_type("application/json");
    request.body = Body::Bytes(body.to_string().into());
    server.handle(&request, now())
}

fn message(reply: &Reply) -> String {
    reply.json().unwrap()["message"].as_str().unwrap_or_default().to_owned()
}

/// A server with a policy about ConfigMaps that is bound.
fn with_policy(spec: &Value, binding: &Value) -> ApiServer {
    let mut server = server(36);
    let mut policy = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": "p" }, "spec": { "failurePolicy": "Fail", "matchConstraints": { "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"] }] } } });
    merge(&mut policy["spec"], spec);
    let mut bound = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": "b" }, "spec": { "policyName": "p", "validationActions": ["Deny"] } });
    merge(&mut bound["spec"], binding);
    for (plural, object) in
        [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", bound)]
    {
        let reply = send(&mut server, Method::Post, &format!("{GROUP}/{plural}"), &object);
        assert_eq!(reply.code, 201, "{}", message(&reply));
    }
    server
}

fn merge(into: &mut Value, from: &Value) {
    for (name, value) in from.as_object().into_iter().flatten() {
        into[name] = value.clone();
    }
}

fn create(server: &mut ApiServer, name: &str, data: &Value) -> Reply {
    let object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data });
    send(server, Method::Post, "/api/v1/namespaces/default/configmaps", &object)
}

#[test]
fn a_bound_policy_denies_with_its_message_and_reason() {
    let validations = json!([
        { "expression": "!has(object.data.bad)", "message": "deny bad" },
        { "expression": "!has(object.data.secret)", "reason": "Forbidden", "messageExpression": "'no ' + object.metadata.name" },
        { "expression": "object.data.all(k, k != 'odd')" },
    ]);
    let mut server = with_policy(&json!({ "validations": validations }), &json!({}));
    for (data, code, why) in [
        (json!({ "bad": "1" }), 422, "deny bad"),
        (json!({ "secret": "1" }), 403, "no c"),
        (json!({ "odd": "1" }), 422, "failed expression: object.data.all(k, k != 'odd')"),
    ] {
        let reply = create(&mut server, "c", &data);
        let text = format!(
            "configmaps \"c\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {why}"
        );
        assert_eq!((reply.code, message(&reply)), (code, text));
    }
    assert_eq!(create(&mut server, "c", &json!({ "fine": "1" })).code, 201);
    // A policy is forgotten as soon as its binding goes.
    send(&mut server, Method::Delete, &format!("{GROUP}/validatingadmissionpolicybindings/b"), &json!({}));
    assert_eq!(create(&mut server, "d", &json!({ "bad": "1" })).code, 201);
}

#[test]
fn warnings_do_not_stop_a_write() {
    let spec = json!({ "validations": [{ "expression": "false", "message": "deny label" }] });
    let mut server = with_policy(&spec, &json!({ "validationActions": ["Warn", "Audit"] }));
    let reply = create(&mut server, "c", &json!({}));
    let text = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': deny label";
    assert_eq!((reply.code, reply.warnings), (201, vec![text.to_owned()]));
}

#[test]
fn conditions_variables_and_the_request_are_at_hand() {
    let spec = json!({
        "matchConditions": [{ "name": "named", "expression": "request.name.startsWith('x')" }],
        "variables": [{ "name": "count", "expression": "size(object.data)" },
            { "name": "many", "expression": "variables.count > 1" }],
        "validations": [
            { "expression": "!variables.many", "messageExpression": "'found ' + string(variables.count)" },
            { "expression": "namespaceObject.metadata.name == request.namespace && request.userInfo.username != ''" },
            { "expression": "oldObject == null || request.operation == 'UPDATE'" },
        ],
    });
    let mut server = with_policy(&spec, &json!({}));
    assert_eq!(create(&mut server, "a", &json!({ "a": "1", "b": "2" })).code, 201);
    assert_eq!(create(&mut server, "x", &json!({ "a": "1" })).code, 201);
    let reply = create(&mut server, "xx", &json!({ "a": "1", "b": "2" }));
    assert!(message(&reply).ends_with("denied request: found 2"), "{}", message(&reply));
}

#[test]
fn errors_deny_unless_they_are_to_be_ignored() {
    for (policy, code) in [("Fail", 422), ("Ignore", 201)] {
        let spec =
            json!({ "failurePolicy": policy, "validations": [{ "expression": "object.data.x.y == 1" }] });
        let mut server = with_policy(&spec, &json!({}));
        let reply = create(&mut server, "c", &json!({}));
        assert_eq!(reply.code, code, "{}", message(&reply));
        if code == 422 {
            let why = "expression 'object.data.x.y == 1' resulted in error: no such key: data";
            assert!(message(&reply).ends_with(why), "{}", message(&reply));
        }
    }
}

#[test]
fn parameters_are_objects_that_the_binding_names() {
    let spec = json!({ "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "matchConditions": [{ "name": "other", "expression": "object.metadata.name != 'limits'" }],
        "validations": [{ "expression": "size(object.data) <= int(params.data.most)" }] });
    let binding = json!({ "paramRef": { "name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny" } });
    let mut server = with_policy(&spec, &binding);
    let reply = create(&mut server, "c", &json!({ "a": "1" }));
    let why =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert!(message(&reply).ends_with(why), "{}", message(&reply));
    let limits = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "limits" }, "data": { "most": "1" } });
    send(&mut server, Method::Delete, &format!("{GROUP}/validatingadmissionpolicybindings/b"), &json!({}));
    assert_eq!(send(&mut server, Method::Post, "/api/v1/namespaces/default/configmaps", &limits).code, 201);
    let bound = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": "b" }, "spec": { "policyName": "p", "validationActions": ["Deny"], "paramRef": binding["paramRef"] } });
    send(&mut server, Method::Post, &format!("{GROUP}/validatingadmissionpolicybindings"), &bound);
    assert_eq!(create(&mut server, "c", &json!({ "a": "1" })).code, 201);
    assert_eq!(create(&mut server, "d", &json!({ "a": "1", "b": "2" })).code, 422);
}

#[test]
fn policies_whose_expressions_do_not_compile_are_refused() {
    let mut server = server(36);
    let policy = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": "p" }, "spec": { "matchConstraints": { "resourceRules": [{ "apiGroups": ["*"],
            "apiVersions": ["*"], "operations": ["*"], "resources": ["*"] }] },
            "validations": [{ "expression": "nope == 1" }, { "expression": "'text'" }] } });
    let reply = send(&mut server, Method::Post, &format!("{GROUP}/validatingadmissionpolicies"), &policy);
    assert_eq!(reply.code, 422);
    let text = message(&reply);
    assert!(text.contains("spec.validations[0].expression: Invalid value: \"nope == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')"), "{text}");
    assert!(
        text.contains("spec.validations[1].expression: Invalid value: \"'text'\": must evaluate to bool"),
        "{text}"
    );
}

#[test]
fn webhooks_are_asked_only_about_writes_that_meet_their_conditions() {
    let denied = |call: &HookCall| {
        let response = json!({ "uid": call.review["request"]["uid"], "allowed": false });
        Ok(json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response }))
    };
    let mut server = ApiServer::builder().hooks(denied).build(now());
    let webhook = json!({ "name": "w.example.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": { "url": "https://w.example.io" }, "matchConditions": [
            { "name": "not-free", "expression": "object.metadata.name != 'free'" },
            { "name": "has-data", "expression": "object.data.size() > 0" } ],
        "rules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }] });
    let configuration = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": "c" }, "webhooks": [webhook] });
    let reply =
        send(&mut server, Method::Post, &format!("{GROUP}/validatingwebhookconfigurations"), &configuration);
    assert_eq!(reply.code, 201, "{}", message(&reply));
    let full = json!({ "a": "1" });
    assert_eq!(create(&mut server, "free", &full).code, 201);
    assert_eq!(
        message(&create(&mut server, "bound", &full)),
        "admission webhook \"w.example.io\" denied the request without explanation"
    );
    let text = "configmaps \"none\" is forbidden: expression 'object.data.size() > 0' resulted in error: no such key: data";
    assert_eq!(message(&create(&mut server, "none", &json!({}))), text);
}

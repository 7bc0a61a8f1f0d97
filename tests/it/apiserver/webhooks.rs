//! Admission webhooks: when they are called, what they receive, and what their answers cause.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, HookCall, HookError, Method, Reply, ReplyBody, Request};
use windtunnel_core::{Identity, Resource, Write, resources};

use super::requests::now;

pub(super) const VALIDATING: Resource = Resource::cluster(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
);
pub(super) const MUTATING: Resource = Resource::cluster(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
);

/// The calls of a webhook.
pub(super) type CallLog = Arc<Mutex<Vec<HookCall>>>;

/// A server whose webhooks answer by this function, from a request to a response without its uid.
pub(super) fn server(
    answer: impl Fn(&Value) -> Result<Value, HookError> + Send + Sync + 'static,
) -> (ApiServer, CallLog) {
    let call_log = CallLog::default();
    let log = Arc::clone(&call_log);
    let hook = move |call: &HookCall| {
        log.lock().unwrap().push(call.clone());
        let mut response = answer(&call.review["request"])?;
        response["uid"] = call.review["request"]["uid"].clone();
        Ok(json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response }))
    };
    (ApiServer::builder().hooks(hook).build(now()), call_log)
}

/// A webhook for ConfigMaps, with some fields replaced.
pub(super) fn webhook(name: &str, changes: &Value) -> Value {
    let mut webhook = json!({
        "name": format!("{name}.example.io"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": { "service": { "namespace": "ns", "name": name, "path": "/check" } },
        "rules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
    });
    for (field, value) in changes.as_object().unwrap() {
        webhook[field] = value.clone();
    }
    webhook
}

pub(super) fn configure(server: &mut ApiServer, kind: &Resource, webhooks: &[Value]) -> Value {
    let body = json!({ "metadata": { "name": "hooks" }, "webhooks": webhooks });
    server.write(&Write::create(kind, body), &Identity::admin(), now()).unwrap().to_value()
}

pub(super) fn post(server: &mut ApiServer, query: &str, body: &Value) -> Reply {
    let path = format!("/api/v1/namespaces/default/configmaps?{query}");
    server.handle(&Request::new(Method::Post, &path, &Identity::admin()).with_body(body), now())
}

pub(super) fn body(reply: &Reply) -> Value {
    match &reply.body {
        ReplyBody::Object(object) => object.to_value(),
        ReplyBody::Value(value) => value.clone(),
        _ => panic!("no object"),
    }
}

pub(super) fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "a": "1" } })
}

pub(super) fn patched(patch: &Value) -> Value {
    json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch.to_string()) })
}

#[test]
fn a_webhook_configuration_gets_defaults_and_is_validated() {
    let (mut server, _) = server(|_| Ok(json!({ "allowed": true })));
    let stored = configure(&mut server, &MUTATING, &[webhook("a", &json!({}))]);
    let hook = &stored["webhooks"][0];
    for (pointer, value) in [
        ("/failurePolicy", json!("Fail")),
        ("/matchPolicy", json!("Equivalent")),
        ("/reinvocationPolicy", json!("Never")),
        ("/timeoutSeconds", json!(10)),
        ("/namespaceSelector", json!({})),
        ("/rules/0/scope", json!("*")),
        ("/clientConfig/service/port", json!(443)),
    ] {
        assert_eq!(hook.pointer(pointer), Some(&value), "{pointer}");
    }
    let bad = json!({ "metadata": { "name": "bad" }, "webhooks": [webhook("b", &json!({
        "name": "b", "sideEffects": "Some", "timeoutSeconds": 31, "admissionReviewVersions": [] }))] });
    let rejection = server.write(&Write::create(&VALIDATING, bad), &Identity::admin(), now()).unwrap_err();
    assert_eq!(
        rejection.message,
        "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"bad\" is invalid: [webhooks[0].name: Invalid \
         value: \"b\": should be a domain with at least three segments separated by dots, webhooks[0].sideEffects: \
         Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\", webhooks[0].timeoutSeconds: \
         Invalid value: 31: the timeout value must be between 1 and 30 seconds, \
         webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1]"
    );
}

#[test]
fn an_admission_review_contains_user_operation_and_object() {
    let (mut server, call_log) = server(|_| Ok(json!({ "allowed": true })));
    configure(&mut server, &VALIDATING, &[webhook("a", &json!({}))]);
    assert_eq!(post(&mut server, "", &map("m")).code, 201);
    let calls = call_log.lock().unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].url(), "https://a.ns.svc:443/check?timeout=10s");
    let request = &calls[0].review["request"];
    assert_eq!(request["operation"], "CREATE");
    assert_eq!(request["kind"], json!({ "group": "", "version": "v1", "kind": "ConfigMap" }));
    assert_eq!(request["resource"], json!({ "group": "", "version": "v1", "resource": "configmaps" }));
    assert_eq!((&request["namespace"], &request["name"]), (&json!("default"), &json!("m")));
    assert_eq!(request["userInfo"]["username"], "system:admin");
    assert_eq!(request["object"]["data"]["a"], "1");
    assert!(
        request["object"]["metadata"]["uid"].is_string(),
        "validating webhooks see the object as it will be stored"
    );
    assert_eq!((&request["oldObject"], &request["dryRun"]), (&Value::Null, &json!(false)));
    assert_eq!(request["options"], json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" }));
}

#[test]
fn reviews_of_updates_and_deletions_contain_the_old_object() {
    let (mut server, call_log) = server(|_| Ok(json!({ "allowed": true })));
    assert_eq!(post(&mut server, "", &map("m")).code, 201);
    configure(&mut server, &VALIDATING, &[webhook("a", &json!({}))]);
    let patch = json!({ "data": { "a": "2" } });
    let admin = Identity::admin();
    server.write(&Write::merge_patch(&resources::CONFIG_MAPS, "default", "m", patch), &admin, now()).unwrap();
    server.write(&Write::delete(&resources::CONFIG_MAPS, "default", "m"), &admin, now()).unwrap();
    let calls = call_log.lock().unwrap();
    let seen: Vec<_> = calls
        .iter()
        .map(|call| {
            let request = &call.review["request"];
            (
                request["operation"].clone(),
                request["object"]["data"]["a"].clone(),
                request["oldObject"]["data"]["a"].clone(),
            )
        })
        .collect();
    assert_eq!(seen, [(json!("UPDATE"), json!("2"), json!("1")), (json!("DELETE"), Value::Null, json!("2"))]);
}

#[test]
fn a_denial_is_returned_with_the_message_of_the_webhook() {
    for (status, code, reason, message) in [
        (json!(null), 400, None, "admission webhook \"a.example.io\" denied the request without explanation"),
        (
            json!({ "message": "no", "code": 403, "reason": "Forbidden" }),
            403,
            Some("Forbidden"),
            "admission webhook \"a.example.io\" denied the request: no",
        ),
        (
            json!({ "reason": "TooBad", "code": 200 }),
            400,
            Some("TooBad"),
            "admission webhook \"a.example.io\" denied the request: TooBad",
        ),
    ] {
        let denial = status.clone();
        let (mut server, _) = server(move |_| Ok(json!({ "allowed": false, "status": denial })));
        configure(&mut server, &VALIDATING, &[webhook("a", &json!({}))]);
        let reply = post(&mut server, "", &map("m"));
        let body = body(&reply);
        assert_eq!((reply.code, body["message"].as_str()), (code, Some(message)), "{status}");
        assert_eq!(body["reason"].as_str(), reason, "{status}");
        assert!(server.object(&resources::CONFIG_MAPS, "default", "m").is_none());
    }
}

#[test]
fn an_unreachable_webhook_rejects_the_request_unless_failures_are_ignored() {
    const URL: &str = "https://a.ns.svc:443/check?timeout=10s";
    let dead =
        |_: &Value| Err(HookError::no_response(URL, "dial tcp 10.0.0.1:443: connect: connection refused"));
    let (mut server, _) = server(dead);
    configure(&mut server, &VALIDATING, &[webhook("a", &json!({}))]);
    let reply = post(&mut server, "", &map("m"));
    let why = "failed calling webhook \"a.example.io\": failed to call webhook: Post \
               \"https://a.ns.svc:443/check?timeout=10s\": dial tcp 10.0.0.1:443: connect: connection refused";
    let body = body(&reply);
    assert_eq!((reply.code, &body["reason"]), (500, &json!("InternalError")));
    assert_eq!(body["message"], format!("Internal error occurred: {why}"));
    assert_eq!(body["details"], json!({ "causes": [{ "message": why }] }));
    let (mut server, call_log) = self::server(dead);
    configure(&mut server, &VALIDATING, &[webhook("a", &json!({ "failurePolicy": "Ignore" }))]);
    assert_eq!(post(&mut server, "", &map("m")).code, 201);
    assert_eq!(call_log.lock().unwrap().len(), 1);
}

#[test]
fn mutating_webhooks_change_objects_before_validation() {
    let (mut server, call_log) = server(|request| {
        assert_eq!(request["object"]["metadata"]["uid"], Value::Null, "the object has no uid yet");
        Ok(patched(&json!([{ "op": "add", "path": "/metadata/labels", "value": { "seen": "yes" } }])))
    });
    configure(&mut server, &MUTATING, &[webhook("a", &json!({}))]);
    let reply = post(&mut server, "", &json!({ "metadata": { "generateName": "m-" } }));
    let stored = body(&reply);
    assert_eq!((reply.code, &stored["metadata"]["labels"]), (201, &json!({ "seen": "yes" })));
    assert_eq!(
        call_log.lock().unwrap()[0].review["request"]["name"],
        Value::Null,
        "the server generates the name later"
    );
    let delete =
        Write::delete(&resources::CONFIG_MAPS, "default", stored["metadata"]["name"].as_str().unwrap());
    let rejection = server.write(&delete, &Identity::admin(), now()).unwrap_err();
    assert_eq!(
        rejection.message,
        "Internal error occurred: admission webhook \"a.example.io\" attempted to modify the object, which is not \
         supported for this operation"
    );
}

#[test]
fn a_webhook_is_called_again_if_another_changed_the_object_after_it() {
    let (mut server, call_log) = server(|request| {
        let labels = &request["object"]["metadata"]["labels"];
        if labels.is_null() {
            return Ok(patched(
                &json!([{ "op": "add", "path": "/metadata/labels", "value": { "one": "1" } }]),
            ));
        }
        if labels["two"].is_null() {
            return Ok(patched(&json!([{ "op": "add", "path": "/metadata/labels/two", "value": "2" }])));
        }
        Ok(json!({ "allowed": true }))
    });
    let reinvoked = json!({ "reinvocationPolicy": "IfNeeded" });
    configure(&mut server, &MUTATING, &[webhook("a", &reinvoked), webhook("b", &json!({}))]);
    assert_eq!(post(&mut server, "", &map("m")).code, 201);
    let names: Vec<String> =
        call_log.lock().unwrap().iter().map(|call| call.target.service.clone().unwrap().name).collect();
    assert_eq!(names, ["a", "b", "a"]);
}

#[test]
fn rules_and_selectors_decide_which_requests_a_webhook_gets() {
    let selector = json!({ "matchLabels": { "watched": "yes" } });
    let other =
        json!([{ "operations": ["UPDATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"] }]);
    let cluster = json!([{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"],
        "scope": "Cluster" }]);
    for (changes, labels, count) in [
        (json!({}), json!({}), 1),
        (json!({ "rules": other }), json!({}), 0),
        (json!({ "rules": cluster }), json!({}), 0),
        (json!({ "objectSelector": selector }), json!({}), 0),
        (json!({ "objectSelector": selector }), json!({ "watched": "yes" }), 1),
        (json!({ "namespaceSelector": selector }), json!({}), 0),
        (
            json!({ "namespaceSelector": { "matchExpressions": [
                { "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["default"] }] } }),
            json!({}),
            1,
        ),
    ] {
        let (mut server, call_log) = server(|_| Ok(json!({ "allowed": true })));
        configure(&mut server, &VALIDATING, &[webhook("a", &changes)]);
        let mut object = map("m");
        object["metadata"]["labels"] = labels;
        assert_eq!(post(&mut server, "", &object).code, 201);
        assert_eq!(call_log.lock().unwrap().len(), count, "{changes}");
    }
}

#[test]
fn warnings_are_returned_and_dry_runs_are_marked() {
    let (mut server, call_log) = server(|_| Ok(json!({ "allowed": true, "warnings": ["mind the gap"] })));
    configure(&mut server, &VALIDATING, &[webhook("a", &json!({}))]);
    let reply = post(&mut server, "dryRun=All", &map("m"));
    assert_eq!((reply.code, reply.warnings), (201, vec!["mind the gap".to_owned()]));
    assert_eq!(call_log.lock().unwrap()[0].review["request"]["dryRun"], true);
    assert!(server.object(&resources::CONFIG_MAPS, "default", "m").is_none());
}

#[test]
fn an_invalid_webhook_response_counts_as_a_failed_call() {
    let hook = |_: &HookCall| -> Result<Value, HookError> {
        Ok(json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": { "uid": "other", "allowed": true } }))
    };
    let mut server = ApiServer::builder().hooks(hook).build(now());
    configure(&mut server, &VALIDATING, &[webhook("a", &json!({}))]);
    let reply = post(&mut server, "", &map("m"));
    let message = body(&reply)["message"].as_str().unwrap().to_owned();
    let start = "Internal error occurred: failed calling webhook \"a.example.io\": received invalid webhook response: \
                 expected response.uid=\"";
    assert!(message.starts_with(start) && message.ends_with("\", got \"other\""), "{message}");
}

#[test]
fn webhook_configurations_are_exempt_and_removed_webhooks_are_not_called() {
    let everything =
        json!([{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"] }]);
    let (mut server, call_log) = server(|_| Ok(json!({ "allowed": false })));
    configure(&mut server, &VALIDATING, &[webhook("a", &json!({ "rules": everything }))]);
    assert_eq!(post(&mut server, "", &map("m")).code, 400);
    server.write(&Write::delete(&VALIDATING, "", "hooks"), &Identity::admin(), now()).unwrap();
    assert_eq!(post(&mut server, "", &map("m")).code, 201);
    assert_eq!(call_log.lock().unwrap().len(), 1);
}

//! ValidatingAdmissionPolicies and their bindings: denials, warnings and rejected policies.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Body, HookCall, Method, Reply, Request};
use windtunnel_core::Identity;

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

/// A server with a bound policy for ConfigMaps.
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
    // A policy has no effect without its binding.
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
fn expressions_can_use_variables_and_the_request() {
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
fn errors_deny_unless_the_failure_policy_is_ignore() {
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
fn the_binding_names_the_parameter_object() {
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
fn policies_with_expressions_that_do_not_compile_are_rejected() {
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
fn webhooks_are_called_only_for_writes_that_meet_their_match_conditions() {
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

#[test]
fn invalid_policies_are_rejected_with_all_their_errors() {
    let mut server = server(36);
    let mut rejected = |changes: &Value| {
        let mut policy = json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": { "name": "p" }, "spec": { "validations": [{ "expression": "true" }],
            "matchConstraints": { "resourceRules": [{ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
                "resources": ["*"] }] } } });
        merge(&mut policy["spec"], changes);
        let reply = send(&mut server, Method::Post, &format!("{GROUP}/validatingadmissionpolicies"), &policy);
        assert_eq!(reply.code, 422, "{changes}");
        let text = message(&reply);
        let start = "ValidatingAdmissionPolicy.admissionregistration.k8s.io \"p\" is invalid: ";
        text.strip_prefix(start).unwrap_or(&text).to_owned()
    };
    let must = "validations or auditAnnotations must contain at least one item";
    for (changes, text) in [
        (
            json!({ "validations": [] }),
            format!("[spec.validations: Required value: {must}, spec.auditAnnotations: Required value: {must}]"),
        ),
        // An expression whose type is only known at evaluation is not a bool.
        (
            json!({ "validations": [{ "expression": "object.spec.on" }] }),
            "spec.validations[0].expression: Invalid value: \"object.spec.on\": must evaluate to bool but got dyn".to_owned(),
        ),
        (
            json!({ "auditAnnotations": [{ "key": "a", "valueExpression": "1" }, { "key": "a", "valueExpression": "'b'" }] }),
            "[spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int, \
             spec.auditAnnotations[1].key: Duplicate value: \"a\"]"
                .to_owned(),
        ),
        (
            json!({ "auditAnnotations": [{ "key": "a/b", "valueExpression": " " }] }),
            "[spec.auditAnnotations[0].key: Invalid value: \"p/a/b\": a valid label key must consist of alphanumeric \
             characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or \
             'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
             optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName'), \
             spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified]"
                .to_owned(),
        ),
        (
            json!({ "variables": [{ "name": "in", "expression": "" }] }),
            "[spec.variables[0].name: Invalid value: \"in\": must be a valid CEL identifier, \
             spec.variables[0].expression: Required value: expression is not specified]"
                .to_owned(),
        ),
        (
            json!({ "matchConditions": [{ "name": "", "expression": "1" }] }),
            "[spec.matchConditions[0].expression: Invalid value: \"1\": must evaluate to bool but got int, \
             spec.matchConditions[0].name: Required value]"
                .to_owned(),
        ),
        (
            json!({ "paramKind": { "apiVersion": "a/b/c", "kind": "1" } }),
            "[spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c, \
             spec.paramKind.kind: Invalid value: \"1\": may have mixed case, but should otherwise match: a DNS-1035 label \
             must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with \
             an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
             '[a-z]([-a-z0-9]*[a-z0-9])?')]"
                .to_owned(),
        ),
    ] {
        assert_eq!(rejected(&changes), text, "{changes}");
    }
    // Without `paramKind` there are no parameters, and message expressions cannot use the authorizer.
    for (field, name) in [("expression", "params"), ("messageExpression", "authorizer")] {
        let mut validation = json!({ "expression": "true" });
        validation[field] = json!(format!("{name} == null"));
        let text = rejected(&json!({ "validations": [validation] }));
        assert!(text.contains(&format!("undeclared reference to '{name}'")), "{text}");
    }
}

#[test]
fn match_conditions_of_webhooks_are_compiled_on_write() {
    let mut server = server(36);
    let webhook = |conditions: Value| {
        json!({ "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": "c" }, "webhooks": [{ "name": "w.example.io", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": { "url": "https://w.example.io" },
            "matchConditions": conditions }] })
    };
    let path = format!("{GROUP}/validatingwebhookconfigurations");
    let bad = json!([{ "name": "a b", "expression": "params == null" }, { "name": "x", "expression": "request.name" },
        { "name": "x", "expression": "" }]);
    let reply = send(&mut server, Method::Post, &path, &webhook(bad));
    assert_eq!(reply.code, 422);
    let text = message(&reply);
    for part in [
        "webhooks[0].matchConditions[0].expression: Invalid value: \"params == null\": compilation failed: ERROR: \
         <input>:1:1: undeclared reference to 'params' (in container '')",
        "webhooks[0].matchConditions[0].name: Invalid value: \"a b\": name part must consist of alphanumeric characters",
        "webhooks[0].matchConditions[1].expression: Invalid value: \"request.name\": must evaluate to bool",
        "webhooks[0].matchConditions[2].expression: Required value",
        "webhooks[0].matchConditions[2].name: Duplicate value: \"x\"",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let many: Value = (0..65).map(|n| json!({ "name": format!("n{n}"), "expression": "true" })).collect();
    let text = message(&send(&mut server, Method::Post, &path, &webhook(many)));
    assert!(
        text.ends_with("webhooks[0].matchConditions: Too many: 65: must have at most 64 items"),
        "{text}"
    );
    let good =
        json!([{ "name": "x", "expression": "authorizer.requestResource.check('breakglass').allowed()" }]);
    assert_eq!(send(&mut server, Method::Post, &path, &webhook(good)).code, 201);
}

#[test]
fn expressions_can_use_the_authorizer() {
    let allowed = |question: &str| {
        let expression = format!("!has(object.data.ask) || {question}");
        with_policy(&json!({ "validations": [{ "expression": expression }] }), &json!({}))
    };
    let ask = |server: &mut ApiServer, who: &Identity| {
        let object = json!({ "metadata": { "name": "m" }, "data": { "ask": "" } });
        let path = "/api/v1/namespaces/default/configmaps";
        server.handle(&Request::new(Method::Post, path, who).with_body(&object), now()).code
    };
    let role = |server: &mut ApiServer, name: &str, rules: Value, user: &str| {
        let group = "/apis/rbac.authorization.k8s.io/v1";
        let role = json!({ "metadata": { "name": name }, "rules": rules });
        assert_eq!(send(server, Method::Post, &format!("{group}/clusterroles"), &role).code, 201);
        let binding = json!({ "metadata": { "name": name }, "subjects": [{ "kind": "User", "name": user }],
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name } });
        assert_eq!(send(server, Method::Post, &format!("{group}/clusterrolebindings"), &binding).code, 201);
    };
    let maps = json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"] });
    for (question, rule) in [
        (
            "authorizer.group('apps').resource('deployments').subresource('scale').namespace('x').name('d').check('update').allowed()",
            json!({ "apiGroups": ["apps"], "resources": ["deployments/scale"], "resourceNames": ["d"], "verbs": ["update"] }),
        ),
        (
            "authorizer.requestResource.check('sign').allowed()",
            json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["sign"] }),
        ),
        (
            "authorizer.path('/odd').check('get').allowed()",
            json!({ "nonResourceURLs": ["/odd"], "verbs": ["get"] }),
        ),
    ] {
        let mut server = allowed(question);
        let who = Identity::new("ann", &[]);
        role(&mut server, "maps", json!([maps]), "ann");
        assert_eq!(ask(&mut server, &who), 422, "{question}");
        role(&mut server, "more", json!([rule]), "ann");
        assert_eq!(ask(&mut server, &who), 201, "{question}");
    }
    let question = "authorizer.serviceAccount('ns', 'robot').group('').resource('pods').namespace('ns').check('get').reason()\
                    .startsWith('RBAC: allowed by ClusterRoleBinding')";
    let mut server = allowed(question);
    assert_eq!(ask(&mut server, &Identity::admin()), 422);
    let pods = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    role(&mut server, "pods", pods, "system:serviceaccount:ns:robot");
    assert_eq!(
        ask(&mut server, &Identity::admin()),
        201,
        "the server uses the new role without other requests"
    );
}

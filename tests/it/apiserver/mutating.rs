//! `MutatingAdmissionPolicy` as in Kubernetes 1.36.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Request};
use windtunnel_core::Identity;

use super::apply::widgets;
use super::requests::{define, now, server};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn post(server: &mut ApiServer, path: &str, body: &Value) -> (u16, Value) {
    let admin = Identity::admin();
    let reply = server.handle(&Request::new(Method::Post, path, &admin).with_body(body), now());
    (reply.code, reply.json().unwrap_or_default())
}

fn policy(kinds: [&str; 3], mutations: &Value) -> Value {
    let [group, version, resource] = kinds;
    json!({ "metadata": { "name": "p" }, "spec": { "reinvocationPolicy": "Never", "mutations": mutations,
        "matchConstraints": { "resourceRules": [{ "apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"],
            "resources": [resource] }] } } })
}

fn applied(expression: &str) -> Value {
    json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } })
}

fn patched(expression: &str) -> Value {
    json!({ "patchType": "JSONPatch", "jsonPatch": { "expression": expression } })
}

/// A server with a bound policy for a kind.
fn with(kinds: [&str; 3], mutations: &[Value], change: impl FnOnce(&mut Value)) -> ApiServer {
    let mut server = server(36);
    define(&mut server, widgets(&["v1"]));
    let mut policy = policy(kinds, &json!(mutations));
    change(&mut policy["spec"]);
    let (code, body) = post(&mut server, &format!("{GROUP}/mutatingadmissionpolicies"), &policy);
    assert_eq!(code, 201, "{body}");
    let binding = json!({ "metadata": { "name": "b" }, "spec": { "policyName": "p" } });
    let (code, body) = post(&mut server, &format!("{GROUP}/mutatingadmissionpolicybindings"), &binding);
    assert_eq!(code, 201, "{body}");
    server
}

fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i" }] } })
}

const POD_RESOURCE: [&str; 3] = ["", "v1", "pods"];

#[test]
fn apply_configurations_are_merged_by_list_keys() {
    let sidecar = "Object{ metadata: Object.metadata{ labels: {'a/b': 'yes'} }, spec: Object.spec{
        initContainers: [Object.spec.initContainers{ name: variables.name, image: 'm', restartPolicy: 'Always' }],
        containers: object.spec.containers.map(c, Object.spec.containers{ name: c.name,
            env: [Object.spec.containers.env{ name: 'MESH', value: 'on' }] }) } }";
    let mut server = with(POD_RESOURCE, &[applied(sidecar)], |spec| {
        spec["variables"] = json!([{ "name": "name", "expression": "'mesh-' + request.name" }]);
        spec["matchConditions"] =
            json!([{ "name": "named", "expression": "object.metadata.name != 'other'" }]);
    });
    let (code, created) = post(&mut server, PODS, &pod("p"));
    assert_eq!(code, 201, "{created}");
    assert_eq!(created["metadata"]["labels"], json!({ "a/b": "yes" }));
    let container = &created["spec"]["containers"][0];
    assert_eq!(
        (&container["image"], &container["env"]),
        (&json!("i"), &json!([{ "name": "MESH", "value": "on" }]))
    );
    let first = &created["spec"]["initContainers"][0];
    // Added parts get the defaults of their kind.
    assert_eq!((&first["name"], &first["imagePullPolicy"]), (&json!("mesh-p"), &json!("Always")));
    let (_, other) = post(&mut server, PODS, &pod("other"));
    assert_eq!(other["spec"]["initContainers"], Value::Null);
}

#[test]
fn json_patches_run_in_order_and_a_failed_test_changes_nothing() {
    let first = "[JSONPatch{op: 'test', path: '/spec/containers/0/image', value: 'i'},
        JSONPatch{op: 'add', path: '/metadata/labels', value: {'one': '1'}}]";
    let second = "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('x.io/two'),
        value: object.metadata.labels.one + '2'}]";
    let third = "[JSONPatch{op: 'test', path: '/spec/containers/0/image', value: 'x'},
        JSONPatch{op: 'remove', path: '/metadata/labels'}]";
    let mut server = with(POD_RESOURCE, &[patched(first), patched(second), patched(third)], |_| {});
    let (code, created) = post(&mut server, PODS, &pod("p"));
    assert_eq!((code, &created["metadata"]["labels"]), (201, &json!({ "one": "1", "x.io/two": "12" })));
}

#[test]
fn custom_resources_are_mutated_by_their_schema() {
    let kinds = ["example.io", "v1", "widgets"];
    let change = "Object{ spec: Object.spec{ s: 'set', keyed: [Object.spec.keyed{ k: 'b', v: 'new' }] } }";
    let mut server = with(kinds, &[applied(change)], |_| {});
    let widget = json!({ "apiVersion": "example.io/v1", "kind": "Widget", "metadata": { "name": "w" },
        "spec": { "keyed": [{ "k": "a", "v": "old" }] } });
    let (code, created) = post(&mut server, "/apis/example.io/v1/widgets", &widget);
    assert_eq!(code, 201, "{created}");
    let keyed = json!([{ "k": "a", "v": "old" }, { "k": "b", "v": "new" }]);
    assert_eq!(
        (&created["spec"]["s"], &created["spec"]["keyed"], &created["spec"]["d"]),
        (&json!("set"), &keyed, &json!("D"))
    );
}

#[test]
fn a_failed_mutation_rejects_the_request_unless_the_policy_ignores_failures() {
    let start = "policy 'p' with binding 'b' denied request: ";
    for (mutation, why) in [
        (
            applied(
                "Object{ spec: Object.spec{ containers: [Object.spec.containers{ name: 'c', args: ['a'] }] } }",
            ),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \
             .spec.containers[0].args",
        ),
        (
            applied("Object{ spec: Object.spec{ nothing: 1 } }"),
            "error applying patch: failed to convert patch object to typed object: .spec.nothing: field not declared in schema",
        ),
        (
            applied("Object{ spec: Object.specx{ hostNetwork: true } }"),
            "type mismatch: unexpected type name \"Object.specx\", expected \"Object.spec\", which matches field name path from \
             root Object type",
        ),
        (
            patched("[JSONPatch{op: 'add', path: '/spec/x', value: object.spec.none}]"),
            "expression '[JSONPatch{op: 'add', path: '/spec/x', value: object.spec.none}]' resulted in error: no such key: none",
        ),
    ] {
        let mut server = with(POD_RESOURCE, std::slice::from_ref(&mutation), |_| {});
        let (code, body) = post(&mut server, PODS, &pod("p"));
        assert_eq!((code, &body["reason"]), (403, &json!("Invalid")), "{body}");
        assert_eq!(body["message"], format!("{start}{why}"));
        assert_eq!(body["details"]["causes"], json!([{ "message": format!("{start}{why}") }]));
        // Older minors do not serve the policy, so it has no effect.
        server.set_kubernetes_minor(35);
        assert_eq!(post(&mut server, PODS, &pod("p")).0, 201);
        let mut server = with(POD_RESOURCE, &[mutation], |spec| spec["failurePolicy"] = json!("Ignore"));
        assert_eq!(post(&mut server, PODS, &pod("p")).0, 201);
    }
}

#[test]
fn policies_that_do_not_compile_are_rejected() {
    let mut server = server(36);
    let mut rejected = |mutations: Value| {
        let policy = policy(POD_RESOURCE, &mutations);
        let (code, body) = post(&mut server, &format!("{GROUP}/mutatingadmissionpolicies"), &policy);
        assert_eq!(code, 422, "{body}");
        let text = body["message"].as_str().unwrap_or_default();
        text.rsplit_once("\"p\" is invalid: ").map_or(text, |(_, why)| why).to_owned()
    };
    let empty = "spec.mutations: Required value: mutations must contain at least one item";
    assert_eq!(rejected(json!([])), empty);
    let text = rejected(
        json!([applied("{'a': 1}"), patched("Object{}"), { "patchType": "Odd" }, { "patchType": "JSONPatch" }]),
    );
    for part in [
        "spec.mutations[0].applyConfiguration.expression: Invalid value: \"{'a': 1}\": must evaluate to Object",
        "spec.mutations[1].jsonPatch.expression: Invalid value: \"Object{}\": must evaluate to list(JSONPatch)",
        "spec.mutations[2].patchType: Unsupported value: \"Odd\": supported values: \"ApplyConfiguration\", \"JSONPatch\"",
        "spec.mutations[3].jsonPatch: Required value: must be specified when patchType is JSONPatch",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // Validating policies cannot construct objects.
    let validating = json!({ "metadata": { "name": "v" }, "spec": { "validations": [{ "expression": "Object{} == object" }],
        "matchConstraints": { "resourceRules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"],
            "resources": ["pods"] }] } } });
    let (code, body) = post(&mut server, &format!("{GROUP}/validatingadmissionpolicies"), &validating);
    let text = body["message"].as_str().unwrap_or_default();
    assert!(code == 422 && text.contains("undeclared reference to 'Object'"), "{body}");
}

//! Tests of the rules of nodes, namespaces and the configuration of the cluster.

use serde_json::{Value, json};

use super::{api_service, level, namespace, node, runtime_class, schema};
use crate::kinds::validation::{Errors, Validator};
use crate::profile::Profile;

fn errors(validator: Validator, object: &Value, old: Option<&Value>) -> String {
    let profile = Profile::of(36, false);
    let mut errors = Errors::new(&profile);
    validator(object, old, &mut errors);
    errors.into_found().iter().map(|error| error.text(&profile)).collect::<Vec<_>>().join("; ")
}

#[test]
fn nodes_have_valid_taints_ranges_and_amounts() {
    for (object, expected) in [
        (json!({ "spec": { "podCIDRs": ["10.1.0.0/24", "fd00::/64"] } }), ""),
        (
            json!({ "spec": { "podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"] } }),
            r#"spec.podCIDRs: Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one CIDR for each IP family"#,
        ),
        (json!({ "spec": { "taints": [{ "key": "a" }] } }), "metadata.taints[0].effect: Required value"),
        (
            json!({ "status": { "capacity": { "pods": "1500m" } } }),
            "status.capacity.pods: Invalid value: \"1500m\": must be an integer",
        ),
        (
            json!({ "status": { "allocatable": { "cpu": "-1" } } }),
            "status.allocatable.cpu: Invalid value: \"-1\": must be greater than or equal to 0",
        ),
        (
            json!({ "status": { "declaredFeatures": ["B", "A"] } }),
            "status.declaredFeatures[1]: Invalid value: \"A\": list must be sorted alphabetically",
        ),
    ] {
        assert_eq!(errors(node, &object, None), expected, "{object}");
    }
}

#[test]
fn nodes_keep_their_ranges_and_have_different_addresses() {
    let old = json!({ "spec": { "podCIDRs": ["10.1.0.0/24"], "providerID": "a" } });
    let mut new = old.clone();
    assert_eq!(errors(node, &new, Some(&old)), "");
    new["spec"]["podCIDRs"] = json!(["10.2.0.0/24"]);
    let expected = "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid";
    assert_eq!(errors(node, &new, Some(&old)), expected);
    let address = json!({ "type": "InternalIP", "address": "10.0.0.1" });
    let status = json!({ "status": { "addresses": [address, address] } });
    let expected = "status.addresses[1]: Duplicate value: {\"Type\":\"InternalIP\",\"Address\":\"10.0.0.1\"}";
    assert_eq!(errors(super::node_status, &status, Some(&json!({}))), expected);
}

#[test]
fn finalizers_of_namespaces_are_standard_or_have_a_domain() {
    let finalizers = |list: Value| json!({ "spec": { "finalizers": list } });
    assert_eq!(errors(namespace, &finalizers(json!(["kubernetes", "example.com/x"])), None), "");
    let why = "Invalid value: \"x\": name is neither a standard finalizer name nor is it fully qualified";
    assert_eq!(errors(namespace, &finalizers(json!(["x"])), None), format!("spec.finalizers: {why}"));
    let found = errors(namespace, &finalizers(json!(["x"])), Some(&finalizers(json!([]))));
    assert_eq!(found, format!("spec.finalizers[0]: {why}"));
}

#[test]
fn runtime_classes_have_a_handler_that_stays() {
    for (object, expected) in [
        (json!({ "handler": "runc" }), ""),
        (json!({}), "handler: Required value"),
        (
            json!({ "handler": "r", "overhead": { "podFixed": { "cpu": "-1" } } }),
            "overhead.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
        ),
        (
            json!({ "handler": "r", "scheduling": { "tolerations": [{ "operator": "Exists" }, { "operator": "Exists" }] } }),
            "scheduling.tolerations[1]: Duplicate value: \
             {\"Key\":\"\",\"Operator\":\"Exists\",\"Value\":\"\",\"Effect\":\"\",\"TolerationSeconds\":null}",
        ),
    ] {
        assert_eq!(errors(runtime_class, &object, None), expected, "{object}");
    }
    let found = errors(runtime_class, &json!({ "handler": "b" }), Some(&json!({ "handler": "a" })));
    assert_eq!(found, "handler: Invalid value: \"b\": field is immutable");
    let found = errors(runtime_class, &json!({}), Some(&json!({ "handler": "a" })));
    assert_eq!(found, "handler: Required value; handler: Invalid value: \"\": field is immutable");
}

#[test]
fn flow_schemas_match_subjects_and_requests() {
    let subject = json!({ "kind": "User", "user": { "name": "u" } });
    let resources = json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"] });
    let valid = json!({ "subjects": [subject], "resourceRules": [resources] });
    for (pointer, value, expected) in [
        ("/subjects", json!([subject]), ""),
        (
            "/subjects",
            json!([]),
            "spec.rules[0].subjects: Required value: subjects must contain at least one value",
        ),
        (
            "/subjects/0/kind",
            json!("Group"),
            "spec.rules[0].subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'; \
             spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
        ),
        (
            "/resourceRules/0/verbs",
            json!(["*", "get"]),
            r#"spec.rules[0].resourceRules[0].verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs"#,
        ),
        (
            "/resourceRules/0/namespaces",
            json!([]),
            "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must \
             supply at least one namespace",
        ),
    ] {
        let mut rule = valid.clone();
        *rule.pointer_mut(pointer).unwrap() = value;
        let spec = json!({ "matchingPrecedence": 2, "priorityLevelConfiguration": { "name": "p" }, "rules": [rule] });
        assert_eq!(errors(schema, &json!({ "metadata": { "name": "x" }, "spec": spec }), None), expected);
    }
}

#[test]
fn levels_have_queues_that_fit_the_hash() {
    let level_of = |queuing: Value| {
        let response = json!({ "type": "Queue", "queuing": queuing });
        json!({ "metadata": { "name": "x" }, "spec": { "type": "Limited", "limited": { "limitResponse": response } } })
    };
    let queues =
        |queues: i64, hand: i64| json!({ "queues": queues, "handSize": hand, "queueLengthLimit": 50 });
    assert_eq!(errors(level, &level_of(queues(64, 8)), None), "");
    let at = "spec.limited.limitResponse.queuing.handSize";
    let expected = format!("{at}: Invalid value: 9: should not be greater than queues (8)");
    assert_eq!(errors(level, &level_of(queues(8, 9)), None), expected);
    let expected = format!(
        "{at}: Invalid value: 11: required entropy bits of deckSize 64 and handSize 11 should not be greater than 60"
    );
    assert_eq!(errors(level, &level_of(queues(64, 11)), None), expected);
}

#[test]
fn api_services_are_named_after_version_and_group() {
    let service = |name: &str| {
        let spec =
            json!({ "group": "g.io", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 15 });
        json!({ "metadata": { "name": name }, "spec": spec })
    };
    assert_eq!(errors(api_service, &service("v1.g.io"), None), "");
    let expected = r#"metadata.name: Invalid value: "x": must be `spec.version+"."+spec.group`: "v1.g.io""#;
    assert_eq!(errors(api_service, &service("x"), None), expected);
}

//! The rows of the table of minors about messages and values, one test each.

use serde_json::{Value, json};
use windtunnel_apiserver::{ApiServer, Method, Request};
use windtunnel_core::{Identity, Write};

use super::super::requests::{
    VERSIONS, ask, define, definition, now, put_status, rolled_back, server, validation_error,
};

/// The error for a status with a value that is not in the enum, and a text that is too long.
fn bad_status(minor: u32) -> String {
    let text = put_status(&mut rolled_back(minor, true), |object| {
        object["status"]["capabilities"]["enabled"] = json!(["new"]);
        object["status"]["message"] = json!("long");
    });
    text.strip_prefix("Version.example.io \"version\" is invalid: ").unwrap().to_owned()
}

#[test]
fn field_path_in_status_schema_errors_has_no_prefix_from_1_28_to_1_30() {
    for minor in 24..=36 {
        let prefixed = !(28..=30).contains(&minor);
        assert_eq!(bad_status(minor).contains("status.capabilities.enabled[0]: "), prefixed, "1.{minor}");
    }
}

#[test]
fn path_inside_the_detail_text_of_a_status_has_no_prefix_from_1_28_on() {
    for minor in 24..=36 {
        let text = put_status(&mut rolled_back(minor, false), |object| {
            object["status"]["message"] = json!(7);
            object["status"]["capabilities"] = json!({});
        });
        let prefixed = minor < 28;
        assert_eq!(text.contains(": status.message in body must be"), prefixed, "1.{minor}: {text}");
        assert_eq!(text.contains(": message in body must be"), !prefixed, "1.{minor}: {text}");
    }
}

#[test]
fn the_placeholder_value_is_quoted_up_to_1_33() {
    let why = "some validation rules were not checked because the object was invalid; correct the existing errors to \
               complete validation";
    for minor in 29..=36 {
        let null = if minor < 34 { "\"null\"" } else { "null" };
        let text = bad_status(minor);
        assert!(text.contains(&format!("<nil>: Invalid value: {null}: {why}")), "1.{minor}: {text}");
    }
}

#[test]
fn the_too_long_message_depends_on_the_minor() {
    for minor in 24..=36 {
        let limit = if minor < 32 { "may not be longer than 3" } else { "may not be more than 3 bytes" };
        let text = bad_status(minor);
        assert!(text.contains(&format!("message: Too long: {limit}")), "1.{minor}: {text}");
    }
    let too_long =
        |minor| validation_error(minor, &json!({ "type": "string", "maxLength": 1 }), &json!("ab"));
    assert_eq!(too_long(33), "spec.x: Too long: may not be more than 1 bytes");
    assert_eq!(too_long(34), "spec.x: Too long: may not be more than 1 byte");
}

#[test]
fn non_scalar_values_in_errors_are_json_from_1_34_on() {
    let keyed = json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": { "type": "object", "required": ["k"], "properties": { "k": { "type": "string" } } } });
    let duplicates = json!([{ "k": "a" }, { "k": "a" }]);
    for minor in 24..=36 {
        let value = if minor < 34 { r#"map[string]interface {}{"k":"a"}"# } else { r#"{"k":"a"}"# };
        assert_eq!(
            validation_error(minor, &keyed, &duplicates),
            format!("spec.x[1]: Duplicate value: {value}"),
            "1.{minor}"
        );
    }
}

#[test]
fn a_cel_failure_shows_the_type_up_to_1_34_and_scalar_values_from_1_35_on() {
    let rule = |kind: &str| json!({ "type": kind, "x-kubernetes-validations": [{ "rule": "false", "message": "no" }] });
    for minor in 25..=36 {
        let (text, object) =
            if minor < 35 { ("\"string\": no", "\"object\": no") } else { ("\"abc\": no", "no") };
        assert_eq!(
            validation_error(minor, &rule("string"), &json!("abc")),
            format!("spec.x: Invalid value: {text}"),
            "1.{minor}"
        );
        assert_eq!(
            validation_error(minor, &rule("object"), &json!({})),
            format!("spec.x: Invalid value: {object}"),
            "1.{minor}"
        );
    }
}

#[test]
fn cel_message_expression_field_path_reason_and_optional_old_self_come_with_1_27_1_28_and_1_30() {
    let broken = |minor, extra: Value| {
        let mut rule = json!({ "rule": "oldSelf == oldSelf && false", "message": "no" });
        if extra.get("optionalOldSelf").is_none() {
            rule["rule"] = json!("false");
        }
        for (name, value) in extra.as_object().unwrap() {
            rule[name] = value.clone();
        }
        let mut server = server(minor);
        let mut crd = definition(&[], false);
        let spec = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        spec["x-kubernetes-validations"] = json!([rule]);
        define(&mut server, crd);
        let object = json!({ "apiVersion": "example.io/v1", "kind": "Version", "metadata": { "name": "version" },
            "spec": { "mode": "m" } });
        ask(&mut server, &Write::create(&VERSIONS, object))
            .err()
            .map_or(String::new(), |rejection| rejection.message)
    };
    let first =
        |extra: Value, sign: &str| (25..=36).find(|minor| broken(*minor, extra.clone()).contains(sign));
    assert_eq!(first(json!({ "messageExpression": "'yes'" }), ": yes"), Some(27));
    assert_eq!(first(json!({ "reason": "FieldValueForbidden" }), "spec: Forbidden: no"), Some(28));
    assert_eq!(first(json!({ "fieldPath": ".mode" }), " spec.mode: "), Some(28));
    assert_eq!(first(json!({ "optionalOldSelf": true }), "spec: Invalid value"), Some(30));
}

#[test]
fn watch_list_is_on_by_default_on_1_32_and_from_1_34_on() {
    let query =
        "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    let path = format!("/api/v1/configmaps?{query}");
    let served = |server: &mut ApiServer| {
        server.handle(&Request::new(Method::Get, &path, &Identity::admin()), now()).code == 200
    };
    let minors: Vec<u32> = (24..=36).filter(|minor| served(&mut server(*minor))).collect();
    assert_eq!(minors, [32, 34, 35, 36]);
}

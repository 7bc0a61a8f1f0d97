//! Formats and patterns in the schemas of custom resources.

use serde_json::{Value, json};
use windtunnel_apiserver::{Method, Reply, Request};
use windtunnel_core::Identity;

use super::requests::{definition, now, server, validation_error};

fn format_error(minor: u32, format: &str, value: &str) -> String {
    validation_error(minor, &json!({ "type": "string", "format": format }), &json!(value))
}

#[test]
fn an_invalid_text_is_rejected_with_the_format_as_the_schema_spells_it() {
    for (format, bad) in
        [("date-time", "x"), ("datetime", "x"), ("isbn10", "1"), ("uuid4", "1"), ("hexcolor", "red")]
    {
        let expected =
            format!("spec.x: Invalid value: \"{bad}\": spec.x in body must be of type {format}: \"{bad}\"");
        assert_eq!(format_error(36, format, bad), expected);
        assert_eq!(format_error(24, format, bad), expected);
    }
    assert_eq!(format_error(36, "creditcard", "4111 1111 1111 1111"), "");
}

#[test]
fn kubernetes_name_formats_are_checked_since_1_35_and_unknown_ones_never() {
    assert_eq!(format_error(34, "k8s-short-name", "A.b"), "");
    let expected = "spec.x: Invalid value: \"A.b\": spec.x in body must be of type k8s-short-name: \"A.b\"";
    assert_eq!(format_error(35, "k8s-short-name", "A.b"), expected);
    assert_eq!(format_error(36, "colour", "A.b"), "");
}

#[test]
fn number_formats_are_checked_since_1_36() {
    let number_error = |minor, schema: &Value, value: &Value| {
        validation_error(minor, schema, value).replace("<nil>: Invalid value: \"\": ", "")
    };
    let int32 = || json!({ "type": "integer", "format": "int32" });
    assert_eq!(number_error(35, &int32(), &json!(3_000_000_000_u32)), "");
    assert_eq!(
        number_error(36, &int32(), &json!(3_000_000_000_u32)),
        "Checked value must be of type integer with format int32 in spec.x"
    );
    assert_eq!(
        number_error(36, &json!({ "type": "integer", "format": "int64" }), &json!(3_000_000_000_u32)),
        ""
    );
    assert_eq!(
        number_error(36, &json!({ "type": "number", "format": "float" }), &json!(1e39)),
        "Checked value must be of type number with format float in spec.x"
    );
    assert_eq!(number_error(36, &json!({ "type": "number", "format": "double" }), &json!(1e39)), "");
}

#[test]
fn integers_without_a_format_and_their_bounds_must_fit_64_bits() {
    let wrong_type = "spec.x: Invalid value: \"number\": spec.x in body must be of type integer: \"number\"";
    let whole = || json!({ "type": "integer" });
    let bounded = || json!({ "type": "integer", "maximum": 1.5 });
    assert_eq!(validation_error(35, &whole(), &json!(1e19)), wrong_type);
    assert_eq!(validation_error(35, &bounded(), &json!(1)), "");
    assert_eq!(
        validation_error(36, &whole(), &json!(1e19)),
        format!(
            "[{wrong_type}, <nil>: Invalid value: \"\": Checked value must be of type integer (default format) in spec.x]"
        )
    );
    assert_eq!(validation_error(36, &whole(), &json!(i64::MAX)), "");
    assert_eq!(
        validation_error(36, &bounded(), &json!(1)),
        "<nil>: Invalid value: \"\": Maximum boundary value must be of type integer (default format) in spec.x"
    );
    let bounded = json!({ "type": "integer", "format": "int32", "maximum": 4_294_967_295_u32 });
    assert_eq!(validation_error(35, &bounded, &json!(1)), "");
    assert_eq!(
        validation_error(36, &bounded, &json!(1)),
        "<nil>: Invalid value: \"\": Maximum boundary value must be of type integer with format int32 in spec.x"
    );
}

#[test]
fn patterns_have_the_semantics_of_go() {
    let digits = json!({ "type": "string", "pattern": r"^\d+$" });
    assert_eq!(validation_error(36, &digits, &json!("12")), "");
    assert_eq!(
        validation_error(36, &digits, &json!("٣")),
        r#"spec.x: Invalid value: "٣": spec.x in body should match '^\d+$'"#
    );
    assert_eq!(validation_error(36, &json!({ "type": "string", "pattern": "^{a}$" }), &json!("{a}")), "");
}

#[test]
fn rules_see_times_only_in_formats_with_the_usual_spelling() {
    for (format, accepted) in [("date-time", true), ("datetime", false)] {
        let mut server = server(36);
        let mut crd = definition(&[], false);
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = json!({ "x": {
            "type": "string", "format": format, "x-kubernetes-validations": [{ "rule": "self.getFullYear() > 2000" }] } });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let admin = Identity::admin();
        let reply = server.handle(&Request::new(Method::Post, path, &admin).with_body(&crd), now());
        assert_eq!(reply.code, if accepted { 201 } else { 422 }, "{format}");
    }
}

#[test]
fn unknown_formats_in_a_crd_cause_a_warning_since_1_34() {
    let warnings = |minor| -> Vec<String> {
        let mut crd = definition(&[], false);
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
            json!({ "x": { "type": "string", "format": "colour" } });
        let admin = Identity::admin();
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let request = Request::new(Method::Post, path, &admin).with_body(&crd);
        let reply: Reply = server(minor).handle(&request, now());
        reply.warnings
    };
    assert_eq!(warnings(33), [""; 0]);
    assert_eq!(warnings(34), ["unrecognized format \"colour\""]);
}

//! Rejections of invalid bodies.

use super::*;

const A: &str = "/api/v1/namespaces/default/configmaps/a";
const REFUSED: &str = "the server rejected our request due to an error in our request";

#[test]
fn bad_request() {
    let cannot = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap:";
    let bad = |what: Row, message: &str| what.is(400, "BadRequest", message, Value::Null);
    let elsewhere =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "b", "namespace": "other" } });
    let wrong_version = json!({ "apiVersion": "ex.io/v2", "kind": "CV", "metadata": { "name": "b" } });
    check(&[
        bad(
            row("name/URL mismatch", Method::Put, A).json(&map("b")),
            "the name of the object (b) does not match the name on the URL (a)",
        ),
        bad(
            row("namespace mismatch", Method::Post, MAPS).json(&elsewhere),
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        bad(
            row("undecodable", Method::Post, MAPS)
                .json(&json!({ "metadata": { "name": "b" }, "data": { "k": 1 } })),
            &format!(
                "{cannot} json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
            ),
        ),
        bad(
            row(
                "strict decoding, unknown",
                Method::Post,
                "/api/v1/namespaces/default/configmaps?fieldValidation=Strict",
            )
            .json(&json!({ "metadata": { "name": "b", "foo": 1 }, "bar": 1 })),
            &format!("{cannot} strict decoding error: unknown field \"bar\", unknown field \"metadata.foo\""),
        ),
        bad(
            row(
                "strict decoding, duplicate",
                Method::Post,
                "/api/v1/namespaces/default/configmaps?fieldValidation=Strict",
            )
            .text(r#"{"metadata":{"name":"b"},"data":{"a":"1","a":"2"}}"#),
            &format!("{cannot} strict decoding error: duplicate field \"data.a\""),
        ),
        bad(
            row("wrong apiVersion on a CR", Method::Post, CVS).json(&wrong_version),
            "the API version in the data (ex.io/v2) does not match the expected API version (ex.io/v1)",
        ),
        bad(
            row("merge patch not an object", Method::Patch, A).of_type(MERGE).text("[]"),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ]);
    let body = row("no kind", Method::Post, CVS)
        .text("{\"apiVersion\":\"ex.io/v1\",\"metadata\":{}}")
        .ask(&mut prepared());
    let body = body.json().unwrap();
    let text = body["message"].as_str().unwrap();
    assert!(
        text.starts_with(
            "the object provided is unrecognized (must be of type CV): Object 'Kind' is missing in '{"
        ),
        "{text}"
    );
}

#[test]
fn json_patch_fails() {
    for (what, patch) in [
        ("JSON patch fails, test", json!([{ "op": "test", "path": "/data/k", "value": "other" }])),
        ("JSON patch fails, missing path", json!([{ "op": "remove", "path": "/data/none" }])),
        ("JSON patch fails, bad op", json!([{ "op": "burn", "path": "/data/k" }])),
    ] {
        let patched = row(what, Method::Patch, A).of_type("application/json-patch+json").json(&patch);
        check(&[patched.is(422, "Invalid", REFUSED, json!({}))]);
    }
}

#[test]
fn invalid_resource_versions() {
    let mut with_version = map("b");
    with_version["metadata"]["resourceVersion"] = json!("5");
    let mut unparsable = map("a");
    unparsable["metadata"]["resourceVersion"] = json!("xyz");
    check(&[
        row("RV on create", Method::Post, MAPS).json(&with_version).is(
            500,
            "",
            "resourceVersion should not be set on objects to be created",
            Value::Null,
        ),
        row("unparsable RV on PUT", Method::Put, A).json(&unparsable).is(
            500,
            "",
            "strconv.ParseUint: parsing \"xyz\": invalid syntax",
            Value::Null,
        ),
    ]);
}

#[test]
fn media_types() {
    let types = |list: &str| {
        format!("the body of the request was in an unknown format - accepted media types include: {list}")
    };
    check(&[
        row("Accept not satisfiable", Method::Get, A).accepting("application/json;as=Other;v=v1;g=meta.k8s.io").is(406, "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
            Value::Null),
        row("content type", Method::Post, MAPS).of_type("text/html").text("x").is(415, "UnsupportedMediaType",
            types("application/json, application/yaml, application/vnd.kubernetes.protobuf"), Value::Null),
        row("content type, strategic merge of a CR", Method::Patch, "/apis/ex.io/v1/cvs/version")
            .of_type("application/strategic-merge-patch+json").text("{}").is(415, "UnsupportedMediaType",
            types("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"), Value::Null),
        row("content type, PATCH with plain JSON", Method::Patch, A).of_type("application/json").text("{}")
            .is(415, "UnsupportedMediaType", "415: Unsupported Media Type", json!({})),
    ]);
}

#[test]
fn too_long() {
    let operations: Vec<Value> = (0..10_001).map(|_| json!({ "op": "remove", "path": "/a" })).collect();
    check(&[
        row("body > 3 MiB", Method::Post, MAPS).text(&"x".repeat(3 * 1024 * 1024 + 1))
            .is(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728", Value::Null),
        row("JSON patch > 10000 ops", Method::Patch, A).of_type("application/json-patch+json").json(&json!(operations))
            .is(413, "RequestEntityTooLarge",
                "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001", Value::Null),
    ]);
}

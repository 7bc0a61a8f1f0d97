//! Rejections of invalid query parameters.

use super::*;

fn bad_option(kind: &str, field: &str, reason: &str, message: &str) -> Value {
    json!({ "group": "meta.k8s.io", "kind": kind,
        "causes": [{ "field": field, "reason": reason, "message": message }] })
}

fn rejected(what: Row, kind: &str, field: &str, reason: &str, message: &str) -> Row {
    let text = format!("{kind}.meta.k8s.io \"\" is invalid: {field}: {message}");
    what.is(422, "Invalid", text, bad_option(kind, field, reason, message))
}

#[test]
fn bad_option_rows() {
    const A: &str = "/api/v1/namespaces/default/configmaps/a";
    let unsupported = "FieldValueNotSupported";
    check(&[
        rejected(
            row("bad option, dryRun", Method::Post, "/api/v1/namespaces/default/configmaps?dryRun=Foo")
                .json(&map("b")),
            "CreateOptions",
            "dryRun",
            unsupported,
            "Unsupported value: [\"Foo\"]: supported values: \"All\"",
        ),
        rejected(
            row(
                "bad option, fieldValidation",
                Method::Post,
                "/api/v1/namespaces/default/configmaps?fieldValidation=Foo",
            )
            .json(&map("b")),
            "CreateOptions",
            "fieldValidation",
            unsupported,
            "Unsupported value: \"Foo\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
        ),
        rejected(
            row("bad option, fieldManager missing", Method::Patch, A).of_type(APPLY).json(&map("a")),
            "PatchOptions",
            "fieldManager",
            "FieldValueRequired",
            "Required value: is required for apply patch",
        ),
        rejected(
            row("bad option, force", Method::Patch, "/api/v1/namespaces/default/configmaps/a?force=true")
                .of_type(MERGE)
                .json(&json!({})),
            "PatchOptions",
            "force",
            "FieldValueForbidden",
            "Forbidden: may not be specified for non-apply patch",
        ),
        rejected(
            row(
                "bad option, propagationPolicy",
                Method::Delete,
                "/api/v1/namespaces/default/configmaps/a?propagationPolicy=Foo",
            ),
            "DeleteOptions",
            "propagationPolicy",
            unsupported,
            "Unsupported value: \"Foo\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
        ),
        rejected(
            row(
                "bad option, resourceVersionMatch",
                Method::Get,
                "/api/v1/configmaps?resourceVersionMatch=Exact",
            ),
            "ListOptions",
            "resourceVersionMatch",
            "FieldValueForbidden",
            "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
    ]);
}

#[test]
fn bad_request_selectors_and_numbers() {
    let bad = |what: &'static str, path: &'static str, message: &str| {
        row(what, Method::Get, path).is(400, "BadRequest", message, Value::Null)
    };
    check(&[
        bad(
            "selector, requirement",
            "/api/v1/configmaps?labelSelector=a+b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        bad(
            "selector, field of a kind with its own list",
            "/api/v1/pods?fieldSelector=spec.foo%3Da",
            "field label not supported: spec.foo",
        ),
        bad(
            "selector, field of another kind",
            "/api/v1/configmaps?fieldSelector=spec.foo%3Da",
            "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        bad(
            "selector, no operator",
            "/api/v1/configmaps?fieldSelector=foo",
            "invalid selector: 'foo'; can't understand 'foo'",
        ),
        bad(
            "continue with resourceVersion",
            "/api/v1/configmaps?resourceVersion=5&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0",
            "specifying resource version is not allowed when using continue",
        ),
        bad("limit", "/api/v1/configmaps?limit=x", "strconv.ParseInt: parsing \"x\": invalid syntax"),
    ]);
    let text = |path| {
        row("", Method::Get, path).ask(&mut prepared()).json().unwrap()["message"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(
        text("/api/v1/configmaps?continue=abc")
            .starts_with("invalid continue token: continue key is not valid: ")
    );
    assert_eq!(
        text("/api/v1/configmaps?resourceVersion=abc"),
        "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \"abc\": invalid syntax"
    );
}

#[test]
fn expired_and_too_large_resource_version() {
    let mut server = prepared();
    let next = row("", Method::Get, "/api/v1/configmaps?limit=1").ask(&mut server).json().unwrap();
    let token = next["metadata"]["continue"].as_str().unwrap().to_owned();
    for name in ["x", "y"] {
        row("", Method::Post, MAPS).json(&map(name)).ask(&mut server);
    }
    server.compact();
    row("expired, list", Method::Get, "/api/v1/configmaps?resourceVersion=1&resourceVersionMatch=Exact")
        .is(410, "Expired", "The resourceVersion for the provided list is too old.", Value::Null)
        .check(&mut server);
    let path: &'static str = format!("/api/v1/configmaps?limit=1&continue={token}").leak();
    let body = row("expired, continue", Method::Get, path).ask(&mut server).json().unwrap();
    let text = body["message"].as_str().unwrap();
    assert!(
        text.starts_with("The provided continue parameter is too old to display a consistent list result."),
        "{text}"
    );
    assert_eq!((body["reason"].as_str(), body["metadata"]["continue"].is_string()), (Some("Expired"), true));
    let reply =
        row("RV in the future", Method::Get, "/api/v1/configmaps?resourceVersion=99999999").ask(&mut server);
    let body = reply.json().unwrap();
    let text = body["message"].as_str().unwrap();
    assert!(text.starts_with("Timeout: Too large resource version: 99999999, current: "), "{text}");
    assert_eq!((reply.code, reply.retry_after), (504, Some(1)));
    assert_eq!(body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
}

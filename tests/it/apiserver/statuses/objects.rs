//! Missing, conflicting and invalid objects.

use super::*;

#[test]
fn not_found() {
    let nowhere = "the server could not find the requested resource";
    check(&[
        row("not found", Method::Get, "/api/v1/namespaces/default/configmaps/x").is(
            404,
            "NotFound",
            "configmaps \"x\" not found",
            details_of("x", "configmaps"),
        ),
        row("not found, of a group", Method::Get, "/apis/ex.io/v1/cvs/x").is(
            404,
            "NotFound",
            "cvs.ex.io \"x\" not found",
            json!({ "name": "x", "group": "ex.io", "kind": "cvs" }),
        ),
        row("unknown path of a known group/version", Method::Get, "/apis/apps/v1/foos").is(
            404,
            "NotFound",
            nowhere,
            json!({}),
        ),
        row("unknown group", Method::Get, "/apis/nobody.io/v1/foos").is(
            404,
            "",
            "404 page not found",
            Value::Null,
        ),
        row("unserved version", Method::Get, "/apis/ex.io/v2/cvs").is(
            404,
            "",
            "404 page not found",
            Value::Null,
        ),
        row("cluster-scoped CR under a namespace", Method::Get, "/apis/ex.io/v1/namespaces/default/cvs").is(
            404,
            "",
            "404 page not found",
            Value::Null,
        ),
        row("undeclared subresource of a CR", Method::Get, "/apis/ex.io/v1/cvs/version/status").is(
            404,
            "NotFound",
            "cvs.ex.io \"version\" not found",
            json!({ "name": "version", "group": "ex.io", "kind": "cvs" }),
        ),
        row("namespace absent on create", Method::Post, "/api/v1/namespaces/n/configmaps")
            .json(&map("b"))
            .is(404, "NotFound", "namespaces \"n\" not found", details_of("n", "namespaces")),
    ]);
}

#[test]
fn already_exists() {
    check(&[
        row("create duplicate", Method::Post, MAPS).json(&map("a")).is(
            409,
            "AlreadyExists",
            "configmaps \"a\" already exists",
            details_of("a", "configmaps"),
        ),
        row("create while the old one is terminating", Method::Post, MAPS).json(&map("f")).is(
            409,
            "AlreadyExists",
            "object is being deleted: configmaps \"f\" already exists",
            details_of("f", "configmaps"),
        ),
    ]);
}

#[test]
fn conflict() {
    let mut server = prepared();
    let stored = server.object(&resources::CONFIG_MAPS, "default", "a").unwrap();
    let (uid, version) = (stored.uid().to_owned(), stored.resource_version().to_owned());
    let path = "/api/v1/namespaces/default/configmaps/a";
    let with = |field: &str, value: &str| {
        let mut object = map("a");
        object["metadata"][field] = json!(value);
        object
    };
    let stale = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your \
                 changes to the latest version and try again";
    row("stale resourceVersion, PUT", Method::Put, path)
        .json(&with("resourceVersion", "1"))
        .is(409, "Conflict", stale, details_of("a", "configmaps"))
        .check(&mut server);
    row("stale resourceVersion, PATCH with RV", Method::Patch, path)
        .of_type(MERGE)
        .json(&json!({ "metadata": { "resourceVersion": "1" }, "data": { "k": "w" } }))
        .is(409, "Conflict", stale, details_of("a", "configmaps"))
        .check(&mut server);
    let text = format!(
        "Operation cannot be fulfilled on configmaps \"a\": StorageError: invalid object, Code: 4, Key: \
         /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
         precondition: 1111, UID in object meta: {uid}"
    );
    row("PUT with wrong uid", Method::Put, path)
        .json(&with("uid", "1111"))
        .is(409, "Conflict", text, details_of("a", "configmaps"))
        .check(&mut server);
    let text = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (1111) does not match the UID \
         in record ({uid}). The object might have been deleted and then recreated"
    );
    row("DELETE precondition, UID", Method::Delete, path)
        .json(&json!({ "preconditions": { "uid": "1111" } }))
        .is(409, "Conflict", text, details_of("a", "ConfigMap"))
        .check(&mut server);
    let text = format!(
        "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition (1) does not match \
         the ResourceVersion in record ({version}). The object might have been modified"
    );
    row("DELETE precondition, RV", Method::Delete, path)
        .json(&json!({ "preconditions": { "resourceVersion": "1" } }))
        .is(409, "Conflict", text, details_of("a", "ConfigMap"))
        .check(&mut server);
}

#[test]
fn invalid() {
    let cause = |message: &str, field: &str, reason: &str| json!({ "message": message, "field": field, "reason": reason });
    let bad = "Unsupported value: \"C\": supported values: \"A\", \"B\"";
    check(&[
        row("invalid, core kind", Method::Post, MAPS).json(&map("A"))
            .is(422, "Invalid", format!("ConfigMap \"A\" is invalid: metadata.name: Invalid value: \"A\": {NAME}"),
                json!({ "name": "A", "kind": "ConfigMap",
                    "causes": [cause(&format!("Invalid value: \"A\": {NAME}"), "metadata.name", "FieldValueInvalid")] })),
        row("invalid, kind of a group", Method::Post, CVS).json(&cv("c", &json!({ "caps": ["C", "A", "C"] })))
            .is(422, "Invalid", format!("CV.ex.io \"c\" is invalid: [spec.caps[0]: {bad}, spec.caps[2]: {bad}]"),
                json!({ "name": "c", "group": "ex.io", "kind": "CV", "causes": [
                    cause(bad, "spec.caps[0]", "FieldValueNotSupported"),
                    cause(bad, "spec.caps[2]", "FieldValueNotSupported")] })),
        row("PUT of a CR without resourceVersion", Method::Put, "/apis/ex.io/v1/cvs/version")
            .json(&cv("version", &json!({})))
            .is(422, "Invalid",
                "cvs.ex.io \"version\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update",
                json!({ "name": "version", "group": "ex.io", "kind": "cvs", "causes": [
                    cause("Invalid value: 0: must be specified for an update", "metadata.resourceVersion", "FieldValueInvalid")] })),
    ]);
}

const NAME: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
    must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

//! Tests of certificate signing requests, and of TLS secrets.

use base64::Engine as _;
use serde_json::{Value, json};

use super::{approval, key_pair, request, status};
use crate::kinds::validation::examples::{errors, patched, rejects};

fn encoded(text: &str) -> Value {
    json!(base64::engine::general_purpose::STANDARD.encode(text))
}

fn block(label: &str) -> Value {
    encoded(&format!("-----BEGIN {label}-----\nMAA=\n-----END {label}-----\n"))
}

fn valid() -> Value {
    let spec = json!({ "request": block("CERTIFICATE REQUEST"), "signerName": "example.com/s", "usages": ["client auth"] });
    json!({ "metadata": { "name": "x" }, "spec": spec, "status": {} })
}

#[test]
fn new_requests_have_a_request_usages_and_a_signer() {
    rejects(
        request,
        &valid(),
        &[
            (
                json!({ "spec": { "request": null } }),
                "spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST",
            ),
            (json!({ "spec": { "usages": null } }), "spec.usages: Required value"),
            (json!({ "spec": { "usages": ["any", "any"] } }), "spec.usages[1]: Duplicate value: \"any\""),
            (json!({ "spec": { "signerName": "" } }), "spec.signerName: Required value"),
            (
                json!({ "spec": { "signerName": "a/b" } }),
                "spec.signerName: Invalid value: \"a\": should be a domain with at least two segments separated by dots",
            ),
            (
                json!({ "spec": { "signerName": "kubernetes.io/legacy-unknown" } }),
                "spec.signerName: Invalid value: \"kubernetes.io/legacy-unknown\": the legacy signerName is not allowed via this \
             API version",
            ),
            (
                json!({ "spec": { "expirationSeconds": 599 } }),
                "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
            ),
        ],
    );
}

#[test]
fn each_endpoint_changes_its_part_of_the_status() {
    let conditions = |list: Value| json!({ "status": { "conditions": list } });
    let approved = conditions(json!([{ "type": "Approved", "status": "True" }]));
    let failed = conditions(json!([{ "type": "Failed", "status": "True" }]));
    let issued = json!({ "status": { "certificate": block("CERTIFICATE") } });
    let change = |validator, patch: &Value| errors(validator, &patched(&valid(), patch), Some(&valid()), 36);
    assert_eq!(change(approval, &approved), "");
    assert_eq!(
        change(status, &approved),
        "status.conditions: Forbidden: updates may not add a condition of type \"Approved\""
    );
    assert_eq!(change(status, &failed), "");
    assert_eq!(change(status, &issued), "");
    assert_eq!(
        change(approval, &issued),
        "status.certificate: Forbidden: updates may not set certificate content"
    );
    let garbage = json!({ "status": { "certificate": encoded("x") } });
    assert_eq!(
        change(status, &garbage),
        "status.certificate: Invalid value: \"<certificate data>\": must contain at least one CERTIFICATE PEM block"
    );
    let both = conditions(
        json!([{ "type": "Approved", "status": "True" }, { "type": "Denied", "status": "False" }]),
    );
    assert_eq!(
        change(approval, &both),
        "status.conditions[1].status: Unsupported value: \"False\": supported values: \"True\"; status.conditions: Invalid \
         value: \"Denied\": Approved and Denied conditions are mutually exclusive"
    );
    let decided = patched(&valid(), &approved);
    assert_eq!(
        errors(approval, &valid(), Some(&decided), 36),
        "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\""
    );
}

#[test]
fn tls_secrets_warn_about_data_that_are_no_pem() {
    let warnings = |certificate: Value, key: Value| {
        let mut found = Vec::new();
        let secret =
            json!({ "type": "kubernetes.io/tls", "data": { "tls.crt": certificate, "tls.key": key } });
        key_pair::warn(&secret, None, 36, &mut found);
        found.join("; ")
    };
    assert_eq!(warnings(encoded("x"), encoded("y")), "tls: failed to find any PEM data in certificate input");
    assert_eq!(
        warnings(block("PRIVATE KEY"), block("CERTIFICATE")),
        "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have \
         been switched"
    );
    assert_eq!(warnings(block("CERTIFICATE"), block("RSA PRIVATE KEY")), "");
}

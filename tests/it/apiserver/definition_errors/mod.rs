//! Compares the errors of CRDs with invalid schemas, defaults and rules with those of a real server.

use serde_json::{Value, json};
use windtunnel_core::{Write, resources};

use super::requests::{ask, server};

/// A case on each line: a schema, and the causes that kube-apiserver 1.36 lists for its CRD, each with field, reason and
/// message. A CRD without causes is accepted.
const CASES: &str = include_str!("cases.jsonl");

fn definition(number: usize, schema: &Value) -> Value {
    let (plural, kind) = (format!("w{number}s"), format!("W{number}"));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.example.io") },
        "spec": {
            "group": "example.io", "scope": "Cluster", "names": { "plural": plural, "kind": kind },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

/// The sorted causes of a rejection, each with field, reason and message.
fn causes(details: &Value) -> Vec<Value> {
    let causes = details["causes"].as_array().cloned().unwrap_or_default();
    let row = |cause: &Value| json!([cause["field"], cause["reason"], cause["message"]]);
    let mut causes: Vec<Value> = causes.iter().map(row).collect();
    causes.sort_by_key(Value::to_string);
    causes
}

#[test]
fn invalid_definitions_have_the_causes_of_the_real_server() {
    let mut differences = Vec::new();
    for (number, line) in CASES.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let mut wanted = case["causes"].as_array().unwrap().clone();
        wanted.sort_by_key(Value::to_string);
        let write =
            Write::create(&resources::CUSTOM_RESOURCE_DEFINITIONS, definition(number, &case["schema"]));
        let found = ask(&mut server(36), &write).err();
        let found = found.map(|rejection| causes(&rejection.details)).unwrap_or_default();
        if found != wanted {
            differences.push(format!("{}:\nwanted {wanted:#?}\nfound {found:#?}", case["case"]));
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

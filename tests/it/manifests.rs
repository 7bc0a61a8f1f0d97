//! Compares the merged CRDs with the real ones in `../shared`.

use std::fs;

use serde_json::Value;
use windtunnel_core::yaml;
use windtunnel_openshift::manifests;

/// The minors that have CRD schemas: those of major 4, and 5.0.
fn minors() -> impl Iterator<Item = (u64, u64)> {
    (10..=22).map(|minor| (4, minor)).chain([(5, 0)])
}

/// Removes descriptions, which are no part of the schema.
fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("description").is_some_and(Value::is_string) {
                fields.remove("description");
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn comparable(mut crd: Value) -> Value {
    strip(&mut crd);
    if let Some(metadata) = crd["metadata"].as_object_mut() {
        metadata.remove("annotations");
        metadata.remove("labels");
    }
    crd
}

/// Collects the JSON pointers at which two values differ.
fn differences(at: &str, ours: &Value, real: &Value, found: &mut Vec<String>) {
    match (ours, real) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let next = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                differences(&next, &ours[key], &real[key], found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (one, other)) in a.iter().zip(b).enumerate() {
                differences(&format!("{at}/{index}"), one, other, found);
            }
        }
        _ if ours != real => found.push(format!("{at}: ours {ours}, real {real}")),
        _ => {}
    }
}

/// Kinds without a real CRD to compare with.
const WITHOUT_REAL_CRD: &[&str] = &[
    "apiservers",
    "controllerconfigs",
    "infrastructures",
    "machineconfignodes",
    "machineconfigurations",
    "machineosbuilds",
    "machineosconfigs",
    "nodes",
    "pinnedimagesets",
    "prometheusrules",
    "proxies",
    "securitycontextconstraints",
    "servicemonitors",
];

#[test]
fn every_crd_equals_the_real_one_in_every_minor() {
    let Some(folder) = crate::recordings::shared_or_skip("crds") else { return };
    let (mut found, mut compared) = (Vec::new(), 0);
    for (major, minor) in minors() {
        for ours in manifests::crds((major, minor)) {
            let plural = ours["spec"]["names"]["plural"].as_str().unwrap().to_owned();
            if WITHOUT_REAL_CRD.contains(&plural.as_str()) {
                continue;
            }
            let path = folder.join(format!("{major}.{minor}/{plural}.yaml"));
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let real: Value = yaml::from_str(&text).unwrap();
            differences(
                &format!("{major}.{minor} {plural} "),
                &comparable(ours.clone()),
                &comparable(real),
                &mut found,
            );
            compared += 1;
        }
    }
    assert!(compared > 0, "nothing compared");
    found.truncate(20);
    assert!(found.is_empty(), "first differences:\n{}", found.join("\n"));
}

#[test]
fn a_difference_is_found_and_named() {
    let mut found = Vec::new();
    let [ours, real] =
        ["{a: {b: [1, 2]}, c: x}", "{a: {b: [1, 3]}, d/e: x}"].map(|text| yaml::from_str(text).unwrap());
    differences("", &ours, &real, &mut found);
    assert_eq!(
        found,
        ["/a/b/1: ours 2, real 3", "/c: ours \"x\", real null", "/d~1e: ours null, real \"x\""]
    );
}

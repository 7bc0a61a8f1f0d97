//! Compares the merged CRDs with the real ones in `../shared`.

use std::collections::BTreeSet;
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

/// Kinds without a real CRD to compare with, and kinds that are simulated in part.
const WITHOUT_REAL_CRD: &[&str] =
    &["controllerconfigs", "infrastructures", "machineconfigurations", "prometheusrules", "servicemonitors"];

#[test]
fn every_crd_equals_the_real_one_in_every_minor() {
    let Some(folder) = crate::recordings::shared_or_skip("crds") else { return };
    let Some(all) = crate::recordings::shared_or_skip("openshift-api-crds") else { return };
    let (mut found, mut compared) = (Vec::new(), BTreeSet::new());
    for (major, minor) in minors() {
        for ours in manifests::crds((major, minor)) {
            let (name, plural) = (&ours["metadata"]["name"], &ours["spec"]["names"]["plural"]);
            let (name, plural) = (name.as_str().unwrap(), plural.as_str().unwrap().to_owned());
            let minor = format!("{major}.{minor}");
            let path = folder.join(format!("{minor}/{plural}.yaml"));
            let path = if path.exists() { path } else { all.join(format!("{minor}/{name}.yaml")) };
            if WITHOUT_REAL_CRD.contains(&plural.as_str()) || !path.exists() {
                continue;
            }
            let real: Value = yaml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let at = format!("{minor} {plural} ");
            differences(&at, &comparable(ours.clone()), &comparable(real), &mut found);
            compared.insert(plural);
        }
    }
    let names = manifests::crds((5, 0)).map(|crd| crd["spec"]["names"]["plural"].as_str().unwrap());
    for name in names {
        assert!(compared.contains(name) || WITHOUT_REAL_CRD.contains(&name), "{name} was not compared");
    }
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

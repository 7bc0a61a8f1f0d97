//! The public reasons why updates stop, in a dump of ours and in a real one, for rehearsals and for rules of others.

use serde_json::{Value, json};

use super::yardsticks::{checks, predictor};
use super::{TestEnvironment, dump, names, plant, report};

/// A dump, and the releases to which it is updated.
struct Base {
    objects: Vec<Value>,
    z_stream: &'static str,
    minor: &'static str,
}

fn objects_of(path: &std::path::Path) -> Vec<Value> {
    let (dump, _) = windtunnel::cli::read_dump(path).unwrap();
    let objects = dump.objects().map(|(_, object)| object.to_value());
    objects.filter(|object| object["kind"] != "Event").collect()
}

/// The reasons for a base, with the names of its first worker and of the target.
fn reasons(base: &Base) -> Vec<Value> {
    let mut workers: Vec<&str> = base
        .objects
        .iter()
        .filter(|object| object["kind"] == "Node")
        .filter(|node| !node["metadata"]["labels"]["node-role.kubernetes.io/worker"].is_null())
        .filter_map(|node| node["metadata"]["name"].as_str())
        .collect();
    workers.sort_unstable();
    let text = std::fs::read_to_string(dump("reasons.yaml")).unwrap();
    let text = text.replace("WORKER", workers[0]).replace("TARGET", base.minor);
    let reasons: Value = windtunnel_core::yaml::from_str(&text).unwrap();
    reasons.as_array().unwrap().clone()
}

/// Whether a rehearsal finds a reason at its object, and what it finds instead.
fn finds(environment: &TestEnvironment, objects: &[Value], reason: &Value, to: &str) -> Result<(), String> {
    let list = json!({ "kind": "List", "apiVersion": "v1", "items": objects });
    environment.write("dump.json", list.to_string());
    let (report, _) = report(environment, &["dump.json", "--to", to]);
    let found = |part: &str| {
        let found = report[part].as_array().unwrap();
        names(found.iter().map(|one| &one["cause"]))
    };
    let expected = |part: &str| {
        reason["expect"][part].as_array().map(|expected| names(expected.iter())).unwrap_or_default()
    };
    let warned = found("warnings");
    if found("stops") == expected("stops") && expected("warns").iter().all(|name| warned.contains(name)) {
        return Ok(());
    }
    Err(format!("{}: {report:#}", reason["about"]))
}

/// A line for each reason: who finds it.
fn table(base: &Base) -> String {
    let environment = TestEnvironment::new();
    let mut lines = Vec::new();
    for reason in reasons(base) {
        let mut objects = base.objects.clone();
        plant(&mut objects, &reason);
        let to = if reason["minor"] == true { base.minor } else { base.z_stream };
        let found = finds(&environment, &objects, &reason, to);
        let word = |is_found: bool| if is_found { "found" } else { "missed" };
        let [ours, predicted, checked] =
            [found.is_ok(), predictor(&objects, &[]), checks(&objects, &[])].map(word);
        lines.push(format!("| {} | {ours} | {predicted} | {checked} |", reason["about"].as_str().unwrap()));
    }
    lines.join("\n")
}

/// The rows of the table in the documentation.
fn documented() -> String {
    let path = format!("{}/docs/faithfulness.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| reason | `rehearse` |")).skip(2);
    rows.take_while(|line| line.starts_with("| ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn public_reasons_are_found_in_a_dump_of_ours() {
    let objects = objects_of(dump("healthy.yaml").as_ref());
    assert!(!predictor(&objects, &[]) && !checks(&objects, &[]));
    let base = Base { objects, z_stream: "4.18.9", minor: "4.19.1" };
    compare(&table(&base), &documented());
}

#[test]
fn public_reasons_are_found_in_a_real_dump() {
    let Some(dumps) = crate::recordings::shared_or_skip("dumps") else { return };
    let objects = objects_of(&dumps.join("must-gather-4.18-gcp.tar.gz"));
    assert!(!predictor(&objects, &[]) && !checks(&objects, &[]));
    let base = Base { objects, z_stream: "4.18.2", minor: "4.19.1" };
    compare(&table(&base), &documented());
}

/// Compares two tables by their lines.
fn compare(found: &str, expected: &str) {
    let different: Vec<(&str, &str)> =
        found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected).collect();
    assert!(found == expected, "found and documented: {different:#?}");
}

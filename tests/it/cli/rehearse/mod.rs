//! `windtunnel rehearse`.

mod captures;
mod outputs;
mod reasons;
mod settled;
mod yardsticks;

use serde_json::{Value, json};

use super::environment::TestEnvironment;

/// A file or a folder of `tests/dumps`.
fn dump(name: &str) -> String {
    format!("{}/tests/dumps/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The report of a rehearsal as JSON, after a check with its schema, and the exit code.
fn report(environment: &TestEnvironment, arguments: &[&str]) -> (Value, Option<i32>) {
    let output = environment.run(&[&["rehearse", "--output", "json"], arguments].concat());
    let report: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"));
    let validator = jsonschema::validator_for(&windtunnel::rehearsal::schema()).unwrap();
    let problems: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?} in {report:#}");
    (report, output.code)
}

/// The phases and causes of the stops, as `PHASE: KIND NAMESPACE/NAME`.
fn stops(report: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    let line = |stop: &Value| {
        let cause = &stop["cause"];
        format!(
            "{}: {} {}/{}",
            text(&stop["phase"]),
            text(&cause["kind"]),
            text(&cause["namespace"]),
            text(&cause["name"])
        )
    };
    report["stops"].as_array().unwrap().iter().map(line).collect()
}

#[test]
fn each_stop_names_its_object_and_the_update_goes_on() {
    let environment = TestEnvironment::new();
    let (report, code) = report(&environment, &[&dump("held-up.yaml"), "--to", "4.17.3"]);
    assert_eq!(code, Some(1), "{report:#}");
    assert_eq!(report["result"], "stops");
    insta::assert_snapshot!(stops(&report).join("\n"), @"
    accept: ConfigMap openshift-config/admin-acks
    accept: ClusterServiceVersion shop/till.v1.0.0
    control-plane: ValidatingWebhookConfiguration /guard
    pool edge: MachineConfigPool /edge
    pool worker: PodDisruptionBudget shop/web
    pool worker: Pod shop/clerk
    ");
    let last = report["stops"].as_array().unwrap().last().unwrap();
    assert!(last["mend"].is_string(), "the update is complete in the end: {report:#}");
    assert!(report["duration"]["pools"]["worker"]["least"].as_i64() > Some(0), "{report:#}");
}

#[test]
fn a_cluster_without_reasons_to_stop_is_unknown_for_what_its_dump_lacks() {
    let environment = TestEnvironment::new();
    let healthy = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "spec": { "channel": "stable-4.18" },
        "status": { "history": [{
            "state": "Completed", "version": "4.18.3", "image": "example.com/r@sha256:1", "verified": true,
            "startedTime": "2026-03-02T08:00:00Z", "completionTime": "2026-03-02T08:40:00Z",
        }] },
    });
    environment.write("healthy.json", healthy.to_string());
    let (report, code) = report(&environment, &["healthy.json", "--to", "4.18.9"]);
    assert_eq!((code, &report["result"]), (Some(3), &json!("unknown")), "{report:#}");
    assert!(
        report["unknown"].as_array().unwrap().iter().any(|one| one["collect"] == "oc get pods -A -o yaml")
    );
    let accepted = environment.run(&["rehearse", "healthy.json", "--to", "4.18.9", "--accept-unknown"]);
    assert_eq!(accepted.code, Some(0), "{accepted}");
    assert!(
        accepted
            .stdout
            .starts_with("Rehearsed 4.18.3 to 4.18.9 in 1 run: nothing found in what the dump shows\n"),
        "{accepted}"
    );
}

#[test]
fn unusable_input_is_an_error() {
    let environment = TestEnvironment::new();
    environment.write("node.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n");
    let held_up = dump("held-up.yaml");
    for (arguments, expected) in [
        (&["nowhere", "--to", "4.18.9"][..], "error: nowhere: "),
        (&["node.yaml", "--to", "4.18.9"], "error: node.yaml: expected ClusterVersion `version`, found none"),
        (&[&held_up, "--to", "4.16.9"], "error: --to 4.16.9: the cluster has this release already"),
        (&[&held_up, "--to", "4.16.3"], "error: --to 4.16.3: expected a release after 4.16.9"),
        (&[&held_up, "--to", "4.18.3"], "an update from 4.16.9 leaves out 4.17; add a release of each minor"),
        (&[&held_up, "--to", "latest"], "latest"),
        (&[&held_up], "--to <VERSION>"),
    ] {
        let output = environment.run(&[&["rehearse"], arguments].concat());
        assert_eq!(output.code, Some(2), "{output}");
        assert!(output.stderr.contains(expected), "{expected} is not in {output}");
    }
}

/// Merges a patch into a value (RFC 7386).
fn merge(value: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else { return *value = patch.clone() };
    if !value.is_object() {
        *value = json!({});
    }
    for (name, field) in fields {
        if field.is_null() {
            value.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut value[name], field);
        }
    }
}

/// Changes the objects of a dump as `../shared/dumps/plant.py` does: it adds whole ones, and merges patches into each copy of
/// another.
fn plant(objects: &mut Vec<Value>, plant: &Value) {
    for patch in plant["patch"].as_array().into_iter().flatten() {
        let is_meant = |object: &&mut Value| {
            object["kind"] == patch["kind"]
                && object["metadata"]["name"] == patch["name"]
                && object["metadata"]["namespace"] == patch["namespace"]
        };
        objects.iter_mut().filter(is_meant).for_each(|object| merge(object, &patch["merge"]));
    }
    objects.extend(plant["add"].as_array().into_iter().flatten().cloned());
}

/// The names that a plant or a report has, as `KIND NAMESPACE/NAME`.
fn names<'v>(causes: impl Iterator<Item = &'v Value>) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    causes
        .map(|cause| {
            format!("{} {}/{}", text(&cause["kind"]), text(&cause["namespace"]), text(&cause["name"]))
        })
        .collect()
}

#[test]
fn each_planted_reason_is_found_at_its_object_and_the_cluster_without_it_does_not_stop() {
    let Some(dumps) = crate::recordings::shared_or_skip("dumps") else { return };
    let environment = TestEnvironment::new();
    let archive = dumps.join("must-gather-4.18-gcp.tar.gz");
    let (dump, problems) = windtunnel::cli::read_dump(&archive).unwrap();
    assert!(problems.len() < 3, "{problems:?}");
    let all: Vec<Value> = dump.objects().map(|(_, object)| object.to_value()).collect();
    // Events are most of the dump, and no rehearsal reads them.
    let all: Vec<Value> = all.into_iter().filter(|object| object["kind"] != "Event").collect();
    let rehearse = |objects: &[Value], to: &str| {
        environment
            .write("dump.json", json!({ "kind": "List", "apiVersion": "v1", "items": objects }).to_string());
        report(&environment, &["dump.json", "--to", to]).0
    };
    for to in ["4.18.2", "4.19.1"] {
        let healthy = rehearse(&all, to);
        assert_eq!((&healthy["result"], &healthy["stops"]), (&json!("unknown"), &json!([])), "{healthy:#}");
    }
    for path in crate::recordings::entries(&dumps.join("plants")) {
        let planted: Value =
            windtunnel_core::yaml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut objects = all.clone();
        plant(&mut objects, &planted);
        let report = rehearse(&objects, planted["to"].as_str().unwrap());
        let found = names(report["stops"].as_array().unwrap().iter().map(|stop| &stop["cause"]));
        let expected =
            planted["expect"]["stops"].as_array().map(|stops| names(stops.iter())).unwrap_or_default();
        assert_eq!(found, expected, "{}: {report:#}", path.display());
        let warned = names(report["warnings"].as_array().unwrap().iter().map(|warning| &warning["cause"]));
        let expected =
            planted["expect"]["warns"].as_array().map(|warns| names(warns.iter())).unwrap_or_default();
        assert!(expected.iter().all(|name| warned.contains(name)), "{}: {report:#}", path.display());
    }
}

#[test]
fn objects_of_removed_versions_are_taken_over() {
    let environment = TestEnvironment::new();
    let text = std::fs::read_to_string(dump("held-up.yaml")).unwrap();
    environment.write("old.yaml", text.replace("apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n"));
    let (report, _) = report(&environment, &["old.yaml", "--to", "4.16.12"]);
    assert!(stops(&report).contains(&"pool worker: PodDisruptionBudget shop/web".to_owned()), "{report:#}");
}

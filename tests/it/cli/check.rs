//! `windtunnel check`: records of runs, and of a cluster that was only watched.

use serde_json::Value;

use super::environment::{TestEnvironment, check};

/// An update from its request to its end.
const SOUND: &str = "name: an update
cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}
releases: {4.18.7: {}}
timeline:
- update: {to: 4.18.7}
- expect: {update: complete, within: 4h}
- advance: 1h
";

/// The administrator gives the second worker its target while the first one is away.
const WATCHED: &str = r#"{"windtunnel":"0.1.0","format":2,"scenario":"watched","ids":[],"seed":0,"epoch":60000}
{"at":59000,"write":{"by":"installer","verb":"create","kind":"MachineConfigPool","group":"machineconfiguration.openshift.io","plural":"machineconfigpools","name":"worker","code":201,"created":true,"object":{"metadata":{"name":"worker"},"spec":{"nodeSelector":{"matchLabels":{"role":"worker"}}}}}}
{"at":59000,"write":{"by":"installer","verb":"create","kind":"Node","plural":"nodes","name":"w0","code":201,"created":true,"object":{"metadata":{"name":"w0","labels":{"role":"worker"},"annotations":{"machineconfiguration.openshift.io/currentConfig":"a","machineconfiguration.openshift.io/desiredConfig":"b","machineconfiguration.openshift.io/state":"Working"}},"status":{"conditions":[{"type":"Ready","status":"False"}]}}}}
{"at":59000,"write":{"by":"installer","verb":"create","kind":"Node","plural":"nodes","name":"w1","code":201,"created":true,"object":{"metadata":{"name":"w1","labels":{"role":"worker"},"annotations":{"machineconfiguration.openshift.io/currentConfig":"a","machineconfiguration.openshift.io/desiredConfig":"a","machineconfiguration.openshift.io/state":"Done"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}}}
{"at":105000,"write":{"by":"machine-config-controller","verb":"update","kind":"Node","plural":"nodes","name":"w1","code":200,"patch":{"metadata":{"annotations":{"machineconfiguration.openshift.io/desiredConfig":"b"}}}}}
"#;

#[test]
fn the_record_of_an_update_keeps_all_rules() {
    let environment = TestEnvironment::with(&[("sound.yaml", SOUND)]);
    let run = environment.run(&["run", "sound.yaml", "--record", "sound.jsonl"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    let output = environment.run(&["check", "sound.jsonl"]);
    assert_eq!((output.code, &*output.stdout), (Some(0), "1 record: no rule is broken\n"));
}

#[test]
fn a_broken_rule_is_reported_with_its_line() {
    let files = [("records/watched.jsonl", WATCHED)];
    insta::assert_snapshot!(check(&files, &["check", "records"]), @"
    exit 1
    records/watched.jsonl:5: 0:00:45 Node/w1 gets another MachineConfig while 1 nodes of pool worker are unavailable: maxUnavailable is 1 [max-unavailable]
    1 record: rules are broken at 1 place
    ");
    let environment = TestEnvironment::with(&files);
    let output = environment.run(&["check", "records", "--format", "json"]);
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    let broken = &document["records"][0]["broken"];
    assert_eq!(broken[0]["rule"], "max-unavailable", "{broken}");
    assert_eq!((&broken[0]["line"], &broken[0]["object"]), (&Value::from(5), &Value::from("Node/w1")));
    assert!(document["rules"].as_array().unwrap().len() > 10, "{document}");
}

#[test]
fn other_rules_and_unreadable_files_are_reported() {
    let files = [("watched.jsonl", WATCHED), ("other.jsonl", "{}\n")];
    let output = check(&files, &["check", "watched.jsonl", "--rule", "budget"]);
    assert!(output.contains("exit 0"), "{output}");
    let output = check(&files, &["check", "watched.jsonl", "--rule", "bugdet"]);
    assert!(output.contains("exit 2") && output.contains("`budget`"), "{output}");
    let output = check(&files, &["check", "other.jsonl"]);
    assert!(output.contains("exit 2") && output.contains("other.jsonl:1: expected"), "{output}");
}

//! `windtunnel rbac RECORD`: the rights that programs of a scenario need.

use serde_json::{Value, json};

use super::environment::TestEnvironment;
use super::programs::has_python;
use crate::skipped::skipped;

/// A program that lists, watches and creates ConfigMaps, with nothing but Python's own library.
const RESTRICTED: &str = include_str!("../../programs/restricted.py");

/// A scenario whose program may delete ConfigMaps, which it never does, and may not create them, which it must.
const SCENARIO: &str = "
name: n
cluster:
  version: 4.18.3
  nodes: {control-plane: 1, workers: 1}
  objects:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {namespace: default, name: mine}
    rules:
    - {apiGroups: [''], resources: [configmaps], verbs: [list, watch]}
    - {apiGroups: [''], resources: [configmaps], verbs: [delete]}
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {namespace: default, name: mine}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: mine}
    subjects: [{kind: ServiceAccount, namespace: default, name: mine}]
programs:
- {name: mine, command: [python3, ./restricted.py], as: 'system:serviceaccount:default:mine'}
timeline:
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: one}}
- advance: 1m
";

#[test]
fn a_record_has_the_used_and_unused_rules_of_a_program_and_its_refused_requests() {
    if !has_python() {
        return skipped("python3");
    }
    let environment = TestEnvironment::with(&[("a.yaml", SCENARIO), ("restricted.py", RESTRICTED)]);
    let output = environment.run(&[
        "run",
        "a.yaml",
        "--allow-programs",
        "--record",
        "a.jsonl",
        "--check-determinism",
        "--quiet",
    ]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(environment.read("a.jsonl").contains("create: 403"));
    let output = environment.run(&["rbac", "a.jsonl"]);
    insta::assert_snapshot!(output, @"
    exit 0
    system:serviceaccount:default:mine
      Role/default/mine by RoleBinding/default/mine
        rule 1, used: list configmaps, watch configmaps
        rule 2, not used
          unused: delete configmaps
      refused: create configmaps in default
    ");
    assert_eq!(environment.run(&["rbac", "a.jsonl", "--user", "mine", "--strict"]).code, Some(1));
    let output = environment.run(&["rbac", "a.jsonl", "--user", "mine", "--format", "json"]);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["users"][0]["rules"][1]["unused"], json!(["delete configmaps"]));
    assert_eq!(report["users"][0]["refused"][0]["verb"], "create");
    let output = environment.run(&["rbac", "a.jsonl", "--user", "other"]);
    assert!(output.code == Some(1) && output.stderr.contains("has sent no request in this run"), "{output}");
}

#[test]
fn a_record_without_programs_has_no_requests_of_users() {
    let scenario = "name: n\ncluster: {version: 4.18.3}\ntimeline:\n- advance: 1m\n";
    let environment = TestEnvironment::with(&[("a.yaml", scenario)]);
    let output = environment.run(&["run", "a.yaml", "--allow-programs", "--record", "a.jsonl", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
    let output = environment.run(&["rbac", "a.jsonl"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("a.jsonl: the record has no requests of users"), "{output}");
    let both = environment.run(&["rbac", "a.jsonl", "--kubeconfig", "k"]);
    assert!(both.code == Some(2) && both.stderr.contains("cannot be used with"), "{both}");
}

//! `expect: {leader: ...}` with two instances of a program, and the clock of one of them.

use super::environment::{Output, TestEnvironment};
use super::programs::has_python;
use crate::skipped::skipped;

/// A controller with leader election, with nothing but Python's own library.
const LEADER: &str = include_str!("../../programs/leader.py");

fn config_map(name: &str) -> String {
    format!("- apply: {{apiVersion: v1, kind: ConfigMap, metadata: {{namespace: default, name: {name}}}}}\n")
}

/// A scenario with the instances `one`, which holds the Lease after a minute, and `two`.
fn scenario(careful: &str, timeline: &str) -> String {
    let program = |name: &str| {
        let command = format!("[python3, ./leader.py, {name}{careful}]");
        format!("- {{name: {name}, command: {command}, as: 'system:serviceaccount:kube-system:{name}'}}\n")
    };
    let role = "  - apiVersion: rbac.authorization.k8s.io/v1\n    kind: ClusterRoleBinding\n    metadata: {name: both}\n    \
                roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n    \
                subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'system:serviceaccounts:kube-system'}]\n";
    format!(
        "name: n\ncluster:\n  version: 4.18.3\n  nodes: {{control-plane: 1, workers: 0}}\n  objects:\n{role}programs:\n{}{}\
         timeline:\n{}- fault: {{process: two, is: paused, for: 5s}}\n{}- advance: 10s\n\
         - expect: {{object: ConfigMap/default/work, fields: {{data.by: one}}}}\n{timeline}",
        program("one"),
        program("two"),
        config_map("work"),
        config_map("job-1"),
    )
}

fn run(careful: &str, timeline: &str) -> Output {
    let scenario = scenario(careful, timeline);
    TestEnvironment::with(&[("a.yaml", &scenario), ("leader.py", LEADER)]).run(&[
        "run",
        "a.yaml",
        "--allow-programs",
        "--quiet",
    ])
}

/// The leader is stopped until its Lease has expired and the other instance has worked; then it sees the job, too.
fn paused() -> String {
    format!(
        "- fault: {{process: one, is: paused, for: 2m}}\n- advance: 90s\n{}\
         - expect: {{leader: {{lease: default/leader, handovers: 1, gap: 2m}}, within: 10s}}\n\
         - expect: {{object: ConfigMap/default/work, fields: {{data.by: two}}, within: 10s}}\n\
         - expect: {{leader: {{lease: default/leader, handovers: 1}}, throughout: 5m}}\n",
        config_map("job-2")
    )
}

#[test]
fn a_paused_leader_that_looks_at_its_lease_does_not_write_any_more() {
    if !has_python() {
        return skipped("python3");
    }
    let output = run(", --careful", &paused());
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn a_leader_that_writes_after_it_lost_its_lease_fails_the_expectation() {
    if !has_python() {
        return skipped("python3");
    }
    let output = run("", &paused());
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output.stdout.contains(
            "seen: one made a write that only the holder may make, after 2m10s: patch of ConfigMap/default/work; two took Lease \
             default/leader after 1m40s and holds it"
        ),
        "{output}"
    );
}

#[test]
fn a_lease_that_changes_hands_too_late_or_not_at_all_fails_the_expectation() {
    if !has_python() {
        return skipped("python3");
    }
    let late = paused().replace("gap: 2m", "gap: 1m");
    let output = run(", --careful", &late);
    assert_eq!(output.code, Some(1), "{output}");
    assert!(
        output.stdout.contains("the gap before a handover of Lease default/leader was 1m40s"),
        "{output}"
    );
    let output = run(", --careful", "- expect: {leader: {lease: default/leader, handovers: 1}}\n");
    assert_eq!(output.code, Some(1), "{output}");
    assert!(output.stdout.contains("0 handovers of Lease default/leader: one took it last"), "{output}");
}

/// The Lease is 20 seconds old when the other instance sees the next job, of the 60 seconds for which it is valid.
#[test]
fn an_instance_whose_clock_is_ahead_takes_a_lease_that_has_not_expired() {
    if !has_python() {
        return skipped("python3");
    }
    let timeline = |fault: &str, seen: &str| {
        let job = config_map("job-2");
        format!(
            "- advance: 10s\n{fault}- fault: {{process: one, is: paused, for: 1s}}\n{job}- advance: 5s\n\
             - expect: {{leader: {{lease: default/leader, handovers: {seen}}}}}\n"
        )
    };
    let output = run(", --careful", &timeline("", "0"));
    assert_eq!(output.code, Some(0), "{output}");
    let ahead = "- fault: {process: two, is: clock-ahead, by: 2m}\n";
    let output = run(", --careful", &timeline(ahead, "1"));
    assert_eq!(output.code, Some(0), "{output}");
    let output = run("", &timeline(ahead, "1"));
    assert!(
        output.stdout.contains("seen: one made a write that only the holder may make, after 21s"),
        "{output}"
    );
    let healed = format!("{ahead}- heal: {{process: two}}\n");
    let output = run(", --careful", &timeline(&healed, "0"));
    assert_eq!(output.code, Some(0), "{output}");
    let component = "- fault: {process: cluster-version-operator, is: clock-behind, by: 2m}\n";
    let output = run(", --careful", component);
    assert!(output.stdout.contains("only programs of your machine can have a wrong clock"), "{output}");
}

#[test]
fn a_feature_expects_that_only_the_holder_of_a_lease_wrote() {
    let lease = "Lease/openshift-cluster-version/version";
    let feature = |step: &str| {
        let text = format!(
            "Feature: f\n  Scenario: s\n    Given a 4.18.3 cluster with 1 control-plane node and 0 workers\n    When 10 \
             minutes pass\n    Then {step}\n"
        );
        TestEnvironment::with(&[("a.feature", &text)]).run(&["test", "a.feature"])
    };
    let output = feature(&format!("throughout 1 minute only the holder of {lease} wrote, after 0 handovers"));
    assert_eq!(output.code, Some(0), "{output}");
    let output = feature(&format!("of \"machine-config-operator\" only the holder of {lease} wrote"));
    assert_eq!(output.code, Some(0), "{output}");
    let output =
        feature(&format!("only the holder of {lease} wrote, after 1 handover with gaps of at most 1 minute"));
    assert_eq!(output.code, Some(1), "{output}");
    let wrong = "only the holder of Lease/a/b/c wrote";
    let output = feature(wrong);
    assert!(output.stderr.contains("expected a Lease as `NAMESPACE/NAME`"), "{output}");
}

//! What a failed expectation says besides what it saw.

use super::environment::check;

fn run(timeline: &str) -> String {
    let head = "name: n\ncluster: {version: 4.20.1, insights: true, nodes: {control-plane: 1, workers: 1}}\n\
                releases: {4.20.5: }\ntimeline:\n";
    check(&[("a.yaml", &format!("{head}{timeline}"))], &["run", "a.yaml", "--quiet"])
}

#[test]
fn lists_all_candidates_and_the_faults_in_effect() {
    let output = run("- fault: {operator: dns, is: unavailable}\n\
                      - fault: {operator: etcd, is: degraded}\n\
                      - fault: {operator: network, is: degraded}\n\
                      - advance: 10m\n\
                      - heal: {operator: network}\n\
                      - update: {to: 4.20.5}\n\
                      - advance: 20m\n\
                      - expect: {insight: Health, summary: nothing like it}\n\
                      ");
    assert!(output.contains("exit 1"), "{output}");
    assert!(output.contains("seen: none of "), "{output}");
    assert!(output.contains("- about clusteroperators/dns: \""), "{output}");
    assert!(output.contains("- about clusteroperators/etcd: \""), "{output}");
    assert!(output.contains("fault: operator dns is unavailable, since 0s"), "{output}");
    assert!(output.contains("fault: operator etcd is degraded, since 0s"), "{output}");
    assert!(!output.contains("fault: operator network"), "{output}");
}

#[test]
fn lists_the_other_insights_of_the_kind() {
    let output = run("- fault: {operator: dns, is: unavailable}\n\
                      - update: {to: 4.20.5}\n\
                      - expect: {insight: Health, about: ClusterOperator/etcd, within: 20m}\n");
    assert!(output.contains("seen: no insight Health about ClusterOperator/etcd is published"), "{output}");
    assert!(output.contains("; published are:\n"), "{output}");
    assert!(output.contains("- about clusteroperators/dns: \""), "{output}");
}

#[test]
fn names_the_writes_that_keep_being_rejected() {
    let output = run("- apply: {apiVersion: v1, kind: Node, metadata: {name: worker-0, labels: {a: b}}}\n\
                      - fault: {webhook: {verb: update, kind: ClusterVersion, subresource: status}, is: unreachable}\n\
                      - update: {to: 4.20.5}\n\
                      - expect: {update: complete, within: 10m}\n");
    let expected = "rejected: update of status of ClusterVersion/version by cluster-version-operator: 500 ";
    assert!(output.contains(expected), "{output}");
}

//! Faults that never acted in a run: the result says which, and why.

use super::environment::{TestEnvironment, check};

/// The faults of a run that needs none of them.
const IDLE: &str = "name: n
cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}
releases: {4.18.7: }
timeline:
- fault: {registry: mirror.exmaple.com, is: unreachable}
- fault: {operator: dns, is: degraded, after: 40h}
- fault: {crd: clusterversions.config.openshift.io, is: stored-version}
- fault: {api: {verb: delete, kind: PersistentVolume}, is: unavailable}
- advance: 10m
- fault: {node: worker-0, is: does-not-return}
- fault: {operator: etcd, is: stalled}
- expect: {object: ClusterVersion/version}
";

#[test]
fn a_result_names_each_fault_that_never_acted() {
    let output = check(&[("a.yaml", IDLE)], &["run", "a.yaml", "--quiet"]);
    assert!(output.contains("PASS  n  (0:10:00 of cluster time; 6 faults never acted)"), "{output}");
    for expected in [
        "no image is pulled from mirror.exmaple.com",
        "the run ended before it, 40h after the start",
        "no component wrote CustomResourceDefinition clusterversions.config.openshift.io",
        "nothing sent such a request",
        "node worker-0 was neither drained, updated nor rebooted",
        "operator etcd began no rollout",
    ] {
        let warning = output.lines().find(|line| line.ends_with(expected));
        let warning = warning.unwrap_or_else(|| panic!("{expected}: {output}"));
        assert!(warning.starts_with("      warning: this fault never acted: "), "{warning}");
    }
}

#[test]
fn a_fault_that_acted_is_no_warning() {
    let text = "name: n\ncluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}\nreleases: {4.18.7: }\ntimeline:\n\
                - fault: {registry: quay.io, is: slow}\n- fault: {node: worker-0, is: reboot-refused}\n\
                - fault: {operator: dns, is: stalled}\n- update: {to: 4.18.7}\n- advance: 3h\n\
                - expect: {object: ClusterVersion/version}\n";
    let environment = TestEnvironment::with(&[("a.yaml", text)]);
    let output = environment.run(&["run", "a.yaml", "--quiet", "--junit", "j.xml"]);
    assert!(!output.stdout.contains("never acted: operator dns"), "{output}");
    assert!(!output.stdout.contains("never acted: registry"), "{output}");
    let environment = TestEnvironment::with(&[("a.yaml", IDLE)]);
    environment.run(&["run", "a.yaml", "--quiet", "--junit", "j.xml"]);
    assert_eq!(environment.read("j.xml").matches("idle-fault").count(), 6);
}

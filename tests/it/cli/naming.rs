//! The names that scenarios and features know: custom pools, labels, objects of the installer, admin gates, alerts.

use super::environment::{TestEnvironment, check};

/// Runs a scenario of a small cluster, with these lines in `cluster`.
fn run(cluster: &str, timeline: &str) -> String {
    let text = format!("name: n\ncluster:\n  version: 4.18.12\n{cluster}timeline:\n{timeline}");
    check(&[("a.yaml", &text)], &["run", "a.yaml", "--quiet"])
}

#[track_caller]
fn passes(cluster: &str, timeline: &str) {
    let output = run(cluster, timeline);
    assert!(output.starts_with("exit 0"), "{output}");
}

const NODES: &str = "  nodes: {control-plane: 1, workers: 1, \
                     pools: {infra: {count: 2, paused: true, max-unavailable: 50%}, big: 1}, \
                     labels: {infra-1: {disk: ssd, node-role.kubernetes.io/store: \"\"}}}\n";

#[test]
fn custom_pools_and_labels_exist_from_the_start() {
    passes(
        NODES,
        "- expect: {object: MachineConfigPool/infra, fields: {status.machineCount: 2, status.updatedMachineCount: 2, \
         spec.paused: \"true\", spec.maxUnavailable: 50%}}\n\
         - expect: {object: MachineConfigPool/big, condition: {type: Updated, status: \"True\"}}\n\
         - expect: {object: MachineConfigPool/worker, fields: {status.machineCount: 1}}\n\
         - run: {command: oc get nodes -l disk=ssd -o name, prints: node/infra-1}\n\
         - run: {command: oc get nodes -l node-role.kubernetes.io/infra -o name, prints: \"node/infra-0\\nnode/infra-1\"}\n\
         - expect: {object: MachineConfigPool/infra, fields: {status.machineCount: 2}, throughout: 10m}\n",
    );
}

#[test]
fn mistakes_in_pools_and_labels_are_explained() {
    let nodes = "  nodes:\n    pools:\n      worker: 2\n      Infra: {count: 1}\n      infra: {cout: 2}\n      \
                 big: {count: 1, max-unavailable: some}\n    labels: {worker-7: {a: b}}\n";
    let text = format!("name: n\ncluster:\n  version: 4.18.12\n{nodes}timeline:\n- advance: 1m\n");
    let output = TestEnvironment::with(&[("a.yaml", &text)]).run(&["lint", "a.yaml"]).to_string();
    for expected in [
        "a.yaml:6:7: `worker` is no custom pool: every cluster has nodes of this role; use a name such as `infra`",
        "a.yaml:7:7: expected the name of a pool such as `infra`, found `Infra`",
        "a.yaml:8:15: a pool has no key `cout`; did you mean `count`?",
        "a pool needs `count`: the number of its nodes, such as `2`",
        "expected a number of nodes or a percentage, found `some`",
        "a.yaml:10:14: expected one of `master-0`",
    ] {
        assert!(output.contains(expected), "{expected}\n{output}");
    }
}

#[test]
fn lint_knows_the_nodes_and_pools_from_the_start() {
    let timeline = "- expect: {object: MachineConfigPool/infra, fields: {status.machineCount: 2}}\n\
                    - expect: {node: infra-1, phase: Updated}\n- fault: {node: infra-2, is: not-ready}\n";
    let text = format!("name: n\ncluster:\n  version: 4.18.12\n{NODES}timeline:\n{timeline}");
    let output = TestEnvironment::with(&[("a.yaml", &text)]).run(&["lint", "a.yaml"]).to_string();
    assert!(output.contains("there is no node infra-2: the last one is infra-1"), "{output}");
    assert!(output.contains("0 errors, 1 warning"), "{output}");
}

#[test]
fn objects_are_merged_into_those_of_the_installer() {
    passes(
        "  nodes: {control-plane: 1, workers: 1}\n  objects:\n  \
         - {apiVersion: v1, kind: Node, metadata: {name: worker-0, labels: {disk: ssd}, annotations: {who: me}}}\n  \
         - apiVersion: machineconfiguration.openshift.io/v1\n    kind: MachineConfigPool\n    metadata: {name: worker}\n    \
         spec: {paused: true}\n",
        "- expect: {object: Node/worker-0, fields: {metadata.labels.disk: ssd, metadata.annotations.who: me, \
         status.nodeInfo.operatingSystem: linux}}\n\
         - expect: {object: MachineConfigPool/worker, fields: {spec.paused: \"true\", status.machineCount: 1}}\n",
    );
}

#[test]
fn gates_of_the_payload_are_acknowledged_unless_the_scenario_says_no() {
    let nodes = "  nodes: {control-plane: 1, workers: 0}\n";
    let gate = "data[\"ack-4.18-kube-1.32-api-removals-in-4.19\"]";
    let texts = format!(
        "- expect: {{object: ConfigMap/openshift-config-managed/admin-gates, fields: {{'{gate}': \
         {{contains: OpenShift 4.19 remove several APIs}}}}}}\n"
    );
    let upgradeable = "{object: ClusterVersion/version, condition: {type: Upgradeable, status: \"False\", \
                       reason: AdminAckRequired}, within: 10m}";
    passes(
        nodes,
        &format!(
            "{texts}- expect: {{object: ConfigMap/openshift-config/admin-acks, fields: {{'{gate}': \"true\"}}}}\n\
             - expect: {{object: ClusterVersion/version, no-condition: Upgradeable, throughout: 10m}}\n"
        ),
    );
    passes(&format!("{nodes}  admin-acks: false\n"), &format!("{texts}- expect: {upgradeable}\n"));
}

#[test]
fn a_health_insight_is_about_an_alert() {
    let about = |alert: &str| {
        format!(
            "- update: {{to: 4.18.14}}\n- fault: {{operator: dns, is: unavailable}}\n\
             - expect: {{insight: Health, about: {alert}, level: Critical, within: 20m}}\n"
        )
    };
    let cluster = "  insights: true\n  nodes: {control-plane: 1, workers: 0}\nreleases: {4.18.14: }\n";
    passes(cluster, &about("Alert/ClusterOperatorDown"));
    let output = run(cluster, &about("Alert/a/b/c"));
    assert!(
        output.contains("expected `Alert/<name>` or `Alert/<namespace>/<name>`, found `Alert/a/b/c`"),
        "{output}"
    );
    let output = run(cluster, &about("Alert/ClusterOperatorDegraded"));
    assert!(output.starts_with("exit 1"), "{output}");
}

#[test]
fn unknown_faults_in_annotations_are_rejected() {
    let object = "{apiVersion: config.openshift.io/v1, kind: ClusterOperator, metadata: {name: dns, annotations: \
                  {windtunnel.dev/fault: degradd}}}";
    passes(
        "  nodes: {control-plane: 1, workers: 0}\n",
        &format!("- try: {{apply: {object}, refused: {{contains: did you mean `degraded`}}}}\n"),
    );
}

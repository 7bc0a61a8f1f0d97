//! The reports of operators and daemons in rare but valid runs.

use super::passing;

#[test]
fn an_operator_that_is_degraded_for_20_minutes_never_fails_the_update() {
    for seed in 1..=6 {
        passing(
            seed,
            "cluster: {version: 4.18.1}
releases: {4.18.5: }
timeline:
- fault: {operator: etcd, is: degraded, for: 20m}
- update: {to: 4.18.5}
- expect: {update: complete, within: 3h}
- expect: {object: ClusterVersion/version, condition: {type: Failing, status: \"True\"}, never: true}
",
        );
    }
}

#[test]
fn a_pass_that_fails_early_reports_how_far_it_came() {
    passing(
        1,
        r#"cluster: {version: 4.18.1}
releases: {4.18.5: }
timeline:
- update: {to: 4.18.5}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: "True", message: /waiting on machine-config/}, within: 3h}
- fault: {operator: etcd, is: degraded}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, reason: ClusterOperatorDegraded}, within: 20m}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, message: '/: 1\d\d of \d+ done \(1\d% complete\), waiting up to 40 minutes on etcd/'}}
"#,
    );
}

#[test]
fn the_operator_of_the_old_release_reports_an_update_that_was_rolled_back() {
    passing(
        1,
        r#"cluster: {version: 4.18.1, nodes: {control-plane: 5, workers: 1}}
releases: {4.18.5: }
timeline:
- fault: {node: master-0, is: drain-blocked}
- update: {to: 4.18.5}
- expect: {object: ClusterOperator/machine-config, condition: {type: Progressing, status: "True", message: Working towards 4.18.5}, within: 4h}
- update: {to: 4.18.1}
- expect: {object: ControllerConfig/machine-config-controller, fields: {'metadata.annotations["machineconfiguration.openshift.io/release-image-version"]': 4.18.1}, within: 4h}
- advance: 2m
- expect: {object: ClusterOperator/machine-config, fields: {"status.versions[0].version": 4.18.1}}
- expect: {object: ClusterOperator/machine-config, condition: {type: Progressing, status: "False", message: Cluster version is 4.18.1}}
"#,
    );
}

#[test]
fn a_machine_config_operator_without_an_end_reports_the_reason() {
    for minor in [17, 18, 21] {
        let (old, new) = (format!("4.{minor}.1"), format!("4.{minor}.5"));
        passing(
            1,
            &format!(
                "cluster: {{version: {old}}}
releases: {{{new}: }}
timeline:
- fault: {{operator: machine-config, is: stalled, reason: Stuck, message: cannot go on}}
- update: {{to: {new}}}
- expect: {{object: ClusterOperator/machine-config, condition: {{type: Progressing, status: \"True\", reason: Stuck, message: /cannot go on/}}, within: 3h}}
"
            ),
        );
    }
}

#[test]
fn a_migration_to_several_architectures_completes_and_later_updates_keep_them() {
    for minor in [19, 20, 21] {
        let (old, new) = (format!("4.{minor}.1"), format!("4.{minor}.5"));
        passing(
            1,
            &format!(
                "cluster: {{version: {old}}}
releases: {{{new}: }}
timeline:
- run: oc adm upgrade --to-multi-arch
- expect: {{update: complete, within: 3h}}
- expect: {{object: ClusterVersion/version, condition: {{type: ReleaseAccepted, message: /architecture=\"Multi\"/}}}}
- update: {{to: {new}}}
- expect: {{update: complete, within: 3h}}
- expect: {{object: ClusterVersion/version, condition: {{type: ReleaseAccepted, message: /{new}.*architecture=\"Multi\"/}}}}
"
            ),
        );
    }
}

#[test]
fn a_daemon_whose_writes_are_rejected_waits_up_to_a_minute() {
    passing(
        1,
        "cluster: {version: 4.19.1, nodes: {control-plane: 3, workers: 1}}
timeline:
- fault: {api: {by: machine-config-daemon/worker-0, kind: Node}, is: internal-error, for: 1h}
- apply:
    apiVersion: machineconfiguration.openshift.io/v1
    kind: MachineConfig
    metadata: {name: 99-worker-quiet, labels: {machineconfiguration.openshift.io/role: worker}}
    spec: {config: {ignition: {version: 3.2.0}}, kernelArguments: [quiet]}
- advance: 1h
- expect: {requests: {by: machine-config-daemon/worker-0, kind: Node, at-most: 70}}
- expect: {object: MachineConfigPool/worker, condition: {type: Updated, status: \"True\"}, within: 2h}
",
    );
}

//! Tests of the warnings.

use windtunnel_openshift::release::Release;

use super::warnings;
use crate::scenario;

fn check(text: &str, expected: &str) {
    let plans = scenario::parse_all("s.yaml", text, &Release::find).unwrap();
    let found: Vec<String> = warnings(&plans, text).iter().map(ToString::to_string).collect();
    assert_eq!(found.join("\n"), expected, "\n{text}");
}

const HEAD: &str = "name: n\ncluster: {version: 4.20.1, nodes: {workers: 2}}\n";

#[test]
fn warns_of_scenarios_and_steps_without_expectations() {
    check(
        &format!("{HEAD}timeline:\n- clear-update\n- advance: 1h\n"),
        "s.yaml:1:1: this scenario expects nothing, so it always passes\n\
         s.yaml:5:3: no step expects anything of the time that passes at the end",
    );
    check(&format!("{HEAD}timeline:\n- advance: 1h\n- expect: {{object: ClusterVersion/version}}\n"), "");
}

#[test]
fn warns_of_a_switch_to_the_feature_set_that_the_cluster_has() {
    let switch = "- feature-set: {name: DevPreviewNoUpgrade, quick: true}\n";
    let expect = "- expect: {object: ClusterVersion/version}\n";
    check(&format!("{HEAD}timeline:\n{switch}{expect}"), "");
    check(
        &format!("{HEAD}timeline:\n{switch}- feature-set: DevPreviewNoUpgrade\n{expect}"),
        "s.yaml:5:3: the cluster has the feature set `DevPreviewNoUpgrade` already, so this step changes nothing",
    );
}

#[test]
fn warns_of_an_unused_release() {
    let scenario = |timeline: &str| format!("{HEAD}releases:\n  4.20.8:\ntimeline:\n{timeline}");
    check(
        &scenario("- expect: {object: ClusterVersion/version}\n"),
        "s.yaml:4:3: release 4.20.8 is not used: no step updates to it or mentions it",
    );
    check(&scenario("- update: {to: 4.20.8}\n- expect: {object: ClusterVersion/version}\n"), "");
    check(&scenario("- run: oc adm upgrade --to 4.20.8\n"), "");
}

#[test]
fn a_parameter_uses_its_release() {
    check(
        "name: n\nparameters: [{to: 4.20.8}]\ncluster: {version: 4.20.1}\nreleases: {<to>: }\ntimeline:\n\
         - update: {to: <to>}\n- expect: {object: ClusterVersion/version}\n",
        "",
    );
}

#[test]
fn warns_of_nodes_and_operators_that_do_not_exist() {
    check(
        &format!(
            "{HEAD}timeline:\n- fault: {{node: worker-2, is: not-ready}}\n- fault: {{operator: etdc, is: degraded}}\n\
             - expect: {{node: master-3, phase: Updated}}\n- expect: {{object: ClusterOperator/etcd}}\n\
             - expect: {{object: Node/worker-9}}\n- expect: {{object: Node/other}}\n"
        ),
        "s.yaml:4:3: there is no node worker-2: the last one is worker-1\n\
         s.yaml:5:3: no release of this scenario has an operator etdc; did you mean `etcd`?\n\
         s.yaml:6:3: there is no node master-3: the last one is master-2\n\
         s.yaml:8:3: there is no node worker-9: the last one is worker-1\n\
         s.yaml:9:3: there is no node other",
    );
}

#[test]
fn a_joined_machine_is_a_node_and_cannot_join_again() {
    check(
        &format!(
            "{HEAD}timeline:\n- join: worker-1\n- join: worker-2\n- fault: {{node: worker-2, is: not-ready}}\n\
             - join: other\n- join: worker-2\n- expect: {{object: Node/worker-2}}\n"
        ),
        "s.yaml:4:3: node worker-1 already exists\n\
         s.yaml:8:3: node worker-2 already exists",
    );
}

#[test]
fn warns_of_unknown_condition_types_and_reasons() {
    let insights = HEAD.replace("4.20.1,", "4.20.1, insights: true,");
    check(
        &format!(
            "{insights}timeline:\n\
             - expect: {{insight: ClusterVersion/version, condition: {{type: Updatin, status: \"False\"}}}}\n\
             - expect: {{object: ClusterVersion/version, condition: {{type: ReleaseAccepted, reason: PreconditionCheck}}}}\n\
             - expect: {{object: ClusterOperator/etcd, no-condition: Degradd}}\n\
             - expect: {{object: ClusterOperator/etcd, no-condition: BrandNew}}\n\
             - expect: {{insight: Node/worker-0, condition: {{type: Updating, reason: Sleeping}}}}\n\
             - expect: {{statuses: {{object: MachineConfigPool/worker, condition: Update, statuses: [\"True\"]}}}}\n\
             - expect: {{insight: Health, about: ClusterOperator/etdc, never: true}}\n"
        ),
        "s.yaml:4:3: no insight ClusterVersion has a condition `Updatin`; did you mean `Updating`?\n\
         s.yaml:5:3: no ClusterVersion reports the reason `PreconditionCheck` for ReleaseAccepted; did you mean `PreconditionChecks`?\n\
         s.yaml:6:3: no ClusterOperator has a condition `Degradd`; did you mean `Degraded`?\n\
         s.yaml:8:3: no insight Node reports the reason `Sleeping` for Updating; there are `Draining`, `Updating`, `Rebooting`, `Completed`, `Paused`, `Pending`\n\
         s.yaml:9:3: no MachineConfigPool has a condition `Update`; did you mean `Updated`?\n\
         s.yaml:10:3: no release of this scenario has an operator etdc; did you mean `etcd`?",
    );
}

#[test]
fn warns_of_a_phase_that_no_daemon_reports() {
    let warning = "no machine-config daemon reports Rebooting: expect Updating until the reboot is over";
    check(
        &format!(
            "{HEAD}timeline:\n\
             - expect: {{node: worker-0, phase: Rebooting, within: 3h}}\n\
             - expect: {{node: worker-0, phases: [Updated, Draining, Rebooting, Updated]}}\n\
             - expect: {{node: worker-0, phase: Updating, within: 3h}}\n"
        ),
        &format!("s.yaml:4:3: {warning}\ns.yaml:5:3: {warning}"),
    );
}

#[test]
fn warns_of_absent_insights_while_none_are_published() {
    let absent = "- expect: {insight: Health, absent: true}\n";
    check(
        &format!("{HEAD}timeline:\n{absent}"),
        "s.yaml:4:3: no insights are published yet, so this expectation always holds: start with `insights: true` (in features: `Given insights are published`)",
    );
    check(&format!("{HEAD}timeline:\n- publish-insights\n{absent}"), "");
}

#[test]
fn accepts_objects_that_earlier_steps_apply() {
    check(
        &format!(
            "{HEAD}timeline:\n- apply: {{apiVersion: config.openshift.io/v1, kind: ClusterOperator, metadata: {{name: mine}}, spec: {{}}}}\n\
             - expect: {{object: ClusterOperator/mine}}\n"
        ),
        "",
    );
}

#[test]
fn warns_of_pools_that_do_not_exist() {
    let pool = "apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfigPool";
    check(
        &format!(
            "{HEAD}timeline:\n- apply: {{{pool}, metadata: {{name: workers}}, spec: {{paused: true}}}}\n\
             - fault: {{pool: infra, is: render-flips}}\n- expect: {{object: MachineConfigPool/worke}}\n\
             - apply: {{{pool}, metadata: {{name: infra}}, spec: {{nodeSelector: {{}}}}}}\n\
             - apply: {{{pool}, metadata: {{name: infra}}, spec: {{paused: true}}}}\n\
             - expect: {{object: MachineConfigPool/infra}}\n- expect: {{object: MachineConfigPool/*}}\n"
        ),
        "s.yaml:4:3: the cluster has no pool workers; did you mean `worker`?\n\
         s.yaml:5:3: the cluster has no pool infra\n\
         s.yaml:6:3: the cluster has no pool worke; did you mean `worker`?",
    );
}

#[test]
fn warns_of_waiting_for_the_end_of_an_update_that_has_not_started() {
    let update = "- update: {to: 4.20.8}\n";
    let done = "- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"False\"}, within: 3h}\n";
    let insight_done = "- expect: {insight: ClusterVersion/version, condition: {type: Updating, status: \"False\"}, within: 3h}\n";
    let busy = done.replace("False", "True");
    let scenario = |steps: &[&str]| format!("{HEAD}releases: {{4.20.8: }}\ntimeline:\n{}", steps.concat());
    let why = "ClusterVersion is not progressing yet, so this expectation holds at once, whatever the update does: expect first that ClusterVersion is progressing";
    check(&scenario(&[update, done]), &format!("s.yaml:6:3: {why}"));
    check(&scenario(&[done, update, "- publish-insights\n", insight_done]), &format!("s.yaml:8:3: {why}"));
    check(&scenario(&[update, &busy, done, update, done]), &format!("s.yaml:9:3: {why}"));
    for valid in [
        scenario(&[update, &busy, done]),
        scenario(&[update, "- advance: 1h\n", done]),
        scenario(&[update, &done.replace(", within: 3h", "")]),
        scenario(&[update, &done.replace("}, within", ", message: /4.20.8/}, within")]),
        scenario(&[update, &busy, update, done]),
        scenario(&["- run: oc adm upgrade --to 4.20.8\n", update, done]),
        scenario(&[update, done]).replace("4.20.1,", "4.20.1, installed: false,"),
    ] {
        check(&valid, "");
    }
}

#[test]
fn warns_of_a_restored_cluster_that_was_not_updated() {
    let text = |steps: &str| format!("{HEAD}releases: {{4.20.8: }}\ntimeline:\n{steps}");
    let restored = "- expect: {restored: true}\n";
    check(
        &text(&format!("{restored}- update: {{to: 4.20.8}}\n{restored}")),
        "s.yaml:5:3: no step before this one requests an update, so there is no earlier state to compare with: update first, or write `to: start`",
    );
    check(&text("- expect: {restored: {to: start}}\n- update: {to: 4.20.8}\n"), "");
}

#[test]
fn warns_of_alerts_and_namespaces_that_do_not_exist() {
    check(
        &format!(
            "{HEAD}timeline:\n- expect: {{alert: {{name: ClusterOperatorDwn}}, within: 1h}}\n\
             - expect: {{alert: {{name: Qqq}}, absent: true}}\n\
             - expect: {{object: Pod/openshift-etdc/a, absent: true}}\n\
             - expect: {{object: ConfigMap/later/a, absent: true}}\n\
             - expect: {{object: ConfigMap/openshift-config/a}}\n\
             - apply: {{apiVersion: v1, kind: Namespace, metadata: {{name: later}}}}\n"
        ),
        "s.yaml:4:3: no rule of this cluster has an alert ClusterOperatorDwn; did you mean `ClusterOperatorDown`?\n\
         s.yaml:5:3: no rule of this cluster has an alert Qqq, so this expectation always holds\n\
         s.yaml:6:3: neither the release nor this scenario has a namespace openshift-etdc, so this expectation always holds; did you mean `openshift-etcd`?",
    );
}

#[test]
fn warns_of_alerts_that_only_other_minors_have() {
    check(
        &format!(
            "{HEAD}timeline:\n- expect: {{alert: {{name: MCDDrainError}}, absent: true}}\n\
             - expect: {{alert: {{name: MachineConfigControllerPausedPoolKubeletCA}}, within: 1h}}\n\
             - expect: {{alert: {{name: OpenShiftUpdateRiskMightApply}}, within: 1h}}\n\
             - expect: {{alert: {{name: MCCPoolAlert}}, absent: true}}\n"
        ),
        "s.yaml:4:3: no rule of this cluster has an alert MCDDrainError, so this expectation always holds; releases of 4.10 to 4.12 have it\n\
         s.yaml:5:3: no rule of this cluster has an alert MachineConfigControllerPausedPoolKubeletCA; releases of 4.11 to 4.12 have it\n\
         s.yaml:6:3: no rule of this cluster has an alert OpenShiftUpdateRiskMightApply; releases of 4.22 to 5.0 have it, with a preview feature set",
    );
    let older = HEAD.replace("4.20.1", "4.12.1");
    let text = format!("{older}timeline:\n- expect: {{alert: {{name: MCDDrainError}}, absent: true}}\n");
    check(&text, "");
    check(
        &text.replace("MCDDrainError", "ClusterReleaseNotAccepted"),
        "s.yaml:4:3: no rule of this cluster has an alert ClusterReleaseNotAccepted, so this expectation always holds; releases of 4.13 to 5.0 have it",
    );
}

#[test]
fn warns_of_risks_with_rules_of_unknown_types() {
    let folder = |_: &str, folder: &str| {
        let risk = "to: 4.20.8\nfrom: .*\nurl: u\nname: R\nmessage: m\nmatchingRules: [{type: Alway}]\n";
        let files = match folder {
            "data/channels" => ("data/channels/s.yaml", "name: s\nversions: [4.20.1, 4.20.8]\n"),
            _ => ("data/blocked-edges/a.yaml", risk),
        };
        Ok(vec![(files.0.to_owned(), files.1.to_owned())])
    };
    let text = format!(
        "{HEAD}releases: {{4.20.8: }}\nupdate-service: {{graph-data: data}}\ntimeline:\n- update: {{to: 4.20.8}}\n- expect: {{update: complete, within: 3h}}\n"
    );
    let plan = scenario::parse("s.yaml", &text, &scenario::Folders(folder)).unwrap();
    let found: Vec<String> = warnings(&[plan], &text).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "s.yaml:1:1: the operator ignores the rule of type `Alway` of risk R: types are `Always` and `PromQL`; did you mean `Always`?"
        ]
    );
}

#[test]
fn warns_of_fields_that_no_object_has() {
    check(
        &format!(
            "{HEAD}timeline:\n- expect: {{object: ClusterVersion/version, fields: {{\"status.histroy[0].state\": Completed}}}}\n\
             - expect: {{object: Node/worker-0, fields: {{spec.unschedulabel: \"\"}}}}\n\
             - expect: {{object: Node/worker-0, fields: {{\"metadata.labels[\\\"node-role.kubernetes.io/workr\\\"]\": \"\"}}}}\n\
             - patch: {{object: MachineConfigPool/worker, merge: {{spec: {{pause: true}}}}}}\n"
        ),
        "s.yaml:4:3: ClusterVersion: no such field `status.histroy`; did you mean `status.history`?\n\
         s.yaml:5:3: Node: no such field `spec.unschedulabel`; did you mean `spec.unschedulable`?; this expectation always holds\n\
         s.yaml:6:3: no node has the label node-role.kubernetes.io/workr, so this expectation always holds; did you mean `node-role.kubernetes.io/worker`?\n\
         s.yaml:7:3: MachineConfigPool: no such field `spec.pause`; did you mean `spec.paused`?; the API server drops it with a warning",
    );
}

#[test]
fn warns_of_fields_and_namespaces_of_objects_with_which_the_cluster_starts() {
    let budget = |namespace: &str, spec: &str| {
        format!(
            "  - {{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: web, namespace: {namespace}}}, spec: {{{spec}}}}}\n"
        )
    };
    check(
        &format!(
            "name: a\ncluster:\n  version: 4.20.1\n  objects:\n{}{}  - {{apiVersion: v1, kind: Namespace, metadata: {{name: defaults}}}}\n{}\
             timeline:\n- expect: {{object: ClusterVersion/version}}\n",
            budget("default", "maxUnavailabel: 0"),
            budget("defualt", "maxUnavailable: 0"),
            budget("defaults", "maxUnavailable: 0"),
        ),
        "s.yaml:5:5: PodDisruptionBudget: no such field `spec.maxUnavailabel`; did you mean `spec.maxUnavailable`?; the API server drops it with a warning\n\
         s.yaml:6:5: neither the release nor this scenario has a namespace defualt, so the API server rejects this object; did you mean `default`?",
    );
}

#[test]
fn warns_of_checks_of_what_never_is() {
    check(
        &format!(
            "{HEAD}timeline:\n- expect: {{object: ClusterVersion/version, condition: {{type: Failing, reason: ClusterOperatorDegradde}}, never: true}}\n\
             - expect: {{metric: {{query: cluster_operator_upp}}, absent: true}}\n\
             - expect: {{metric: {{query: absent(cluster_operator_upp)}}}}\n\
             - expect: {{object: ConfigMap/openshift-config/admin-akcs, absent: true}}\n\
             - expect: {{insight: Node/worker-0, condition: {{type: Updating, status: \"True\"}}}}\n\
             - fault: {{operator: dns, is: degraded, reason: AsExpecte}}\n\
             - expect: {{object: ClusterOperator/dns, condition: {{type: Degraded, reason: AsExpecte}}}}\n"
        ),
        "s.yaml:4:3: no ClusterVersion reports the reason `ClusterOperatorDegradde` for Failing; did you mean `ClusterOperatorDegraded`?; this expectation always holds\n\
         s.yaml:5:3: nothing exports the metric cluster_operator_upp, so this expectation always holds; did you mean `cluster_operator_up`?; `metrics` gives samples of others\n\
         s.yaml:6:3: nothing exports the metric cluster_operator_upp; did you mean `cluster_operator_up`?; `metrics` gives samples of others\n\
         s.yaml:7:3: neither the release nor this scenario has ConfigMap/openshift-config/admin-akcs, so this expectation always holds; did you mean `admin-acks`?\n\
         s.yaml:8:3: nothing publishes insights in this cluster, so this expectation fails: add `insights: true` to `cluster` (in features: `Given insights are published`), or the step `publish-insights`",
    );
}

#[test]
fn warns_of_updates_to_the_release_that_runs_and_of_downgrades() {
    let scenario = |update: &str| {
        format!(
            "name: n\ncluster: {{version: 4.18.7}}\nreleases: {{4.18.3: }}\ntimeline:\n- update: {update}\n- expect: {{update: complete, within: 3h}}\n"
        )
    };
    check(
        &scenario("{to: 4.18.3}"),
        "s.yaml:5:3: 4.18.3 is less than 4.18.7, and the cluster-version operator accepts only the cluster's previous version (LowDesiredVersion): write `force: true`",
    );
    check(&scenario("{to: 4.18.3, force: true}"), "");
    let same = scenario("{to: 4.18.7}").replace("releases: {4.18.3: }\n", "");
    check(&same, "s.yaml:4:3: the cluster runs 4.18.7 already, so this update changes nothing");
}

#[test]
fn warns_of_node_names_that_cannot_be() {
    check(
        &format!(
            "{HEAD}timeline:\n- expect: {{object: Node/Worker-0, absent: true}}\n- expect: {{node: worker_1, phase: Updated}}\n"
        ),
        "s.yaml:4:3: no node can be called Worker-0: names have lower-case letters, digits, `-` and `.`; did you mean `worker-0`?; this expectation always holds\n\
         s.yaml:5:3: no node can be called worker_1: names have lower-case letters, digits, `-` and `.`",
    );
}

#[test]
fn warns_of_each_kind_of_check_that_is_always_true() {
    let paused = "object: MachineConfigPool/worker, fields: {spec.paused: ";
    let steps = [
        ("- keep: {as: v, object: ClusterVersion/version, field: spec.channel}\n", ""),
        (
            "- expect: {object: ClusterVersion/version, fields: {spec.channel: $(kept v)}}\n",
            "is compared with itself",
        ),
        (
            "- expect: {object: MachineConfigPool/worker, unchanged: [spec.paused], throughout: 1h}\n",
            "remove `throughout`",
        ),
        (&format!("- expect: {{{paused}\"/.*/\"}}}}\n"), "any text is /.*/"),
        (&format!("- expect: {{{paused}\"false\"}}, within: 5m}}\n"), ""),
        (&format!("- expect: {{{paused}\"false\"}}}}\n"), "an earlier step expects the same"),
        ("- clear-update\n", ""),
        ("- expect: {writes: [{by: administrator}]}\n", "each action of the scenario is such a write"),
        ("- expect: {alert: {name: Mine}, never: true}\n", "so this expectation always holds"),
        (&format!("- expect: {{{paused}\"false\"}}}}\n"), ""),
    ];
    let timeline: String = steps.iter().map(|(step, _)| *step).collect();
    let text = format!("{HEAD}timeline:\n{timeline}");
    let plans = scenario::parse_all("s.yaml", &text, &Release::find).unwrap();
    let found = warnings(&plans, &text);
    for (number, (step, expected)) in steps.iter().enumerate() {
        let of_step: Vec<_> = found.iter().filter(|warning| warning.line == number + 4).collect();
        assert_eq!(of_step.len(), usize::from(!expected.is_empty()), "{step}{of_step:?}");
        assert!(of_step.iter().all(|warning| warning.message.contains(expected)), "{step}{of_step:?}");
    }
}

#[test]
fn warns_of_faults_that_never_act_and_of_heal_without_a_fault() {
    check(
        &format!(
            "{HEAD}releases: {{4.20.8: , 4.20.9: }}\ntimeline:\n- fault: {{release: 4.20.9, is: unreachable}}\n\
             - fault: {{api: {{by: cluster-version-operater}}, is: unavailable, for: 5m}}\n\
             - fault: {{operator: dns, is: degraded}}\n- heal: {{operator: dns}}\n- heal: {{node: worker-0}}\n- heal: {{api: all}}\n\
             - update: {{to: 4.20.8}}\n- expect: {{requests: {{by: cluster-version-operater, at-most: 5}}}}\n"
        ),
        "s.yaml:5:3: no step updates to release 4.20.9, so this fault never acts\n\
         s.yaml:6:3: no component is called cluster-version-operater, so this fault never acts; did you mean `cluster-version-operator`?\n\
         s.yaml:9:3: no step before this one begins a fault of node worker-0, so `heal` fails\n\
         s.yaml:12:3: no component is called cluster-version-operater, so there are never such requests; did you mean `cluster-version-operator`?",
    );
}

#[test]
fn warns_of_labels_and_fields_that_users_cannot_set() {
    check(
        &format!(
            "{HEAD}timeline:\n- join: {{node: worker-2, labels: {{kubernetes.io/arch: arm64}}}}\n\
             - patch: {{object: Node/worker-0, merge: {{metadata: {{labels: {{kubernetes.io/os: plan9}}, generation: 3}}}}}}\n\
             - patch: {{object: ClusterOperator/etcd, merge: {{status: {{conditions: []}}}}}}\n\
             - expect: {{object: ClusterVersion/version}}\n"
        ),
        "s.yaml:4:3: the kubelet sets the label kubernetes.io/arch of its node, so a user cannot: remove it, or use a label of your own\n\
         s.yaml:5:3: the API server sets metadata.generation, so a user cannot: remove it\n\
         s.yaml:5:3: the kubelet sets the label kubernetes.io/os of its node, so a user cannot: remove it, or use a label of your own\n\
         s.yaml:6:3: the API server ignores `status` in this patch: write `subresource: status` beside `merge`",
    );
}

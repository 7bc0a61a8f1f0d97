//! Tests of operators by their `ClusterOperator`.

use std::collections::BTreeMap;
use std::sync::Arc;

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::faults::{Fault, FaultKind};
use windtunnel_controllers::testing::{Rig, check_recovery};
use windtunnel_core::resources::{CLUSTER_OPERATORS, DEPLOYMENTS, INFRASTRUCTURES, NODES};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Object, Write, condition};

use super::Operator;
use crate::environment::Environment;
use crate::release::{self, Architecture, Component, Release};

const NAME: &str = "kube-apiserver";

fn facts() -> release::OperatorFacts {
    release::OperatorFacts {
        cluster_operator: NAME.to_owned(),
        namespace: "ns".to_owned(),
        deployment: "kube-apiserver-operator".to_owned(),
        operands: vec!["raw-internal".to_owned(), NAME.to_owned()],
        rollout_seconds: (600, 900),
        ..release::OperatorFacts::default()
    }
}

/// The operator's own `Tidy` condition.
fn own_condition(platforms: &[&str], reason: &str, message: &str) -> release::OwnCondition {
    release::OwnCondition {
        platforms: platforms.iter().map(|&name| name.to_owned()).collect(),
        kind: "Tidy".to_owned(),
        status: "True".to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

fn environment(facts: &release::OperatorFacts) -> Environment {
    let release = |version: &str, kubernetes_minor| Release {
        version: Version::parse(version).unwrap(),
        image: String::new(),
        kubernetes_minor,
        channels: Vec::new(),
        url: String::new(),
        architecture: Architecture::default(),
        known_capabilities: Vec::new(),
        preview_capabilities: Vec::new(),
        capability_sets: BTreeMap::new(),
        components: vec![Component {
            name: "kube-apiserver-operator".to_owned(),
            run_level: 20,
            manifests: 1,
            capabilities: Vec::new(),
            crds: Vec::new(),
            previews: Vec::new(),
            objects: Vec::new(),
            operator: Some(facts.clone()),
        }]
        .into(),
        admin_gates: BTreeMap::new(),
        payload: None,
    };
    let releases = [release("4.14.8", 27), release("4.15.2", 28)];
    Environment {
        releases: releases.map(|release| (release.version.clone(), release)).into(),
        ..Environment::default()
    }
}

fn deployment(version: &str) -> Value {
    let env = json!([{ "name": "RELEASE_VERSION", "value": version }]);
    json!({ "spec": { "template": { "spec": { "containers": [{ "name": "operator", "env": env }] } } } })
}

fn prepare(rig: &mut Rig) {
    prepare_with(rig, &facts());
}

fn prepare_with(rig: &mut Rig, facts: &release::OperatorFacts) {
    let facts = facts.clone();
    let mut first = deployment("4.14.8");
    first["metadata"] = json!({ "namespace": "ns", "name": "kube-apiserver-operator" });
    rig.put(&DEPLOYMENTS, first);
    let environment = Arc::new(environment(&facts));
    rig.seat(move || {
        Box::new(Operator::new(&facts, "kube-apiserver-operator", Arc::clone(&environment), &Streams::new(7)))
    });
    rig.run(1000);
}

fn update(version: &str) -> Write {
    Write::merge_patch(&DEPLOYMENTS, "ns", "kube-apiserver-operator", deployment(version))
}

fn object(rig: &Rig) -> &Object {
    rig.view.get(&CLUSTER_OPERATORS, "", NAME).unwrap()
}

fn versions(rig: &Rig) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let each = object(rig).list("/status/versions").iter();
    each.map(|one| text(&one["name"]) + " " + &text(&one["version"])).collect::<Vec<_>>().join(", ")
}

fn check(rig: &Rig, expected: &[&str]) {
    assert_eq!(rig.log, expected, "{:#?}", rig.log);
}

#[test]
fn creates_its_clusteroperator_and_rolls_out_the_version_in_its_deployment() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.write(&update("4.15.2"));
    rig.run(1000);
    check(
        &rig,
        &[
            "0:00:00 create clusteroperators.config.openshift.io/kube-apiserver",
            "0:00:00 update clusteroperators.config.openshift.io/kube-apiserver Progressing=True Progressing Working towards 4.14.8; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well",
            "0:14:36 serve Kubernetes 1.27",
            "0:14:36 update clusteroperators.config.openshift.io/kube-apiserver Progressing=False AsExpected Deployed 4.14.8; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well; Available=True AsExpected All is well",
            "0:16:40 update clusteroperators.config.openshift.io/kube-apiserver Progressing=True Progressing Working towards 4.15.2; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well; Available=True AsExpected All is well",
            "0:28:32 serve Kubernetes 1.28",
            "0:28:32 update clusteroperators.config.openshift.io/kube-apiserver Progressing=False AsExpected Deployed 4.15.2; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well; Available=True AsExpected All is well",
        ],
    );
    assert_eq!(versions(&rig), "raw-internal 4.15.2, kube-apiserver 1.28.2, operator 4.15.2");
}

#[test]
fn returning_to_the_old_version_starts_another_rollout() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.log.clear();
    rig.write(&update("4.15.2"));
    rig.run(300);
    rig.write(&update("4.14.8"));
    rig.run(1000);
    check(
        &rig,
        &[
            "0:16:40 update clusteroperators.config.openshift.io/kube-apiserver Progressing=True Progressing Working towards 4.15.2; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well; Available=True AsExpected All is well",
            "0:21:40 update clusteroperators.config.openshift.io/kube-apiserver Progressing=True Progressing Working towards 4.14.8; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well; Available=True AsExpected All is well",
            "0:36:16 serve Kubernetes 1.27",
            "0:36:16 update clusteroperators.config.openshift.io/kube-apiserver Progressing=False AsExpected Deployed 4.14.8; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well; Available=True AsExpected All is well",
        ],
    );
    assert_eq!(versions(&rig), "raw-internal 4.14.8, kube-apiserver 1.27.8, operator 4.14.8");
}

#[test]
fn rolls_out_an_unknown_version_without_a_new_kubernetes() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.log.clear();
    rig.write(&update("4.99.0"));
    rig.run(1000);
    check(
        &rig,
        &[
            "0:16:40 update clusteroperators.config.openshift.io/kube-apiserver Progressing=True Progressing Working towards 4.99.0; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well; Available=True AsExpected All is well",
            "0:29:17 update clusteroperators.config.openshift.io/kube-apiserver Progressing=False AsExpected Deployed 4.99.0; Degraded=False AsExpected All is well; Upgradeable=True AsExpected All is well; Available=True AsExpected All is well",
        ],
    );
    assert_eq!(versions(&rig), "raw-internal 4.99.0, kube-apiserver 4.99.0, operator 4.99.0");
}

#[test]
fn keeps_a_condition_set_by_another_client() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let degraded = json!([{ "type": "Degraded", "status": "True", "reason": "Fault" }]);
    let patch = json!({ "status": { "conditions": degraded } });
    rig.write(&Write::merge_patch_status(&CLUSTER_OPERATORS, "", NAME, patch));
    rig.write(&update("4.15.2"));
    rig.run(1000);
    let degraded = windtunnel_core::condition::find_in_status(object(&rig), "Degraded").unwrap();
    assert_eq!((degraded["status"].as_str(), degraded["reason"].as_str()), (Some("True"), Some("Fault")));
}

#[test]
fn a_restarted_operator_completes_its_rollout_at_the_same_time() {
    let story = |rig: &mut Rig| {
        prepare(rig);
        rig.write(&update("4.15.2"));
        rig.run(1000);
    };
    check_recovery(story, |rig| format!("{} {:?}", versions(rig), object(rig).list("/status/conditions")));
}

/// The status changes of a condition since the log was cleared, with the times of the writes.
fn statuses(rig: &Rig, kind: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in &rig.log {
        let Some((_, rest)) = line.split_once(&format!("{kind}=")) else { continue };
        let (time, status) = (line.split(' ').next().unwrap(), rest.split(' ').next().unwrap());
        if found.last().is_none_or(|last| !last.ends_with(status)) {
            found.push(format!("{time} {status}"));
        }
    }
    found
}

fn set_fault(rig: &mut Rig, name: &str) {
    let fault = FaultKind::named(name).map(|kind| Fault { reason: "Broken".to_owned(), ..Fault::new(kind) });
    rig.write(&Write::merge_patch(&CLUSTER_OPERATORS, "", NAME, Fault::annotation_patch(fault.as_ref())));
}

#[test]
fn a_stalled_rollout_completes_when_the_fault_is_healed() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.log.clear();
    set_fault(&mut rig, "stalled");
    rig.write(&update("4.15.2"));
    rig.run(10_000);
    assert_eq!(statuses(&rig, "Progressing"), ["0:16:40 True"]);
    set_fault(&mut rig, "none");
    rig.run(1000);
    assert_eq!(statuses(&rig, "Progressing"), ["0:16:40 True", "3:03:20 False"]);
    assert_eq!(versions(&rig), "raw-internal 4.15.2, kube-apiserver 1.28.2, operator 4.15.2");
}

#[test]
fn a_stalled_rollout_reports_its_cause_and_resumes_later() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    let fault = Fault {
        reason: "Hung".to_owned(),
        message: "a pod: is away".to_owned(),
        ..Fault::new(FaultKind::Stalled)
    };
    rig.write(&update("4.15.2"));
    rig.run(1);
    let progressing_text = |rig: &Rig| {
        let object = rig.view.get(&CLUSTER_OPERATORS, "", NAME).unwrap();
        let found = condition::find_in_status(object, "Progressing").unwrap();
        format!("{} {}", found["reason"].as_str().unwrap(), found["message"].as_str().unwrap())
    };
    assert_eq!(progressing_text(&rig), "Progressing Working towards 4.15.2");
    rig.write(&Write::merge_patch(&CLUSTER_OPERATORS, "", NAME, Fault::annotation_patch(Some(&fault))));
    rig.run(10_000);
    assert_eq!(progressing_text(&rig), "Hung Working towards 4.15.2: a pod: is away");
    let begun = rig.log.len();
    rig.run(10_000);
    assert_eq!(rig.log.len(), begun, "an unchanged cause is written once");
    rig.write(&Write::merge_patch(&CLUSTER_OPERATORS, "", NAME, Fault::annotation_patch(None)));
    rig.run(1000);
    assert_eq!(progressing_text(&rig), "AsExpected Deployed 4.15.2");
}

#[test]
fn a_flapping_operator_changes_available_every_half_minute() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    rig.log.clear();
    set_fault(&mut rig, "flapping");
    rig.run(80);
    set_fault(&mut rig, "none");
    rig.run(80);
    let expected = ["0:16:40 False", "0:17:00 True", "0:17:30 False", "0:18:00 True"];
    assert_eq!(statuses(&rig, "Available"), expected);
}

#[test]
fn a_silent_operator_reports_at_once_when_its_fault_changes() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    set_fault(&mut rig, "silent");
    rig.run(10);
    assert_eq!(object(&rig)["status"], json!({}));
    set_fault(&mut rig, "degraded");
    rig.run(1);
    assert_eq!(versions(&rig), "raw-internal 4.14.8, kube-apiserver 1.27.8, operator 4.14.8");
    let degraded = windtunnel_core::condition::find_in_status(object(&rig), "Degraded").unwrap();
    let fields = (degraded["status"].as_str(), degraded["reason"].as_str(), degraded["message"].as_str());
    let message = "An injected fault sets Degraded=True";
    assert_eq!(fields, (Some("True"), Some("Broken"), Some(message)));
}

#[test]
fn healthy_conditions_have_the_operators_own_text_by_version_and_platform() {
    for (platform, expected) in [("AWS", "Ready at 4.15.2"), ("None", "Removed ")] {
        let mut rig = Rig::new();
        let infrastructure = json!({ "metadata": { "name": "cluster" }, "status": { "platformStatus": { "type": platform } } });
        rig.put(&INFRASTRUCTURES, infrastructure);
        let says = vec![own_condition(&[], "Ready", "at {version}"), own_condition(&["None"], "Removed", "")];
        let facts = release::OperatorFacts { says, ..facts() };
        prepare_with(&mut rig, &facts);
        rig.write(&update("4.15.2"));
        rig.run(1000);
        let tidy =
            condition::find_in_status(object(&rig), "Tidy").map(condition::Condition::from_value).unwrap();
        assert_eq!(format!("{} {}", tidy.reason, tidy.message), expected, "{platform}");
    }
}

/// Writes control-plane nodes with these Ready statuses.
fn nodes(rig: &mut Rig, ready: [&str; 3]) {
    for (name, ready) in ["m0", "m1", "m2"].into_iter().zip(ready) {
        let since = format!("{:.0}", rig.now);
        let condition = json!({
            "type": "Ready",
            "status": ready,
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": since,
        });
        let labels = json!({ "node-role.kubernetes.io/master": "" });
        let node = json!({ "metadata": { "name": name, "labels": labels }, "status": { "conditions": [condition] } });
        rig.write_as_new(&NODES, node);
    }
}

#[test]
fn a_control_plane_node_unready_for_two_minutes_degrades_the_operator() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    nodes(&mut rig, ["True"; 3]);
    rig.run(1000);
    rig.log.clear();
    for (ready, seconds) in [("Unknown", 119), ("True", 1), ("Unknown", 300), ("True", 100)] {
        nodes(&mut rig, ["True", ready, "True"]);
        rig.run(seconds);
    }
    let expected = ["0:37:20 True", "0:40:20 False"];
    assert_eq!(statuses(&rig, "Degraded"), expected);
    let update = rig.log.iter().find(|line| line.contains("Degraded=True")).unwrap();
    let expected = "Degraded=True NodeController_MasterNodesReady NodeControllerDegraded: The master nodes not ready: node \"m1\" not \
                    ready since 2024-01-01 00:35:20 +0000 UTC because NodeStatusUnknown (Kubelet stopped posting node status.)";
    assert!(update.contains(expected), "{update}");
}

#[test]
fn does_not_report_nodes_if_all_are_unready_or_a_fault_sets_degraded() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    nodes(&mut rig, ["Unknown"; 3]);
    rig.run(1000);
    assert_eq!(condition::find_in_status(object(&rig), "Degraded").unwrap()["status"], "False");
    set_fault(&mut rig, "degraded");
    nodes(&mut rig, ["True", "True", "False"]);
    rig.run(1000);
    assert_eq!(condition::find_in_status(object(&rig), "Degraded").unwrap()["reason"], "Broken");
}

#[test]
fn reports_about_nodes_continue_beside_and_after_other_faults() {
    let mut rig = Rig::new();
    prepare(&mut rig);
    nodes(&mut rig, ["True"; 3]);
    let degraded = |rig: &Rig| {
        let found = condition::find_in_status(object(rig), "Degraded").unwrap();
        ["status", "reason", "lastTransitionTime"].map(|field| found[field].as_str().unwrap().to_owned())
    };
    nodes(&mut rig, ["True", "True", "False"]);
    set_fault(&mut rig, "not-upgradeable");
    rig.run(200);
    let own = "NodeController_MasterNodesReady";
    assert_eq!(degraded(&rig), ["True", own, "2024-01-01T00:18:40Z"]);
    assert_eq!(condition::find_in_status(object(&rig), "Upgradeable").unwrap()["status"], "False");
    set_fault(&mut rig, "degraded");
    rig.run(200);
    assert_eq!(degraded(&rig), ["True", "Broken", "2024-01-01T00:18:40Z"], "the fault decides");
    set_fault(&mut rig, "none");
    rig.run(200);
    assert_eq!(degraded(&rig), ["True", own, "2024-01-01T00:18:40Z"]);
    nodes(&mut rig, ["True"; 3]);
    rig.run(200);
    assert_eq!(degraded(&rig)[..2], ["False", "AsExpected"]);
}

#[test]
fn a_restarted_operator_resets_its_report_about_nodes() {
    let story = |rig: &mut Rig| {
        prepare(rig);
        for (ready, seconds) in [("True", 10), ("Unknown", 200), ("True", 100)] {
            nodes(rig, ["True", ready, "True"]);
            rig.run(seconds);
        }
    };
    check_recovery(story, |rig| {
        condition::find_in_status(object(rig), "Degraded").unwrap()["status"].to_string()
    });
}

#[test]
fn node_changes_within_a_few_seconds_are_reported_once() {
    let mut rig = Rig::new();
    prepare_with(&mut rig, &release::OperatorFacts { cluster_operator: "network".to_owned(), ..facts() });
    nodes(&mut rig, ["True"; 3]);
    rig.run(100);
    rig.log.clear();
    for (ready, seconds) in [(["Unknown", "True"], 4), (["True"; 2], 60)] {
        nodes(&mut rig, [ready[0], ready[1], "True"]);
        rig.run(seconds);
    }
    assert_eq!(
        statuses(&rig, "Progressing"),
        [""; 0],
        "a node that is back before the check is not reported"
    );
    for (ready, seconds) in
        [(["Unknown", "True"], 3), (["Unknown"; 2], 60), (["True", "Unknown"], 3), (["True"; 2], 60)]
    {
        nodes(&mut rig, [ready[0], ready[1], "True"]);
        rig.run(seconds);
    }
    assert_eq!(statuses(&rig, "Progressing"), ["0:19:29 True", "0:20:32 False"]);
    let update = rig.log.iter().find(|line| line.contains("Progressing=True")).unwrap();
    assert!(update.contains("(awaiting 2 nodes)"), "{update}");
}

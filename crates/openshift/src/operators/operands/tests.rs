//! Operators with workloads, without the controllers that would run these.

use windtunnel_controllers::testing::Rig;
use windtunnel_core::Resource;
use windtunnel_core::resources::{NODES, POD_DISRUPTION_BUDGETS};

use super::*;
use crate::control_plane::MASTER_LABEL;

const OPERATOR: &str = "ingress";

/// A cluster of this many masters with an operator at this version.
fn rig(operator: &'static str, masters: usize, version: &str) -> Rig {
    let mut rig = Rig::new();
    let release = Release::nearest(&version.parse().unwrap());
    let facts = release.operator(operator).unwrap().clone();
    let metadata = json!({ "namespace": facts.namespace, "name": facts.deployment });
    rig.put(&DEPLOYMENTS, json!({ "metadata": metadata }));
    want(&mut rig, &facts, version);
    let topology = if masters == 1 { "SingleReplica" } else { "HighlyAvailable" };
    let status = json!({ "platformStatus": { "type": "AWS" }, "infrastructureTopology": topology });
    rig.put(&INFRASTRUCTURES, json!({ "metadata": { "name": "cluster" }, "status": status }));
    for number in 0..masters {
        let metadata = json!({ "name": format!("master-{number}"), "labels": { (MASTER_LABEL): "" } });
        rig.put(&NODES, json!({ "metadata": metadata }));
    }
    let releases = ["4.13.3", "4.14.3", "4.18.3", "4.18.4"].map(|version| {
        let release = Release::nearest(&version.parse().unwrap());
        (release.version.clone(), release)
    });
    let environment = Arc::new(Environment {
        payload_workloads: PayloadWorkloads::InPods,
        releases: releases.into(),
        ..Environment::default()
    });
    rig.seat(move || Box::new(OperandController::new(&facts, "operator", &environment).unwrap()));
    rig
}

fn want(rig: &mut Rig, facts: &OperatorFacts, version: &str) {
    let container = json!({ "image": "operator", "env": [{ "name": "RELEASE_VERSION", "value": version }] });
    let patch = json!({ "spec": { "template": { "spec": { "containers": [container] } } } });
    rig.write(&Write::merge_patch(&DEPLOYMENTS, &facts.namespace, &facts.deployment, patch));
}

fn router(rig: &Rig) -> &Object {
    rig.view.get(&DEPLOYMENTS, "openshift-ingress", "router-default").unwrap()
}

#[test]
fn workloads_are_brought_back_and_updated() {
    let mut rig = rig(OPERATOR, 3, "4.18.3");
    rig.run(60);
    assert_eq!(router(&rig)["spec"]["replicas"], 2);
    let image = |rig: &Rig| router(rig)["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    let before = image(&rig);

    let none = json!({ "spec": { "replicas": 0 } });
    rig.write(&Write::merge_patch(&DEPLOYMENTS, "openshift-ingress", "router-default", none));
    rig.run(60);
    assert_eq!(router(&rig)["spec"]["replicas"], 2, "scaled again");
    rig.write(&Write::delete(&DEPLOYMENTS, "openshift-ingress", "router-default"));
    rig.run(60);
    assert_eq!(image(&rig), before, "created again");

    let release = Release::nearest(&"4.18.4".parse().unwrap());
    assert!(!are_rolled(OPERATOR, &release, &rig.view));
    let facts = release.operator(OPERATOR).unwrap().clone();
    want(&mut rig, &facts, "4.18.4");
    rig.run(60);
    assert_ne!(image(&rig), before);
    assert!(!are_rolled(OPERATOR, &release, &rig.view), "no controller has reported it");
}

#[test]
fn a_single_node_has_one_pod_of_each_and_no_budget() {
    for (masters, replicas, budgets) in [(3, 2, 1), (1, 1, 0)] {
        let mut rig = rig(OPERATOR, masters, "4.18.3");
        rig.run(60);
        assert_eq!(router(&rig)["spec"]["replicas"], replicas);
        assert_eq!(rig.view.list_in(&POD_DISRUPTION_BUDGETS, "openshift-ingress").count(), budgets);
    }
}

#[test]
fn workloads_that_a_release_no_longer_has_are_deleted() {
    let mut rig = rig("network", 3, "4.13.3");
    rig.run(60);
    let has = |rig: &Rig, resource: &Resource, name: &str| {
        rig.view.get(resource, "openshift-ovn-kubernetes", name).is_some()
    };
    assert!(has(&rig, &DAEMON_SETS, "ovnkube-master") && has(&rig, &DAEMON_SETS, "ovnkube-node"));
    let release = Release::nearest(&"4.14.3".parse().unwrap());
    want(&mut rig, &release.operator("network").unwrap().clone(), "4.14.3");
    rig.run(60);
    assert!(!has(&rig, &DAEMON_SETS, "ovnkube-master") && has(&rig, &DAEMON_SETS, "ovnkube-node"));
    assert!(has(&rig, &DEPLOYMENTS, "ovnkube-control-plane"));
}

#[test]
fn every_workload_has_an_operator_and_a_name_of_its_own_in_each_minor() {
    for line in Release::lines() {
        let release = Release::nearest(&Version::new(line.0, line.1, 0));
        let mut view = View::default();
        let status = json!({ "platformStatus": { "type": "AWS" } });
        let object = Object::new(json!({ "metadata": { "name": "cluster" }, "status": status }));
        let key = INFRASTRUCTURES.key("", "cluster");
        let kind = windtunnel_core::ChangeKind::Added;
        view.apply(&windtunnel_core::Change { kind, key, object, old: None });
        let site = Site::of(&view);
        let mut keys = BTreeSet::new();
        for workload in workload::all().filter(|workload| workload.is_of(&release, &site)) {
            assert!(keys.insert(workload.key()), "{line:?}: {}", workload.key());
        }
        assert!(keys.len() > 20, "{line:?}: {}", keys.len());
    }
    let newest = Release::nearest(&Version::new(5, 0, 0));
    for workload in workload::all() {
        assert!(newest.operator(workload.operator()).is_some(), "{}", workload.operator());
    }
}

//! Tests of the operator's rollouts and reports.

use semver::Version;
use serde_json::{Value, json};
use windtunnel_controllers::testing::Rig;
use windtunnel_controllers::workloads::daemon_sets::DaemonSetController;
use windtunnel_core::condition;
use windtunnel_core::resources::{MACHINE_CONFIGS, NODES};

use super::*;
use crate::mco::CLUSTER_OPERATOR;
use crate::mco::annotations::{GENERATED_BY, REQUIRED};

fn release(version: &str) -> Release {
    Release::find(&Version::parse(version).unwrap()).unwrap()
}

fn facts(release: &Release) -> release::OperatorFacts {
    let mut operators = release.components.iter().filter_map(|component| component.operator.clone());
    operators.find(|facts| facts.cluster_operator == CLUSTER_OPERATOR).unwrap()
}

/// A cluster of release `from` with updated pools: `master` of three nodes, `worker` of two.
fn rig(from: &str, to: &str) -> Rig {
    let mut rig = Rig::new();
    let all = [from, to].map(release);
    let facts = facts(&all[0]);
    for release in &all {
        for pool in ["master", "worker"] {
            put_rendered(&mut rig, pool, release);
        }
    }
    rig.put(&DEPLOYMENTS, deployment(&facts, from));
    for (name, machines) in [("master", 3), ("worker", 2)] {
        let labels = if name == "master" { json!({ (REQUIRED): "" }) } else { json!({}) };
        let spec = json!({ "configuration": { "name": rendered(name, from) } });
        rig.put(
            &MACHINE_CONFIG_POOLS,
            json!({ "metadata": { "name": name, "labels": labels }, "spec": spec }),
        );
        set_pool(&mut rig, name, from, machines, &[("Updated", "True", "")]);
    }
    let environment = Arc::new(Environment {
        releases: { all }.map(|release| (release.version.clone(), release)).into(),
        ..Environment::default()
    });
    rig.seat(|| Box::new(DaemonSetController::new(&Streams::new(1))));
    rig.seat(move || {
        let (environment, streams) = (Arc::clone(&environment), Streams::new(1));
        Box::new(MachineConfigOperator::new(&facts, "machine-config-operator", environment, &streams))
    });
    rig.run(200);
    rig
}

fn rendered(pool: &str, version: &str) -> String {
    format!("rendered-{pool}-{version}")
}

fn put_rendered(rig: &mut Rig, pool: &str, release: &Release) {
    let version = release.version.to_string();
    let annotations = json!({ (GENERATED_BY): release.machine_config_commit(), (RELEASE_VERSION): version });
    let name = rendered(pool, &version);
    if rig.view.get(&MACHINE_CONFIGS, "", &name).is_none() {
        let metadata = json!({ "name": name, "annotations": annotations });
        let spec = json!({ "osImageURL": release.os_image() });
        rig.put(&MACHINE_CONFIGS, json!({ "metadata": metadata, "spec": spec }));
    }
}

fn deployment(facts: &release::OperatorFacts, version: &str) -> Value {
    let env = json!([{ "name": "RELEASE_VERSION", "value": version }]);
    let containers = json!([{ "name": "machine-config-operator", "image": "i", "env": env }]);
    json!({
        "metadata": { "namespace": facts.namespace, "name": facts.deployment },
        "spec": { "template": { "spec": { "containers": containers } } },
    })
}

/// Writes the status of a pool.
fn set_pool(rig: &mut Rig, pool: &str, version: &str, machines: i64, conditions: &[(&str, &str, &str)]) {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status, message)| json!({ "type": kind, "status": status, "message": message }))
        .collect();
    let status = json!({
        "configuration": { "name": rendered(pool, version) }, "machineCount": machines,
        "readyMachineCount": 1, "updatedMachineCount": 1, "unavailableMachineCount": 1,
        "degradedMachineCount": 0, "conditions": conditions,
    });
    rig.write(&Write::merge_patch_status(&MACHINE_CONFIG_POOLS, "", pool, json!({ "status": status })));
}

fn update(rig: &mut Rig, version: &str) {
    let facts = facts(&release(version));
    let patch = deployment(&facts, version);
    rig.write(&Write::merge_patch(&DEPLOYMENTS, &facts.namespace, &facts.deployment, patch));
}

fn operator(rig: &Rig) -> &Object {
    rig.view.get(&CLUSTER_OPERATORS, "", CLUSTER_OPERATOR).unwrap()
}

/// `STATUS REASON MESSAGE` of a condition.
fn condition_text(rig: &Rig, kind: &str) -> String {
    let found = condition::find_in_status(operator(rig), kind).unwrap();
    let text = |field: &str| found[field].as_str().unwrap_or_default();
    format!("{} {} {}", text("status"), text("reason"), text("message"))
}

#[test]
fn returning_to_the_previous_release_rolls_the_daemons_back() {
    let mut rig = rig("4.18.1", "4.18.5");
    let is_of = |rig: &Rig, version: &str| daemon_set::is_rolled(&release(version), &rig.view);
    assert!(is_of(&rig, "4.18.1"));
    update(&mut rig, "4.18.5");
    rig.run(30);
    assert!(is_of(&rig, "4.18.5"));
    let controller = rig.view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG).unwrap();
    assert_eq!(controller.annotation(RELEASE_VERSION), Some("4.18.1"), "the controller is rolled out later");
    update(&mut rig, "4.18.1");
    rig.run(200);
    assert!(is_of(&rig, "4.18.1"));
    assert!(condition_text(&rig, "Progressing").starts_with("False"));
}

#[test]
fn reports_the_release_when_the_required_pools_have_it() {
    let mut rig = rig("4.18.3", "4.18.7");
    assert_eq!(condition_text(&rig, "Progressing"), "False  Cluster version is 4.18.3");
    update(&mut rig, "4.18.7");
    rig.run(130);
    assert_eq!(condition_text(&rig, "Progressing"), "True  Working towards 4.18.7");
    assert_eq!(cluster_operator_status::reported_version(operator(&rig)), Some("4.18.3"));
    set_pool(&mut rig, "master", "4.18.7", 3, &[("Updated", "True", "")]);
    rig.run(2);
    assert_eq!(condition_text(&rig, "Progressing"), "False  Cluster version is 4.18.7");
    assert_eq!(
        cluster_operator_status::reported_version(operator(&rig)),
        Some("4.18.7"),
        "it does not wait for workers"
    );
    assert!(
        condition_text(&rig, "Available")
            .starts_with("True AsExpected Cluster has deployed [{operator 4.18.7} {operator-image ")
    );
}

#[test]
fn a_late_change_of_the_rendered_config_completes_the_release() {
    let mut rig = rig("4.18.3", "4.18.7");
    let set_commit = |rig: &mut Rig, commit: &str| {
        let annotations = json!({ "metadata": { "annotations": { (GENERATED_BY): commit } } });
        rig.write(&Write::merge_patch(&MACHINE_CONFIGS, "", &rendered("master", "4.18.7"), annotations));
    };
    set_commit(&mut rig, "older");
    update(&mut rig, "4.18.7");
    set_pool(&mut rig, "master", "4.18.7", 3, &[("Updated", "True", "")]);
    rig.run(130);
    assert_eq!(cluster_operator_status::reported_version(operator(&rig)), Some("4.18.3"));
    set_commit(&mut rig, release("4.18.7").machine_config_commit().as_str());
    rig.run(2);
    assert_eq!(cluster_operator_status::reported_version(operator(&rig)), Some("4.18.7"));
}

#[test]
fn a_lasting_fault_keeps_its_transition_time() {
    let mut rig = rig("4.18.3", "4.18.7");
    let fault = json!({ "metadata": { "annotations": { "windtunnel.dev/fault": "degraded" } } });
    rig.write(&Write::merge_patch(&CLUSTER_OPERATORS, "", CLUSTER_OPERATOR, fault));
    rig.run(2);
    let since = |rig: &Rig| {
        condition::find_in_status(operator(rig), "Degraded").unwrap()["lastTransitionTime"].clone()
    };
    assert!(condition_text(&rig, "Degraded").starts_with("True "), "{}", condition_text(&rig, "Degraded"));
    let before = since(&rig);
    rig.run(60);
    set_pool(&mut rig, "worker", "4.18.3", 4, &[("Updated", "True", "")]);
    rig.run(2);
    assert!(condition_text(&rig, "Degraded").starts_with("True "));
    assert_eq!(since(&rig), before);
}

#[test]
fn reports_about_pools_continue_beside_and_after_a_fault() {
    let mut rig = rig("4.18.3", "4.18.3");
    set_pool(&mut rig, "worker", "4.18.3", 2, &[("Degraded", "True", "disk full"), ("Updated", "False", "")]);
    for fault in ["unavailable", "none"] {
        let fault = json!({ "metadata": { "annotations": { "windtunnel.dev/fault": fault } } });
        rig.write(&Write::merge_patch(&CLUSTER_OPERATORS, "", CLUSTER_OPERATOR, fault));
        rig.run(1_810);
        assert!(condition_text(&rig, "Upgradeable").starts_with("False DegradedPool"));
        assert!(condition_text(&rig, "Degraded").starts_with("True RequiredPoolsFailed"));
    }
    assert!(condition_text(&rig, "Available").starts_with("True"));
}

#[test]
fn reports_progressing_with_the_lease_up_to_4_17_and_later_after_that() {
    for (from, to, at_once) in [("4.17.3", "4.17.7", true), ("4.18.3", "4.18.7", false)] {
        let mut rig = rig(from, to);
        update(&mut rig, to);
        rig.run(30);
        assert_eq!(condition_text(&rig, "Progressing").starts_with("True"), at_once, "{to}");
    }
}

#[test]
fn fails_after_ten_minutes_per_machine_and_retries() {
    let mut rig = rig("4.18.3", "4.18.7");
    update(&mut rig, "4.18.7");
    rig.run(130 + 1_640);
    assert_eq!(condition_text(&rig, "Degraded"), "False  ");
    rig.run(160);
    let why = format!(
        "controller version mismatch for rendered-master-4.18.3 expected {} has {}: all 3 nodes are at latest configuration rendered-master-4.18.3",
        release("4.18.7").machine_config_commit(),
        release("4.18.3").machine_config_commit()
    );
    let last =
        format!("MachineConfigPool master has not progressed to latest configuration: {why}, retrying");
    let failed = format!("error during syncRequiredMachineConfigPools: [context deadline exceeded, {last}]");
    assert_eq!(
        condition_text(&rig, "Degraded"),
        format!("True RequiredPoolsFailed Unable to apply 4.18.7: {failed}")
    );
    rig.run(60);
    assert_eq!(condition_text(&rig, "Progressing"), "True  Working towards 4.18.7");
    assert!(condition_text(&rig, "Degraded").starts_with("True"), "until the pools are updated");
    set_pool(&mut rig, "master", "4.18.7", 3, &[("Updated", "True", "")]);
    rig.run(2);
    assert_eq!(condition_text(&rig, "Degraded"), "False  ");
}

#[test]
fn a_degraded_worker_pool_blocks_upgrades_at_once_and_degrades_the_operator_after_half_an_hour() {
    let reason = ", reason: disk full";
    for (from, error, reason) in
        [("4.18.3", "error ", ""), ("4.19.3", "error ", reason), ("5.0.1", "", reason)]
    {
        let mut rig = rig(from, from);
        set_pool(&mut rig, "worker", from, 2, &[("Degraded", "True", "disk full"), ("Updated", "False", "")]);
        rig.run(2);
        assert!(
            condition_text(&rig, "Upgradeable")
                .starts_with("False DegradedPool One or more machine config pools are degraded")
        );
        rig.run(1_790);
        assert_eq!(condition_text(&rig, "Degraded"), "False  ");
        rig.run(20);
        let status = format!("(pool degraded: true total: 2, ready 1, updated: 1, unavailable: 1{reason})");
        let last = format!("{error}MachineConfigPool worker is not ready, retrying. Status: {status}");
        assert_eq!(
            condition_text(&rig, "Degraded"),
            format!(
                "True RequiredPoolsFailed Failed to resync {from} because: {error}during syncRequiredMachineConfigPools: [context deadline exceeded, {last}]"
            )
        );
        assert_eq!(condition_text(&rig, "Progressing"), format!("False  Error while reconciling {from}"));
    }
}

#[test]
fn a_paused_required_pool_degrades_the_operator_at_once_but_does_not_block_upgrades() {
    let mut rig = rig("4.18.3", "4.18.3");
    rig.write(&Write::merge_patch(
        &MACHINE_CONFIG_POOLS,
        "",
        "master",
        json!({ "spec": { "paused": true } }),
    ));
    set_pool(&mut rig, "master", "4.18.3", 3, &[("Updated", "False", "")]);
    rig.run(2);
    let failed = "error required MachineConfigPool master is paused and cannot sync until it is unpaused";
    assert_eq!(
        condition_text(&rig, "Degraded"),
        format!("True RequiredPoolsFailed Failed to resync 4.18.3 because: {failed}")
    );
    assert!(condition_text(&rig, "Upgradeable").starts_with("True"));
    assert!(condition_text(&rig, "Available").starts_with("True"));
}

#[test]
fn cgroup_v1_blocks_upgrades_in_4_18_6_to_4_19() {
    for (version, refuses) in [("4.18.5", false), ("4.18.6", true), ("4.19.2", true), ("4.20.1", false)] {
        for (mode, status) in
            [("v1", if refuses { "False ClusterOnCgroupV1" } else { "True" }), ("v2", "True")]
        {
            let mut rig = rig(version, version);
            let spec = json!({ "cgroupMode": mode });
            rig.put(&NODE_SETTINGS, json!({ "metadata": { "name": "cluster" }, "spec": spec }));
            rig.run(2);
            assert!(condition_text(&rig, "Upgradeable").starts_with(status), "{version} {mode}");
        }
    }
}

#[test]
fn a_changed_proxy_reaches_the_controller_config() {
    let mut rig = rig("4.18.3", "4.18.3");
    let proxy = |rig: &Rig| {
        rig.view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG).unwrap()["spec"]["proxy"].clone()
    };
    assert_eq!(proxy(&rig), Value::Null);
    let status = json!({ "httpProxy": "http://p" });
    rig.put(&PROXIES, json!({ "metadata": { "name": "cluster" }, "status": status }));
    rig.run(2);
    assert_eq!(proxy(&rig), status);
    rig.write(&Write::merge_patch_status(
        &PROXIES,
        "",
        "cluster",
        json!({ "status": { "httpProxy": null } }),
    ));
    rig.run(2);
    assert_eq!(proxy(&rig), Value::Null);
}

#[test]
fn a_single_node_cluster_has_longer_lease_times() {
    assert_eq!(lease_seconds(&View::default()), LEASE_SECONDS);
    for (topology, seconds) in [("HighlyAvailable", LEASE_SECONDS), ("SingleReplica", LEASE_SECONDS_SINGLE)] {
        let mut rig = Rig::new();
        let status = json!({ "controlPlaneTopology": topology });
        rig.put(&INFRASTRUCTURES, json!({ "metadata": { "name": "cluster" }, "status": status }));
        assert_eq!(lease_seconds(&rig.view), seconds, "{topology}");
    }
}

#[test]
fn the_message_of_a_degraded_pool_is_quoted_as_in_go() {
    let degraded =
        json!({ "type": "RenderDegraded", "status": "True", "reason": "", "message": "\u{1b}[0m \"x\"" });
    let pool = Object::new(json!({ "status": { "conditions": [degraded] } }));
    let message = r#"pool is degraded because rendering fails with "": "\x1b[0m \"x\"""#;
    assert_eq!(pools::extension_text(&pool), message);
}

#[test]
fn daemons_that_are_not_rolled_out_in_ten_minutes_degrade_the_operator_for_a_moment() {
    for (from, to, cause) in [
        ("4.18.3", "4.18.7", "context deadline exceeded"),
        ("4.12.3", "4.12.7", "timed out waiting for the condition"),
    ] {
        let mut rig = rig(from, to);
        let node = |name: &str, ready: &str| {
            let conditions = json!([{ "type": "Ready", "status": ready }]);
            json!({ "metadata": { "name": name }, "status": { "conditions": conditions } })
        };
        rig.put(&NODES, node("a", "True"));
        rig.put(&NODES, node("b", "Unknown"));
        update(&mut rig, to);
        rig.run(560);
        assert!(condition_text(&rig, "Degraded").starts_with("False"), "{from}");
        rig.run(100);
        let status = "status: (desired: 2, updated: 0, ready: 1, unavailable: 1)]";
        let error = format!(
            "error during waitForDaemonsetRollout: [{cause}, daemonset machine-config-daemon is not ready. {status}"
        );
        assert!(
            rig.log.iter().any(|line| line.contains("Degraded=True MachineConfigDaemonFailed") && line.contains(&error)),
            "{from}: {:#?}",
            rig.log
        );
        rig.run(200);
        assert!(condition_text(&rig, "Degraded").starts_with("False"), "the next attempt does not wait");
    }
}

//! Runs in an existing real cluster: the update completes as on any backend, no pod lands on a foreign node,
//! and nothing is left behind.

mod control_plane;
mod features;

use std::process::{Child, Stdio};

use serde_json::json;

use self::control_plane::{CONTEXT, ControlPlane, NODE};
use crate::cli::backends::{signal, tools};
use crate::cli::environment::{Output, TestEnvironment};

/// A short scenario: an update in five lines and a name.
const SCENARIO: &str = "name: five lines
cluster: {version: 4.20.1}
releases: {4.20.3: {}}
timeline:
- update: {to: 4.20.3}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, message: Cluster version is 4.20.3}, within: 3h}
";

/// An update that continues until the run is ended.
const ENDLESS: &str = "Feature: Endless
  Scenario: Time passes
    Given a 4.14.1 cluster with 1 control-plane node and 1 worker
    And release 4.14.8 exists
    When I update to 4.14.8
    And 87000 hours pass
";
/// The last step of [`ENDLESS`].
const LAST_STEP: &str = "And 87000 hours pass";

/// The speed of runs: real controllers need wall time.
const PACE: [&str; 4] = ["--speed", "600x", "--writes-per-second", "1000"];
/// The cluster that runs use.
const PLACE: [&str; 4] = ["--kubeconfig", "config", "--context", CONTEXT];

fn environment(plane: &ControlPlane) -> TestEnvironment {
    let feature = include_str!("../../../features/z_stream_update.feature");
    TestEnvironment::with(&[
        ("config", plane.kubeconfig()),
        ("z_stream_update.feature", feature),
        ("s.yaml", SCENARIO),
        ("small.feature", &ENDLESS.replace(LAST_STEP, "Then within 2 hours the update is complete")),
        ("endless.feature", ENDLESS),
    ])
}

/// Checks that a run passes, that none of its pods lands on the foreign node, and that it leaves nothing
/// behind.
fn check_run(plane: &ControlPlane, run: impl FnOnce() -> Output, passed: usize) {
    let (before, bound) = (plane.objects(), plane.watch_foreign_node());
    let output = run();
    let bound = bound.names();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains(&format!("{passed} passed, 0 failed;")), "{output}");
    assert!(!bound.is_empty() && bound.iter().all(|name| name.starts_with("kube-proxy-")), "{bound:?}");
    assert_eq!(plane.objects(), before);
}

#[test]
fn the_z_stream_feature_passes_in_an_existing_cluster() {
    let Some(plane) = ControlPlane::real() else { return };
    let environment = environment(&plane);
    let place = [&["test", "z_stream_update.feature", "--backend", "kubeconfig"], &PLACE[..], &PACE].concat();
    check_run(&plane, || environment.run(&place), 4);
}

#[test]
fn an_update_in_five_lines_passes_in_an_existing_cluster() {
    let Some(plane) = ControlPlane::real() else { return };
    let environment = environment(&plane);
    let place = [&["run", "s.yaml", "--backend", "kubeconfig"], &PLACE[..], &PACE].concat();
    check_run(&plane, || environment.run(&place), 1);
}

#[test]
fn an_update_passes_in_a_kind_cluster() {
    let Some(plane) = ControlPlane::real() else { return };
    let environment = environment(&plane);
    tools::install(&environment, "kind");
    let arguments = [&["test", "small.feature", "--backend", "kind"], &PACE[..]].concat();
    check_run(&plane, || tools::run(&environment, &arguments), 1);
}

/// Starts an endless run in a control plane and waits until its update is under way.
fn start_endless_run(plane: &ControlPlane, environment: &TestEnvironment) -> Child {
    let place = [&["test", "endless.feature", "--backend", "kubeconfig"], &PLACE[..], &PACE].concat();
    let mut command = environment.command(&place);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    plane.wait_for_pod("openshift-cluster-version", "version-4.14.8-");
    child
}

/// Interrupts a run and checks that it leaves nothing behind.
fn check_interrupt(plane: &ControlPlane) {
    let (environment, before) = (environment(plane), plane.objects());
    let child = start_endless_run(plane, &environment);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert_eq!(stderr.matches("removed ").count(), 1, "{stderr}");
    assert_eq!(plane.objects(), before);
}

/// Kills a run and checks that `windtunnel clean` removes everything that it left.
fn check_clean(plane: &ControlPlane) {
    let (environment, before) = (environment(plane), plane.objects());
    let mut child = start_endless_run(plane, &environment);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(plane.objects(), before);
    let cleaned = environment.run(&[&["clean"], &PLACE[..]].concat());
    assert_eq!(cleaned.code, Some(0), "{cleaned}");
    assert_eq!(cleaned.stderr.matches("removed ").count(), 1, "{cleaned}");
    assert_eq!(plane.objects(), before);
}

/// The name of a workload that a user creates beside a run, and a namespace of the run.
const WORKLOAD: &str = "of-a-user";
const NAMESPACE: &str = "openshift-config";

/// Creates Deployments beside a run, as users do, and checks that simulated kubelets run their pods.
fn check_workloads_of_others(plane: &ControlPlane) {
    let (environment, before) = (environment(plane), plane.objects());
    let child = start_endless_run(plane, &environment);
    let container = json!({ "name": "c", "image": "registry.example.com/i:1" });
    let (labels, tolerations) = (json!({ "app": WORKLOAD }), json!([{ "key": "x", "operator": "Exists" }]));
    let selector = json!({ "kubernetes.io/os": "linux" });
    let plain = json!({ "containers": [container] });
    let placed = json!({ "containers": [container], "tolerations": tolerations, "nodeSelector": selector });
    for (name, spec) in [("plain", plain), ("placed", placed)] {
        let deployment = json!({
            "metadata": { "name": format!("{WORKLOAD}-{name}"), "namespace": NAMESPACE },
            "spec": {
                "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": spec },
            },
        });
        let node = plane.node_of_new_workload(&serde_json::from_value(deployment).unwrap());
        assert_ne!(node, NODE, "{name}");
    }
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(plane.objects(), before);
}

#[test]
fn simulated_kubelets_run_the_pods_that_others_create_in_a_run() {
    let Some(plane) = ControlPlane::real() else { return };
    check_workloads_of_others(&plane);
}

#[test]
fn simulated_kubelets_run_the_pods_of_others_with_our_controllers() {
    check_workloads_of_others(&ControlPlane::ours());
}

#[test]
fn an_interrupted_run_removes_its_objects() {
    let Some(plane) = ControlPlane::real() else { return };
    check_interrupt(&plane);
}

#[test]
fn clean_removes_the_objects_of_a_killed_run() {
    let Some(plane) = ControlPlane::real() else { return };
    check_clean(&plane);
}

#[test]
fn interrupted_and_killed_runs_leave_nothing_behind_with_our_controllers() {
    let plane = ControlPlane::ours();
    check_interrupt(&plane);
    check_clean(&plane);
}

#[test]
fn an_update_passes_with_our_controllers() {
    let plane = ControlPlane::ours();
    let environment = environment(&plane);
    let feature = environment.read("z_stream_update.feature");
    let (head, scenarios) = feature.split_once("  # OTA-1269").unwrap();
    let own = scenarios.split("\n\n").find(|scenario| scenario.contains("replaces itself")).unwrap();
    environment.write("own.feature", format!("{head}{own}\n"));
    let place = [&["test", "own.feature", "--backend", "kubeconfig"], &PLACE[..], &PACE].concat();
    check_run(&plane, || environment.run(&place), 1);
}

//! Features in an existing real cluster: the first scenario of a third of them, as all would take most of an
//! hour. docs/faithfulness.md has the results of all.

use std::fs;
use std::path::Path;

use super::control_plane::{CONTEXT, ControlPlane};
use crate::cli::environment::TestEnvironment;

/// The chosen features. Each uses something that no other one does on a real control plane. Their first scenarios
/// are no outlines.
const CHOSEN: [&str; 12] = [
    // Roles and bindings decide what the operator may write.
    "apply_errors",
    // PrometheusRules and their alerts.
    "alerts",
    // A whole update with all its drains, and no health insight.
    "health_insights",
    // Logs of simulated pods.
    "logs",
    // MachineConfigNodes.
    "machine_config_nodes",
    // A PodDisruptionBudget, evictions.
    "node_faults",
    // An update whose nodes stay as they are, and its rollback.
    "node_rollback",
    // The commands of `oc adm upgrade`.
    "oc_adm_upgrade",
    // Services, ServiceMonitors and certificates.
    "own_manifests",
    // Probes of a pod, and the status of its Deployment.
    "pod_faults",
    // Several nodes of a pool at once.
    "pools",
    // The Pod that fetches a payload.
    "version_pod_update",
];

/// The text of a feature with its first scenario alone.
fn first_scenario(feature: &str) -> String {
    let lines: Vec<&str> = feature.lines().collect();
    let is_start =
        |line: &str| ["Scenario:", "Scenario Outline:"].iter().any(|key| line.trim().starts_with(key));
    let second = lines.iter().enumerate().filter(|(_, line)| is_start(line)).nth(1);
    let mut end = second.map_or(lines.len(), |(index, _)| index);
    // Tags and comments above a scenario belong to it.
    while end < lines.len() && lines[end - 1].trim().starts_with(['@', '#']) {
        end -= 1;
    }
    lines[..end].join("\n") + "\n"
}

/// An environment with these features, and the files that they use.
fn environment(plane: &ControlPlane) -> TestEnvironment {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("features");
    let environment = TestEnvironment::with(&[("config", plane.kubeconfig())]);
    for name in CHOSEN {
        let file = format!("{name}.feature");
        let feature = fs::read_to_string(folder.join(&file)).unwrap();
        environment.write(&format!("features/{file}"), first_scenario(&feature));
    }
    environment
}

#[test]
fn the_first_scenario_of_a_third_of_the_features_passes() {
    let Some(plane) = ControlPlane::real() else { return };
    let environment = environment(&plane);
    let place = ["--backend", "kubeconfig", "--kubeconfig", "config", "--context", CONTEXT];
    let pace = ["--speed", "1000x", "--writes-per-second", "1000"];
    let arguments = [&["test", "features"], &place[..], &pace].concat();
    super::check_run(&plane, || environment.run(&arguments), CHOSEN.len());
}

#[test]
fn the_first_scenario_of_a_feature_ends_before_the_tags_of_the_second() {
    let feature =
        "Feature: f\n  @own\n  Scenario: a\n    Given b\n\n  # OTA-1\n  @x\n  Scenario Outline: c\n";
    assert_eq!(first_scenario(feature), "Feature: f\n  @own\n  Scenario: a\n    Given b\n\n");
    let single = "Feature: f\n  Scenario: a\n    Given b\n";
    assert_eq!(first_scenario(single), single);
}

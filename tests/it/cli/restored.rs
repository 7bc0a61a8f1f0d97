//! Leftovers of an update that was taken back: the expectation `restored`, `run --check-restored` and
//! `sweep --restored`.

use serde_json::Value;
use windtunnel::engine::restored::{trace, volatile};

use super::environment::{TestEnvironment, check};

const Z_STREAM: &str = "name: a z-stream update
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
releases: {4.20.5: }
timeline:
- update: {to: 4.20.5}
- expect: {update: complete, within: 3h}
";

/// 4.18 has definitions, a role and a service account that 4.17 does not have.
const MINOR: &str = "name: a minor update
cluster: {version: 4.17.4, baseline-capability-set: None, nodes: {control-plane: 1, workers: 0}}
releases: {4.18.3: }
timeline:
- update: {to: 4.18.3}
- expect: {update: complete, within: 3h}
";

fn run(text: &str, more: &[&str]) -> String {
    check(&[("a.yaml", text)], &[&["run", "a.yaml"], more].concat())
}

#[test]
fn a_z_stream_update_there_and_back_leaves_nothing() {
    let output = run(Z_STREAM, &["--check-restored", "--quiet"]);
    assert!(output.contains("exit 0"), "{output}");
    let summary = "a.yaml: 4.20.1 -> 4.20.5 -> 4.20.1, taken back at the end: 0 things left over";
    assert!(output.contains(summary), "{output}");
}

#[test]
fn a_minor_update_there_and_back_leaves_objects_of_the_newer_release() {
    let environment = TestEnvironment::with(&[("a.yaml", MINOR)]);
    let output =
        environment.run(&["run", "a.yaml", "--check-restored", "--format", "json", "--junit", "a.xml"]);
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    let failure = document["scenarios"][0]["failure"].as_str().unwrap();
    for part in [
        "after 4.17.4 -> 4.18.3 -> 4.17.4: ",
        "\n  new objects:\n",
        "ClusterRole/machine-os-builder",
        "CustomResourceDefinition/nodes.config.openshift.io, from the payload of 4.18.3, owned by ClusterVersion/version",
        "that every update leaves",
    ] {
        assert!(failure.contains(part), "{part}: {failure}");
    }
    assert!(environment.read("a.xml").contains("machine-os-builder"));
}

#[test]
fn the_other_steps_of_a_scenario_leave_nothing_of_the_update() {
    let label = "- apply: {apiVersion: v1, kind: Node, metadata: {name: master-0, labels: {a: b}}}\n";
    let output = run(&format!("{Z_STREAM}{label}"), &["--check-restored", "--quiet"]);
    assert!(output.contains("exit 0"), "{output}");
    assert!(output.contains("0 things left over, 1 by time"), "{output}");
    let none = "name: idle\ncluster: {version: 4.20.1}\ntimeline:\n- expect: {object: Node/worker-0}\n";
    let output = run(none, &["--check-restored", "--quiet"]);
    assert!(output.contains("exit 0") && output.contains("no update is requested"), "{output}");
}

#[test]
fn the_expectation_lists_what_is_left_over() {
    let back = "- update: {to: 4.20.1}\n- expect: {update: complete, within: 3h}\n";
    let label = "- apply: {apiVersion: v1, kind: Node, metadata: {name: master-0, labels: {a: b}}}\n";
    let text =
        |restored: &str| format!("{Z_STREAM}{label}{back}- expect: {{restored: {restored}, within: 2h}}\n");
    let output = run(&text("true"), &["--quiet"]);
    assert!(output.contains("exit 1"), "{output}");
    let left = "the cluster is not what it was at 4.20.1: 1 thing is left over\n";
    assert!(output.contains(left.trim_end()), "{output}");
    assert!(output.contains("Node/master-0: metadata.labels.a was absent and is \"b\""), "{output}");
    let output = run(&text("{ignore: [metadata.labels.a of Node/master-*]}"), &["--quiet"]);
    assert!(output.contains("exit 0"), "{output}");
}

#[test]
fn a_state_that_is_not_known_is_named() {
    let early = Z_STREAM.replace("- expect: {update: complete, within: 3h}", "- expect: {restored: true}");
    let output = run(&early, &["--quiet"]);
    assert!(output.contains("exit 1"), "{output}");
    let away = format!("{Z_STREAM}- expect: {{restored: true}}\n");
    let output = run(&away, &["--quiet"]);
    let expected = "the cluster has not left 4.20.5 before; it left 4.20.1";
    assert!(output.contains("exit 1") && output.contains(expected), "{output}");
    let kept = "name: kept
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
timeline:
- keep: {as: calm, cluster: true}
- advance: 20m
- expect: {restored: {to: calm}}
- expect: {restored: {to: start}}
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
- expect: {restored: {to: calm}}
";
    let output = run(kept, &["--quiet"]);
    assert!(output.contains("exit 1") && output.contains("a.yaml:9"), "{output}");
    assert!(output.contains("ConfigMap/default/a"), "{output}");
}

#[test]
fn a_sweep_reports_moments_after_which_something_is_left_over() {
    let environment = TestEnvironment::with(&[("z.yaml", Z_STREAM), ("minor.yaml", MINOR)]);
    let swept = environment.run(&["sweep", "z.yaml", "--rollback-at", "20m", "--restored"]);
    assert_eq!(swept.code, Some(0), "{}{}", swept.stdout, swept.stderr);
    let flags = ["--rollback-at", "1m", "--restored", "--emit", "emitted"];
    let swept = environment.run(&[&["sweep", "minor.yaml"][..], &flags].concat());
    assert_eq!(swept.code, Some(1), "{}{}", swept.stdout, swept.stderr);
    assert!(swept.stdout.contains("left over"), "{}", swept.stdout);
    assert!(swept.stdout.contains("the cluster arrives from every moment"), "{}", swept.stdout);
    assert!(swept.stdout.contains("new object: CustomResourceDefinition/nodes.config"), "{}", swept.stdout);
    let emitted = environment.files().into_iter().find(|file| file.contains("left-over"));
    let run = environment.run(&["run", &emitted.unwrap(), "--quiet"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("nodes.config"), "{}", run.stdout);
}

#[test]
fn the_page_lists_everything_that_is_not_compared_and_every_trace() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/how-to/restored.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = volatile::table().into_iter().chain(trace::table());
    let missing: Vec<String> = rows.filter(|row| !page.contains(row)).collect();
    assert!(missing.is_empty(), "docs/how-to/restored.md lacks these rows:\n{}", missing.join("\n"));
}

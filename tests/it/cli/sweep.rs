//! `windtunnel sweep`: copies of a cluster that are asked to go back at moments of an update.

use serde_json::Value;

use super::environment::{TestEnvironment, check};

const Z_STREAM: &str = "name: a z-stream update
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
releases: {4.20.5: , 4.20.7: }
timeline:
- update: {to: 4.20.5}
- expect: {update: complete, within: 3h}
";

/// The capabilities that 4.14 adds are not in the enum of 4.13.
const MINOR: &str = "name: an update from 4.13 to 4.14
cluster: {version: 4.13.20, nodes: {control-plane: 1, workers: 0}}
releases: {4.14.1: }
timeline:
- update: {to: 4.14.1}
- expect: {update: complete, within: 3h}
";

fn sweep(text: &str, more: &[&str]) -> String {
    check(&[("update.yaml", text)], &[&["sweep", "update.yaml"], more].concat())
}

fn json(text: &str, more: &[&str]) -> Value {
    let output = sweep(text, &[more, &["--json"]].concat());
    let start = output.find('{').unwrap_or_else(|| panic!("{output}"));
    let end = output.rfind('}').unwrap();
    serde_json::from_str(&output[start..=end]).unwrap()
}

fn outcomes(document: &Value) -> Vec<(f64, String)> {
    let moments = document["moments"].as_array().unwrap();
    let outcome = |moment: &Value| {
        (moment["seconds"].as_f64().unwrap(), moment["outcome"].as_str().unwrap().to_owned())
    };
    moments.iter().map(outcome).collect()
}

#[test]
fn a_z_stream_update_can_be_taken_back_at_each_time() {
    let output = sweep(Z_STREAM, &["--rollback-at", "every 20m"]);
    assert!(output.contains("exit 0"), "{output}");
    assert!(output.contains("2 moments asked to go to 4.20.1"), "{output}");
    assert!(output.contains("the cluster arrives from every moment"), "{output}");
    let document = json(Z_STREAM, &["--rollback-at", "1s,20m"]);
    assert_eq!(outcomes(&document), [(1.0, "safe".to_owned()), (1200.0, "safe".to_owned())]);
    // The operator keeps the signatures of releases that it verified, which every update leaves.
    let left_over = document["moments"][0]["leftOver"].as_array().unwrap();
    let is_signature =
        |found: &&Value| found["object"] == "ConfigMap/openshift-config-managed/signatures-managed";
    let signature = left_over.iter().find(is_signature).unwrap_or_else(|| panic!("{left_over:?}"));
    assert_eq!(signature["what"], "trace");
    assert!(left_over.iter().all(|found| found["what"] == "trace"), "{left_over:?}");
    let after = &document["moments"][1]["nodes"]["after"];
    assert_eq!(*after, serde_json::json!({ "4.20.1": 1 }), "the node goes back as well");
    assert_eq!(json(Z_STREAM, &["--rollback-at", "1s,20m"]), document, "the same seed gives the same result");
}

#[test]
fn the_enum_traps_a_rollback_as_soon_as_the_release_is_loaded() {
    let output = sweep(MINOR, &["--rollback-at", "1s,10m"]);
    assert!(output.contains("exit 1"), "{output}");
    assert!(output.contains("first moment with no way back: 0:00:4"), "{output}");
    // A forced request is not checked, so the operator loads the release at once, and nothing stops it.
    let forced = MINOR.replace("4.14.1}", "4.14.1, force: true}");
    let output = sweep(&forced, &["--rollback-at", "1s"]);
    assert!(output.contains("first moment with no way back: 0:00:01 after the start"), "{output}");
    assert!(
        output.contains(
            "cluster-version-operator update ClusterVersion/version status, rejected with 422 at status.capabilities."
        ),
        "{output}"
    );
    assert!(output.contains("Unsupported value: \"Build\""), "{output}");
}

#[test]
fn moments_can_be_those_of_operators() {
    let document = json(Z_STREAM, &["--rollback-at", "each-operator", "--abort", "4.20.7"]);
    let moments = document["moments"].as_array().unwrap();
    assert!(moments.len() > 10, "{document}");
    let all_safe = moments.iter().all(|moment| moment["outcome"] == "safe");
    assert!(all_safe, "{document}");
    let last_write = |moment: &Value| moment["lastWrite"].as_str().unwrap().contains("ClusterOperator/");
    assert!(moments.iter().any(last_write), "{document}");
    let after = &moments[0]["nodes"]["after"];
    assert_eq!(*after, serde_json::json!({ "4.20.7": 1 }));
}

#[test]
fn every_write_is_a_moment_or_shares_one() {
    let short = Z_STREAM.replace("expect: {update: complete, within: 3h}", "advance: 30s");
    let document = json(&short, &[]);
    let moments = document["moments"].as_array().unwrap();
    assert!(moments.len() > 3, "{document}");
    let is_routine = |moment: &&Value| moment["lastWrite"].as_str().unwrap().contains("Event/");
    assert_eq!(moments.iter().find(is_routine), None);
    let times = outcomes(&document);
    assert!(times.windows(2).all(|pair| pair[0].0 < pair[1].0), "{times:?}");
}

#[test]
fn a_killed_component_continues() {
    let document = json(Z_STREAM, &["--rollback-at", "10m", "--kill", "cluster-version-operator"]);
    assert_eq!(outcomes(&document), [(600.0, "safe".to_owned())]);
    assert_eq!(document["moments"][0]["nodes"]["after"], serde_json::json!({ "4.20.5": 1 }));
}

#[test]
fn an_emitted_scenario_does_what_the_copy_did() {
    let environment = TestEnvironment::new();
    environment.write("z.yaml", Z_STREAM);
    environment.write("minor.yaml", MINOR);
    for (file, moment, exit) in [("z.yaml", "20m", 0), ("minor.yaml", "10m", 1)] {
        let swept =
            environment.run(&["sweep", file, "--rollback-at", moment, "--emit", "emitted", "--svg", "a.svg"]);
        assert_eq!(swept.code, Some(exit), "{}{}", swept.stdout, swept.stderr);
        let run = environment.run(&["run", "emitted", "--quiet"]);
        assert_eq!(run.code, Some(exit), "{}{}", run.stdout, run.stderr);
        std::fs::remove_dir_all(environment.work().join("emitted")).unwrap();
    }
    let picture = std::fs::read_to_string(environment.work().join("a.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("#c9190b"), "{picture}");
}

#[test]
fn a_scenario_of_the_start_has_no_step_that_waits() {
    let environment = TestEnvironment::new();
    // The operator writes twice within the second.
    let update = "name: update\ncluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 0}}\n\
                  releases: {4.18.6: }\ntimeline:\n- update: {to: 4.18.6}\n- advance: 1s\n";
    environment.write("update.yaml", update);
    let swept = environment.run(&["sweep", "update.yaml", "--emit", "emitted"]);
    assert_eq!(swept.code, Some(0), "{swept}");
    let emitted: Vec<String> =
        environment.files().into_iter().filter(|file| file.starts_with("emitted/")).collect();
    assert_eq!(emitted, ["emitted/01-safe-at-0s.yaml"]);
    let text = environment.read(&emitted[0]);
    let steps: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(
        steps,
        ["- update: {to: 4.18.6}", "- update: {to: 4.18.3, force: true}", "- expect:"],
        "{text}"
    );
    let run = environment.run(&["run", "emitted", "--quiet"]);
    assert_eq!(run.code, Some(0), "{run}");
    // A scenario that ends with its request has no moment, so nothing is written.
    environment.write("update.yaml", update.replace("- advance: 1s\n", ""));
    let swept = environment.run(&["sweep", "update.yaml", "--emit", "none"]);
    assert!(swept.stdout.contains("0 moments"), "{swept}");
    assert!(!environment.work().join("none").exists());
}

#[test]
fn wrong_input_says_what_was_expected() {
    let no_update = "name: nothing\ncluster: {version: 4.20.1}\ntimeline:\n- advance: 1m\n";
    let failing = Z_STREAM.replace("within: 3h", "within: 1m");
    let two = format!("parameters:\n- {{a: 1}}\n- {{a: 2}}\n{}", Z_STREAM.replace("a z-stream", "<a>"));
    for (text, flags, exit, expected) in [
        (
            Z_STREAM,
            &["--rollback-at", "soon"][..],
            2,
            "expected `every-write`, `each-operator`, `every 5m`, or times",
        ),
        (Z_STREAM, &["--rollback-at", "every 0s"], 2, "expected a duration such as `6h`"),
        (Z_STREAM, &["--abort", "4.20.9"], 2, "it has 4.20.1, 4.20.5, 4.20.7: add it to `releases`"),
        (Z_STREAM, &["--kill", "etcd"], 2, "the cluster has no component `etcd`"),
        (Z_STREAM, &["--kill", "etcd", "--abort", "4.20.7"], 2, "cannot be used with"),
        (&two, &[], 2, "this file has 2 by its `parameters`"),
        (no_update, &[], 1, "the scenario requests none"),
        (&failing, &["--rollback-at", "30s"], 1, "the scenario fails at line 6"),
    ] {
        let output = sweep(text, flags);
        assert!(output.contains(&format!("exit {exit}")), "{output}");
        assert!(output.contains(expected), "{expected}: {output}");
    }
}

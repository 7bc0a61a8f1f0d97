//! `windtunnel explore`: invented and disturbed runs, what they find, and its files.

use serde_json::Value;

use super::environment::{TestEnvironment, check};

/// Its last expectation never holds, whatever disturbs the cluster.
const BROKEN: &str = "name: a node that is not there
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
timeline:
- advance: 1m
- expect: {object: Node/worker-7}
";

/// It passes, with disturbances as well.
const SOUND: &str = "name: a cluster at rest
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
timeline:
- advance: 10m
- expect: {object: ClusterVersion/version, condition: {type: Available, status: \"True\"}}
";

/// The document of an exploration, without what depends on this machine.
fn explored(environment: &TestEnvironment, arguments: &[&str]) -> Value {
    let arguments = [&["explore", "--format", "json"], arguments].concat();
    let output = environment.run(&arguments).stdout;
    let mut document: Value =
        serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"));
    document["newStatesPerMinute"] = Value::Null;
    document
}

#[test]
fn a_finding_is_a_scenario_that_fails() {
    let environment = TestEnvironment::with(&[("scenarios/broken.yaml", BROKEN)]);
    let arguments = ["explore", "scenarios", "--runs", "3", "--jobs", "2", "--emit", "found"];
    let output = environment.run(&arguments);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let files: Vec<String> =
        environment.files().into_iter().filter(|file| file.starts_with("found/")).collect();
    let [file] = files.as_slice() else { panic!("one cause is one finding: {files:?}") };
    let text = environment.read(file);
    assert!(text.starts_with("# Broken: expect Node/worker-7"), "{text}");
    assert!(!text.contains("fault"), "no fault is needed: {text}");
    let run = environment.run(&["run", file]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
}

#[test]
fn short_disturbances_break_no_scenario_that_is_at_rest() {
    let output = check(&[("sound.yaml", SOUND)], &["explore", "sound.yaml", "--runs", "4"]);
    assert!(output.contains("exit 0") && output.contains("4 runs, "), "{output}");
}

#[test]
fn the_number_of_threads_changes_nothing_and_a_corpus_is_continued() {
    let environment = TestEnvironment::with(&[("broken.yaml", BROKEN)]);
    let explore = |jobs: &str, corpus: &str, runs: &str| {
        explored(
            &environment,
            &["broken.yaml", "--jobs", jobs, "--seed", "5", "--runs", runs, "--corpus", corpus],
        )
    };
    let one = explore("1", "one", "10");
    assert_eq!(one["runs"], 10);
    assert_eq!(explore("2", "two", "10"), one);
    // Eight runs are a batch, after which the exploration may be killed.
    assert_eq!(explore("2", "three", "8")["runs"], 8);
    assert_eq!(explore("2", "three", "10"), one, "what was known is neither lost nor repeated");
    let files = environment.files();
    assert!(files.contains(&"three/state.json".to_owned()), "{files:?}");
    assert!(!files.contains(&"three/state.new".to_owned()), "{files:?}");
}

#[test]
fn an_invented_run_is_the_same_every_time() {
    let environment = TestEnvironment::new();
    let explore = || explored(&environment, &["--runs", "1", "--seed", "2"]);
    let first = explore();
    assert_eq!(first["runs"], 1);
    assert!(first["states"].as_object().unwrap().len() > 50, "{first}");
    assert_eq!(explore(), first);
}

#[test]
fn unusable_input_is_reported_and_nothing_runs() {
    let parameters =
        "name: n\nparameters: [{a: 4.20.1}]\ncluster: {version: <a>}\ntimeline:\n- advance: 1m\n";
    let files = [("table.yaml", parameters), ("corpus/state.json", "[]")];
    let output = check(&files, &["explore", "table.yaml", "--runs", "1"]);
    assert!(output.contains("exit 2") && output.contains("`parameters`"), "{output}");
    let output = check(&files, &["explore", "--runs", "1", "--corpus", "corpus"]);
    assert!(output.contains("exit 2") && output.contains("no state of an exploration"), "{output}");
    let output = check(&files, &["explore", "--budget", "soon"]);
    assert!(output.contains("exit 2") && output.contains("expected a duration"), "{output}");
}

//! `windtunnel explore`: invented and disturbed runs, what they find, and its files.

mod commands;
#[cfg(unix)]
mod corpus;
mod job;

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
    document["wallSeconds"] = Value::Null;
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
    let mut continued = explore("2", "three", "10");
    continued["newStates"] = one["newStates"].clone();
    assert_eq!(continued, one, "what was known is neither lost nor repeated");
    let files = environment.files();
    assert!(files.contains(&"three/state.json".to_owned()), "{files:?}");
    assert!(!files.iter().any(|file| file.contains(".part")), "{files:?}");
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
    let files = [
        ("table.yaml", parameters),
        ("empty/notes.txt", "none"),
        ("torn/state.json", "{\"format\": 1, "),
        ("newer/state.json", "{\"format\": 99, \"windtunnel\": \"7.0.0\"}"),
        ("file", ""),
    ];
    for (arguments, message) in [
        (vec!["table.yaml"], "`parameters`"),
        (
            vec!["table.yaml"],
            "found no scenario to explore; without paths, clusters and updates are invented",
        ),
        (vec!["empty"], "found none"),
        (vec!["--corpus", "torn"], "torn/state.json: this is no state of an exploration: EOF"),
        (vec!["--corpus", "newer"], "windtunnel 7.0.0 wrote this state of an exploration in format 99"),
        (vec!["--corpus", "file"], "file: nothing can be written into this folder"),
        (vec!["--emit", "file/found"], "file/found: cannot create the folder: file is no folder"),
        (vec!["--html", "file/page.html"], "file/page.html: cannot be written: file is no folder"),
        (vec!["--budget", "soon"], "expected a duration such as `10m` or `12h`, not `soon`"),
        (vec!["--budget", "0s"], "nothing can run in no time"),
        (vec!["--shard", "3/2"], "expected one part of several, such as 2/3"),
    ] {
        let output = check(&files, &[&["explore", "--runs", "1"], &*arguments].concat());
        assert!(output.contains("exit 2") && output.contains(message), "{arguments:?}: {output}");
        assert!(!output.contains("1 run, "), "{output}");
    }
}

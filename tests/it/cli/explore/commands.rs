//! The commands beside the exploration itself, and its page.

use serde_json::Value;

use super::super::environment::{TestEnvironment, check};
use super::{BROKEN, SOUND};

/// It fails at its last step. Only the fault of the worker matters.
const LONG: &str = "name: a worker that does not come back
cluster: {version: 4.18.1, nodes: {control-plane: 1, workers: 1}, channel: fast-4.18}
releases: {4.18.5: }
timeline:
- fault: {operator: dns, is: degraded, for: 5m}
- advance: 10m
- fault: {node: worker-0, is: not-ready, for: 9h}
- advance: 20m
- expect: {object: Node/worker-0, condition: {type: Ready, status: \"True\"}}
- advance: 9h
";

/// An environment with a corpus that has one finding, and its scenario in `found/`.
fn explored() -> TestEnvironment {
    let environment = TestEnvironment::with(&[("broken.yaml", BROKEN)]);
    let arguments = [
        "explore",
        "broken.yaml",
        "--runs",
        "2",
        "--corpus",
        "corpus",
        "--emit",
        "found",
        "--html",
        "page.html",
    ];
    let output = environment.run(&arguments);
    assert_eq!(output.code, Some(1), "{output}");
    environment
}

#[test]
fn findings_run_again_from_a_corpus_or_from_files() {
    let environment = explored();
    let found = environment.files().into_iter().find(|file| file.starts_with("found/")).unwrap();
    for source in ["corpus", "found", &found] {
        let output = environment.run(&["explore", "replay", source]);
        assert_eq!(output.code, Some(1), "{output}");
        assert!(
            output.stdout.contains("FAIL  ") && output.stdout.contains("1 finding: 1 still fail"),
            "{output}"
        );
    }
    let output = environment.run(&["explore", "replay", "corpus", "Node/worker-#"]);
    assert_eq!(output.code, Some(1), "{output}");
    let output = environment.run(&["explore", "replay", "corpus", "etcd"]);
    assert!(output.code == Some(2) && output.stderr.contains("no finding has this name"), "{output}");
    environment.write(&found, environment.read(&found).replace("worker-7", "master-0"));
    let output = environment.run(&["explore", "replay", "found"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output.stdout.contains("PASS  ") && output.stdout.contains("1 finding: 0 still fail"),
        "{output}"
    );
}

#[test]
fn a_scenario_shows_the_line_of_the_record_with_its_problem() {
    let environment = explored();
    let found = environment.files().into_iter().find(|file| file.starts_with("found/")).unwrap();
    let scenario = environment.read(&found);
    let comment = scenario.lines().find(|line| line.starts_with("# Shows in record line ")).unwrap();
    let line: usize = comment["# Shows in record line ".len()..].split(':').next().unwrap().parse().unwrap();
    environment.run(&["run", &found, "--record", "record.jsonl"]);
    let record = environment.read("record.jsonl");
    let entry: Value = serde_json::from_str(record.lines().nth(line - 1).unwrap()).unwrap();
    assert!(entry["outcome"].as_str().unwrap().contains("worker-7"), "{comment}: {entry}");
    assert!(comment.contains("worker-7"), "{comment}");
}

#[test]
fn a_corpus_has_a_summary_and_a_page() {
    let environment = explored();
    let output = environment.run(&[
        "explore",
        "report",
        "corpus",
        "--html",
        "again.html",
        "--emit",
        "again",
        "--format",
        "json",
    ]);
    assert_eq!(output.code, Some(1), "{output}");
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    let finding = &document["findings"][0];
    assert_eq!(document["runs"], 2);
    assert!(document["neverSeen"]["alerts"].is_array() && document["statesByKind"].is_object());
    assert!(finding["scenario"].as_str().unwrap().starts_with("# Broken: expect Node/worker-7"), "{finding}");
    assert!(finding["place"]["line"].is_number() && finding["command"].is_string(), "{finding}");
    let file = finding["file"].as_str().unwrap();
    assert_eq!(environment.read(&format!("again/{file}")), environment.read(&format!("found/{file}")));
    for page in ["page.html", "again.html"] {
        let page = environment.read(page);
        for text in [
            "expect Node&#x2f;worker-#",
            "A scenario passes in spite of short disturbances.",
            "record line ",
            file,
            "<svg",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
    let output = environment.run(&["explore", "report", "found"]);
    assert!(output.code == Some(2) && output.stderr.contains("it has no state.json"), "{output}");
}

#[test]
fn a_failing_scenario_becomes_smaller() {
    let environment = TestEnvironment::with(&[("long.yaml", LONG)]);
    let output = environment.run(&["explore", "minimise", "long.yaml", "--output", "small.yaml"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("6 steps became 2 in "), "{output}");
    let text = environment.read("small.yaml");
    assert!(text.starts_with("# Fails: expect Node/worker-0"), "{text}");
    assert!(text.contains("name: a worker that does not come back\n"), "{text}");
    assert!(text.contains("node: worker-0") && !text.contains("dns") && !text.contains("channel"), "{text}");
    let run = environment.run(&["run", "small.yaml", "--quiet"]);
    assert_eq!(run.code, Some(1), "{run}");
}

#[test]
fn a_scenario_that_passes_cannot_become_smaller() {
    let output = check(&[("sound.yaml", SOUND)], &["explore", "minimise", "sound.yaml"]);
    assert!(
        output.contains("exit 1") && output.contains("sound.yaml: the scenario does not fail"),
        "{output}"
    );
    let output = check(&[("s/sound.yaml", SOUND), ("s/two.yaml", SOUND)], &["explore", "minimise", "s"]);
    assert!(output.contains("exit 2") && output.contains("expected one scenario, not a folder"), "{output}");
}

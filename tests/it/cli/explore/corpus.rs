//! Explorations that are killed, interrupted and divided, and the files in which they keep what they know.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::super::environment::{TestEnvironment, pause};
use super::{BROKEN, SOUND};

fn state(environment: &TestEnvironment, file: &str) -> Option<Value> {
    let text = std::fs::read_to_string(environment.work().join(file)).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file} is torn: {error}")))
}

/// Starts an exploration, and waits until its corpus has runs.
fn started(environment: &TestEnvironment, arguments: &[&str]) -> Child {
    let mut command = environment.command(&[&["explore", "--corpus", "corpus"], arguments].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let has_runs = || {
        state(environment, "corpus/state.json")
            .is_some_and(|state| state["exploration"]["runs"].as_u64() > Some(0))
    };
    while !has_runs() {
        pause(20);
    }
    child
}

/// The findings and states of an exploration, without what depends on this machine.
fn known(environment: &TestEnvironment, folder: &str) -> Value {
    state(environment, &format!("{folder}/state.json")).unwrap()["exploration"].take()
}

#[test]
fn a_killed_exploration_continues_to_the_same_result() {
    let environment = TestEnvironment::with(&[("broken.yaml", BROKEN)]);
    let arguments = ["broken.yaml", "--seed", "3", "--runs", "40", "--jobs", "2"];
    let whole = environment.run(&[&["explore", "--corpus", "whole"], &arguments[..]].concat());
    assert_eq!(whole.code, Some(1), "{whole}");
    let mut child = started(&environment, &arguments);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = known(&environment, "corpus");
    assert_eq!(before["findings"].as_array().unwrap().len(), 1, "the finding of the first batch is kept");
    let again = environment.run(&[&["explore", "--corpus", "corpus"], &arguments[..]].concat());
    assert_eq!(again.code, Some(1), "{again}");
    assert_eq!(known(&environment, "corpus"), known(&environment, "whole"));
}

#[test]
fn ctrl_c_prints_the_summary_and_keeps_the_corpus() {
    let environment = TestEnvironment::with(&[("sound.yaml", SOUND)]);
    let arguments = ["sound.yaml", "--seed", "3", "--jobs", "2"];
    let mut child = started(&environment, &arguments);
    let interrupt =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let lines: Vec<String> =
        BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{lines:?}");
    let runs = known(&environment, "corpus")["runs"].as_u64().unwrap();
    assert!(lines.iter().any(|line| line.starts_with(&format!("{runs} runs, "))), "{runs}: {lines:?}");
    // The batch that was interrupted runs again: the result is that of one process.
    let total = (runs + 8).to_string();
    for folder in ["corpus", "whole"] {
        let rest = ["explore", "sound.yaml", "--seed", "3", "--runs", &total, "--corpus", folder];
        assert_eq!(environment.run(&rest).code, Some(0));
    }
    assert_eq!(known(&environment, "corpus"), known(&environment, "whole"));
}

#[test]
fn shards_share_a_corpus_and_know_each_others_findings() {
    let environment =
        TestEnvironment::with(&[("broken.yaml", BROKEN), ("corpus/state-3-of-3.json", "{\"for")]);
    let explore = |shard: &str| {
        let run = ["explore", "broken.yaml", "--runs", "8", "--corpus", "corpus", "--shard", shard];
        environment.run(&run)
    };
    let one = explore("1/3");
    let warning = "warning: skipped what another shard knows: corpus/state-3-of-3.json: this is no state";
    assert!(one.stderr.contains(warning), "{one}");
    let two = explore("1+1/3");
    assert!(two.stdout.contains("first in run 1 of shard 1/3"), "a known finding is no new one: {two}");
    let shard = |number: &str| state(&environment, &format!("corpus/state-{number}-of-3.json")).unwrap();
    let (one, two) = (shard("1"), shard("2"));
    assert_eq!((&one["shard"], &two["shard"]), (&"1/3".into(), &"2/3".into()));
    assert_eq!(one["exploration"]["runs"], two["exploration"]["runs"]);
    std::fs::remove_file(environment.work().join("corpus/state-3-of-3.json")).unwrap();
    let all = environment.run(&["explore", "report", "corpus"]);
    assert!(all.stdout.contains("\n16 runs, ") && all.stdout.contains(" 1 finding\n"), "{all}");
}

/// Its run takes hours on any machine.
const ENDLESS: &str = "name: twenty years
cluster: {version: 4.20.1, nodes: {control-plane: 3, workers: 3}}
timeline:
- advance: 3650d
- advance: 3650d
";

#[test]
fn a_run_without_an_end_does_not_hold_the_exit() {
    let environment = TestEnvironment::with(&[("endless.yaml", ENDLESS)]);
    let arguments = ["explore", "endless.yaml", "--jobs", "1", "--corpus", "corpus"];
    let mut command = environment.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while state(&environment, "corpus/state.json").is_none() {
        pause(20);
    }
    // The run begins meanwhile.
    pause(500);
    let terminate = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(terminate.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("0 runs, "), "{output:?}");
    assert_eq!(known(&environment, "corpus")["runs"], 0);
}

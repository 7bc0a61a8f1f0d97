//! Faults of programs of this machine, and the checks that try all of them.

use std::process::{Command, Stdio};

use super::environment::{Output, TestEnvironment};
use crate::skipped::skipped;

/// A controller with a mistake, with nothing but Python's own library.
const CARELESS: &str = include_str!("../../programs/careless.py");

/// A controller that copies each new ConfigMap.
const COPIER: &str = include_str!("../../programs/copier.py");

const HEAD: &str = "name: n\ncluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}\n";

const JOB: &str = "- apply: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: job-a}, \
                   data: {phase: run}}\n";

fn has_python() -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", ""]).stdout(Stdio::null()).stderr(Stdio::null());
    python.status().is_ok_and(|status| status.success())
}

fn copier(timeline: &str) -> Output {
    let scenario = format!(
        "{HEAD}programs:\n- {{name: copier, command: [python3, ./copier.py], as: system:admin}}\ntimeline:\n{timeline}"
    );
    TestEnvironment::with(&[("a.yaml", &scenario), ("copier.py", COPIER)]).run(&[
        "run",
        "a.yaml",
        "--allow-programs",
    ])
}

fn config_map(name: &str) -> String {
    format!("- apply: {{apiVersion: v1, kind: ConfigMap, metadata: {{namespace: default, name: {name}}}}}\n")
}

/// Runs a check of the controller with a mistake, and the same without it. Returns the first environment and output.
fn check(mistake: &str, steps: &str, flag: &str) -> (TestEnvironment, Output) {
    let environment = |correct: &str| {
        let scenario = format!(
            "{HEAD}programs:\n- name: careless\n  command: [python3, ./careless.py, {mistake}{correct}]\n  \
             as: system:admin\ntimeline:\n{JOB}{steps}"
        );
        TestEnvironment::with(&[("a.yaml", &scenario), ("careless.py", CARELESS)])
    };
    let correct = environment(", --correct").run(&["run", "a.yaml", "--allow-programs", "--quiet", flag]);
    assert_eq!(correct.code, Some(0), "{}{}", correct.stdout, correct.stderr);
    assert!(correct.stderr.contains("of programs, 0 with another end"), "{}", correct.stderr);
    assert!(!correct.stderr.contains(" 0 runs"), "{}", correct.stderr);
    let environment = environment("");
    let output = environment.run(&["run", "a.yaml", "--allow-programs", "--quiet", flag, "--emit", "found"]);
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    (environment, output)
}

#[test]
fn a_program_is_killed_before_or_after_a_write() {
    if !has_python() {
        return skipped("python3");
    }
    let timeline = |is: &str, absent: &str| {
        let write = "{verb: create, kind: ConfigMap, name: 'copy-of-*'}";
        let (one, two) = (config_map("one"), config_map("two"));
        format!(
            "- fault: {{process: copier, is: {is}, write: {write}, nth: 2}}\n{one}- advance: 10s\n{two}- advance: 10s\n\
             - expect: {{object: ConfigMap/default/copy-of-one}}\n\
             - expect: {{object: ConfigMap/default/copy-of-two{absent}}}\n"
        )
    };
    let output = copier(&timeline("crash-before-write", ", absent: true"));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    let crash = "copier crashes before create ConfigMap default/copy-of-two";
    assert!(output.stdout.contains(crash), "{}", output.stdout);
    assert!(output.stdout.contains("0:00:11  Program/copier"), "{}", output.stdout);
    let output = copier(&timeline("crash-after-write", ""));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

#[test]
fn a_paused_program_does_nothing_until_it_continues() {
    if !has_python() {
        return skipped("python3");
    }
    let output = copier(&format!(
        "- fault: {{process: copier, is: paused, for: 1m}}\n{}- advance: 59s\n\
         - expect: {{object: ConfigMap/default/copy-of-one, absent: true}}\n\
         - expect: {{object: ConfigMap/default/copy-of-one, within: 2s}}\n",
        config_map("one")
    ));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(!output.stdout.contains("the clock went on"), "{}", output.stdout);
}

#[test]
fn a_program_with_stale_watches_sees_nothing_until_they_recover() {
    if !has_python() {
        return skipped("python3");
    }
    let output = copier(&format!(
        "- fault: {{process: copier, is: watch-stale, for: 1m}}\n{}- advance: 59s\n\
         - expect: {{object: ConfigMap/default/copy-of-one, absent: true}}\n\
         - expect: {{object: ConfigMap/default/copy-of-one, within: 2s}}\n",
        config_map("one")
    ));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
}

#[test]
fn a_program_that_does_not_exist_is_an_error_with_the_nearest_name() {
    if !has_python() {
        return skipped("python3");
    }
    let output = copier("- fault: {process: copie, is: killed}\n");
    assert_eq!(output.code, Some(1), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("no process `copie`; did you mean `copier`?"), "{}", output.stdout);
}

#[test]
fn a_check_of_restarts_finds_two_writes_that_belong_together() {
    if !has_python() {
        return skipped("python3");
    }
    let (environment, output) = check("two-writes", "- advance: 1m\n", "--check-restarts");
    assert!(
        output.stderr.contains("4 runs with restarts of programs, 2 with another end"),
        "{}",
        output.stderr
    );
    assert!(output.stdout.contains("ConfigMap/default/second-a is missing"), "{}", output.stdout);
    let reproduced = environment.run(&["run", "found/a-restarts-1.yaml", "--allow-programs"]);
    assert_eq!(reproduced.code, Some(1), "{}{}", reproduced.stdout, reproduced.stderr);
    assert!(reproduced.stdout.contains("there is no ConfigMap/default/second-a"), "{}", reproduced.stdout);
}

#[test]
fn a_check_of_staleness_finds_decisions_from_a_cache_of_the_past() {
    if !has_python() {
        return skipped("python3");
    }
    let steps = "- expect: {object: Secret/default/data-a, within: 1m}\n\
                 - patch: {object: Secret/default/data-a, merge: {data: {precious: aGk=}}}\n- advance: 1m\n";
    let (environment, output) = check("stale", steps, "--check-staleness");
    assert!(output.stdout.contains("Secret/default/data-a: data is null"), "{}", output.stdout);
    let found = environment.read("found/a-stale-views-1.yaml");
    assert!(found.contains("at-event: {kind: ConfigMap, name: job-a, nth: 1}"), "{found}");
    assert!(!output.stdout.contains("aGk=") && !output.stderr.contains("aGk="), "{}", output.stdout);
    // The fault hits also if everything happens later.
    environment.write("found/later.yaml", found.replacen("- apply:", "- advance: 17m\n- apply:", 1));
    for file in ["found/a-stale-views-1.yaml", "found/later.yaml"] {
        let reproduced = environment.run(&["run", file, "--allow-programs"]);
        assert_eq!(reproduced.code, Some(1), "{}{}", reproduced.stdout, reproduced.stderr);
        assert!(reproduced.stdout.contains("expect Secret/default/data-a"), "{}", reproduced.stdout);
    }
}

#[test]
fn a_check_of_gaps_finds_a_state_that_must_not_be_missed() {
    if !has_python() {
        return skipped("python3");
    }
    let steps = "- advance: 2s\n- patch: {object: ConfigMap/default/job-a, merge: {data: {phase: cleanup}}}\n\
                 - advance: 2s\n- patch: {object: ConfigMap/default/job-a, merge: {data: {phase: done}}}\n\
                 - advance: 1m\n";
    let (environment, output) = check("intermediate", steps, "--check-gaps");
    assert!(output.stdout.contains("ConfigMap/default/cleaned-a is missing"), "{}", output.stdout);
    let found = environment.read("found/a-gaps-1.yaml");
    let fault = "is: watch-gap, at-event: {kind: ConfigMap, name: job-a, nth: ";
    assert!(found.contains(fault), "{found}");
    let reproduced = environment.run(&["run", "found/a-gaps-1.yaml", "--allow-programs"]);
    assert_eq!(reproduced.code, Some(1), "{}{}", reproduced.stdout, reproduced.stderr);
}

#[test]
fn checks_of_programs_need_programs() {
    let environment = TestEnvironment::with(&[("a.yaml", &format!("{HEAD}timeline:\n- advance: 1s\n"))]);
    let output = environment.run(&["run", "a.yaml", "--check-gaps"]);
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    assert!(output.stdout.contains("`--check-gaps` needs a scenario with `programs`"), "{}", output.stdout);
    let output = environment.run(&["run", "a.yaml", "--check-runs", "3"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
}

//! Tools for the authors of scenarios and features.

#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

use super::environment::{TestEnvironment, check};
use super::scenarios::{CALM, WRONG};

#[test]
fn every_template_passes_without_lint_findings() {
    let list = check(&[], &["new"]);
    let names: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 7, "{list}");
    let environment = TestEnvironment::new();
    for name in names {
        let file = if name == "feature" {
            "new/a-feature.feature".to_owned()
        } else {
            format!("new/the-{name}.yaml")
        };
        let written = environment.run(&["new", &file, "--from-template", name]);
        assert_eq!(written.code, Some(0), "{}", written.stderr);
    }
    let linted = environment.run(&["lint", "new"]);
    assert_eq!((linted.code, linted.stderr.as_str()), (Some(0), ""), "{}", linted.stdout);
    let run = environment.run(&["run", "new", "--quiet"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert!(run.stdout.contains("PASS  the operator  "), "{}", run.stdout);
    if cfg!(feature = "gherkin") {
        let test = environment.run(&["test", "new"]);
        assert_eq!(test.code, Some(0), "{}", test.stdout);
    }
}

#[test]
fn new_rejects_existing_files_and_wrong_extensions() {
    let environment = TestEnvironment::with(&[("a.yaml", "mine")]);
    insta::assert_snapshot!(environment.run(&["new", "a.yaml"]).stderr, @"error: a.yaml: the file already exists");
    assert_eq!(environment.read("a.yaml"), "mine");
    insta::assert_snapshot!(
        environment.run(&["new", "b.feature", "--from-template", "rollback"]).stderr,
        @"error: b.feature: template `rollback` is for files named *.yaml"
    );
    insta::assert_snapshot!(
        environment.run(&["new", "b.txt"]).stderr,
        @"error: b.txt: expected a file named *.yaml or *.feature"
    );
}

#[test]
fn lint_reports_the_findings_of_all_files() {
    let vacuous = "name: vacuous\ncluster: {version: 4.20.1}\ntimeline:\n- advance: 1h\n";
    let wrong = "name: wrong\ncluster: {version: 4.20.1}\ntimeline:\n- advanse: 1h\n";
    let files = [
        ("s/calm.yaml", CALM),
        ("s/vacuous.yaml", vacuous),
        ("s/also.yaml", vacuous),
        ("s/wrong.yaml", wrong),
    ];
    insta::assert_snapshot!(check(&files, &["lint", "s"]), @r"
    exit 2
    error: s/wrong.yaml:4:3: unknown step `advanse`; did you mean `advance`?
    warning: s/also.yaml:1:1: this scenario expects nothing, so it always passes
    warning: s/also.yaml:4:3: no step expects anything of the time that passes at the end
    warning: s/vacuous.yaml:1:1: this scenario expects nothing, so it always passes
    warning: s/vacuous.yaml:4:3: no step expects anything of the time that passes at the end
    warning: s/vacuous.yaml:1:1: s/also.yaml has the same scenario name `vacuous`
    4 files: 1 error, 5 warnings
    ");
    insta::assert_snapshot!(check(&files[..1], &["lint", "s"]), @r"
    exit 0
    1 file: 0 errors, 0 warnings
    ");
}

#[test]
fn lint_without_paths_checks_the_default_folders() {
    let environment = TestEnvironment::with(&[("scenarios/calm.yaml", CALM)]);
    insta::assert_snapshot!(environment.run(&["lint"]).stdout, @"1 file: 0 errors, 0 warnings");
    insta::assert_snapshot!(check(&[], &["lint", "none.yaml"]), @r"
    exit 2
    --- stderr
    error: none.yaml: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(check(&[("a/b.txt", "")], &["lint", "a", "a/b.txt"]), @r"
    exit 2
    --- stderr
    error: a: expected files named *.yaml or *.feature here, found none
    error: a/b.txt: expected files named *.yaml or *.feature here, found none
    ");
}

#[test]
fn shards_together_contain_every_scenario() {
    let named = |name: &str| CALM.replace("name: calm", &format!("name: {name}"));
    let texts = ["a", "b", "c"].map(|name| (format!("s/{name}.yaml"), named(name)));
    let environment = TestEnvironment::new();
    for (file, text) in &texts {
        environment.write(file, text);
    }
    let selected = |shard: &str| {
        let run = environment.run(&["run", "s", "--quiet", "--shard", shard]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let names = run.stdout.lines().filter_map(|line| line.strip_prefix("PASS  "));
        names.map(|line| line[..1].to_owned()).collect::<String>()
    };
    assert_eq!(["1/2", "2/2", "4/4"].map(selected), ["ac", "b", ""]);
    assert_eq!(["0+1/2", "1+1/2"].map(selected), ["ac", "b"]);
    let wrong = environment.run(&["run", "s", "--shard", "3/2"]);
    assert!(
        wrong.stderr.contains("expected one part of several, such as 2/3, or 0+1/3 for the first"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn fail_fast_skips_the_remaining_scenarios() {
    let environment = TestEnvironment::new();
    for number in 0..6 {
        environment.write(
            &format!("s/{number}.yaml"),
            WRONG.replace("a wrong expectation", &format!("expectation {number}")),
        );
    }
    let run = environment.run(&["run", "s", "--quiet", "--fail-fast", "--junit", "junit.xml"]);
    assert_eq!(run.code, Some(1));
    let skipped = run.stdout.lines().filter(|line| line.starts_with("SKIP")).count();
    assert!(skipped > 0, "{}", run.stdout);
    assert!(run.stdout.contains(&format!("{skipped} skipped;")), "{}", run.stdout);
    let xml = environment.read("junit.xml");
    assert!(xml.contains(&format!("skipped=\"{skipped}\"")), "{xml}");
}

/// The scenarios run long enough to be interrupted.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_writes_complete_reports() {
    for (command, ending, code) in [("run", "-INT", 130), ("run", "-TERM", 143), ("test", "-INT", 130)] {
        let environment = TestEnvironment::new();
        for number in 0..200 {
            environment.write(&format!("s/{number}.yaml"), SLOW);
            environment.write(&format!("s/{number}.feature"), SLOW_FEATURE);
        }
        interrupt(&environment, command, ending, code);
    }
}

/// A scenario of half a second, so that two hundred of them are still running when the signal comes.
#[cfg(target_os = "linux")]
const SLOW: &str = "name: s\ncluster: {version: 4.20.1}\ntimeline:\n- advance: 24h\n";
#[cfg(target_os = "linux")]
const SLOW_FEATURE: &str = "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster\n    When 24 hours pass\n";

#[cfg(target_os = "linux")]
fn interrupt(environment: &TestEnvironment, command: &str, ending: &str, code: i32) {
    let mut command = environment.command(&[command, "s", "--junit", "junit.xml"]);
    command.stdout(Stdio::null());
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap()
    };
    // The signal handlers are installed before the first run, when most scenarios are still to come.
    let wanted = if ending == "-INT" { 1 << 1 } else { 1 << 14 };
    for _ in 0..3000 {
        if caught() & wanted != 0 {
            break;
        }
        super::environment::pause(20);
    }
    super::environment::pause(300);
    assert!(Command::new("kill").args([ending, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.matches("interrupted: ").count(), 1, "{stderr}");
    let xml = environment.read("junit.xml");
    assert!(xml.contains("tests=\"400\"") && xml.trim_end().ends_with("</testsuites>"), "{xml}");
    assert!(xml.contains("message=\"the run was interrupted before this scenario\""), "{xml}");
}

#[cfg(feature = "gherkin")]
#[test]
fn fail_fast_skips_the_remaining_scenarios_of_features() {
    let scenario = |number: u32| {
        format!(
            "  Scenario: s{number}\n    Given a 4.20.1 cluster\n    Then ClusterVersion condition Progressing is True\n"
        )
    };
    let feature = format!("Feature: f\n{}", (0..12).map(scenario).collect::<String>());
    let environment = TestEnvironment::with(&[("f.feature", &feature)]);
    let run = environment.run(&["test", "f.feature", "--fail-fast"]);
    let count = |word: &str| run.stdout.lines().filter(|line| line.starts_with(word)).count();
    assert!(count("SKIP") > 0 && count("FAIL") > 0 && count("PASS") == 0, "{}", run.stdout);
}

#[test]
fn the_completion_script_contains_the_flags() {
    let script = check(&[], &["completions", "bash"]);
    assert!(script.contains("_windtunnel()") && script.contains("--check-determinism"), "{script}");
}

#[cfg(feature = "gherkin")]
mod steps {
    use super::check;

    #[test]
    fn match_explains_a_step_or_lists_the_nearest_ones() {
        insta::assert_snapshot!(check(&[], &["steps", "--match", "And I pause pool worker"]), @"
        exit 0
        When [at <time> ]I (pause|unpause) pool <name>

        Pauses or unpauses a MachineConfigPool.

          value 1: `pause`
          value 2: `worker`
          example: When I pause pool worker
        ");
        let nearest = check(&[], &["steps", "--match", "the pool worker is paused"]);
        let expected = "exit 1
No step matches. The nearest steps:
  When I pause pool worker
";
        assert!(nearest.starts_with(expected), "{nearest}");
        let list = check(&[], &["steps"]);
        assert!(list.contains("\n  When I clear the update request\n"), "{list}");
    }
}

#[test]
fn the_schema_accepts_every_shipped_scenario() {
    let schema = windtunnel::scenario::schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: serde_json::Value = serde_json::json!({ "name": "n", "cluster": { "version": "4.20.1" }, "timeline": [{ "advanse": "1h" }] });
    assert!(!validator.is_valid(&wrong));
    for (file, text) in crate::scenarios::shipped("scenarios", "yaml") {
        let (value, _) = windtunnel_core::yaml::parse_lenient(&text).unwrap();
        let problems: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(problems.is_empty(), "{file}: {}", problems.join("\n"));
    }
}

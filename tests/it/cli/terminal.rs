//! The output of `run` and `test` for people, and the selection of scenarios.

use serde_json::Value;

use super::environment::{TestEnvironment, check};
use super::scenarios::{CALM, WRONG};

const FEATURE: &str = "Feature: Two\n  @slow\n  Scenario: Calm\n    Given a 4.20.1 cluster\n    When 1 minute passes\n    \
                       Then ClusterVersion condition Progressing is False\n  Scenario: Idle\n    Given a 4.20.1 cluster\n    \
                       When 5 minutes pass\n    Then ClusterVersion condition Progressing is False\n";

#[test]
fn list_prints_the_selected_scenarios_and_runs_none() {
    let tagged = CALM.replace("name: calm", "name: calm\ntags: [slow]\nids: [OTA-1321]");
    let files = [("s/calm.yaml", &*tagged), ("s/wrong.yaml", WRONG)];
    insta::assert_snapshot!(check(&files, &["run", "--list", "s"]), @r"
    exit 0
    s/calm.yaml   calm                 @slow @OTA-1321
    s/wrong.yaml  a wrong expectation  @OTA-1269 @OCP-22641
    ");
    assert_eq!(
        check(&files, &["run", "--list", "--name", "^c", "s"]),
        "exit 0\ns/calm.yaml  calm  @slow @OTA-1321\n"
    );
}

#[test]
fn a_regular_expression_selects_names() {
    let files = [("s/calm.yaml", CALM), ("s/wrong.yaml", WRONG)];
    let found = check(&files, &["run", "--quiet", "--name", "ca.m", "--jobs", "1", "--keep-going", "s"]);
    assert!(found.contains("PASS  calm") && found.contains("1 scenario: 1 passed"), "{found}");
    assert_eq!(
        check(&files, &["run", "--name", "none", "s"]),
        "exit 2\n--- stderr\nerror: --name: no scenario matches `none`; `--list` prints all names\n"
    );
    let invalid = check(&files, &["run", "--name", "a(", "s"]);
    assert!(
        invalid.contains("expected a regular expression such as `rollback|etcd`: unclosed group"),
        "{invalid}"
    );
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let environment = TestEnvironment::with(&[("calm.yaml", CALM)]);
    let run = |variables: &[(&str, &str)]| {
        let mut command = environment.command(&["run", "calm.yaml"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!run(&[]).contains('\u{1b}'), "a pipe takes no colours");
    assert!(run(&[("CLICOLOR_FORCE", "1")]).contains("\u{1b}[32mPASS "));
    assert!(!run(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn warnings_are_printed_unless_the_run_is_quiet() {
    let vacuous = "name: vacuous\ncluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}\ntimeline: [advance: 1m]\n";
    let found = check(&[("v.yaml", vacuous)], &["run", "v.yaml"]);
    let warning = "warning: v.yaml:1:1: this scenario expects nothing, so it always passes\n";
    assert!(found.contains(warning), "{found}");
    let quiet = check(&[("v.yaml", vacuous)], &["run", "--quiet", "v.yaml"]);
    assert!(!quiet.contains("warning: "), "{quiet}");
    #[cfg(feature = "gherkin")]
    {
        let feature = "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster\n    When 1 minute passes\n";
        let found = check(&[("f.feature", feature)], &["test", "f.feature"]);
        assert!(found.contains("warning: f.feature:2:3: "), "{found}");
    }
}

#[test]
fn a_single_scenario_prints_the_insights_that_changed() {
    let update = "name: n\ncluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}, insights: true}\nreleases: {4.20.3: }\ntimeline:\n- update: {to: 4.20.3}\n\
                  - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"True\"}, within: 1h}\n- advance: 5m\n";
    let environment = TestEnvironment::with(&[("a.yaml", update)]);
    let changed = environment.run(&["run", "a.yaml"]).stdout;
    let (_, insights) = changed.split_once("insights that changed:\n").unwrap();
    let line = insights.lines().find(|line| line.starts_with("usc.cpi.cv-version: ")).unwrap();
    assert!(line.contains(" -> Updating=True"), "{insights}");
    let verbose = environment.run(&["run", "--verbose", "a.yaml"]).stdout;
    assert!(
        verbose.contains("insights at the end:\n") && verbose.contains("    uid: cv-version\n"),
        "{verbose}"
    );
}

#[test]
fn scenarios_have_cucumber_json_too() {
    let environment = TestEnvironment::with(&[("calm.yaml", CALM)]);
    environment.run(&["run", "--quiet", "--cucumber-json", "c.json", "calm.yaml"]);
    let found: Value = serde_json::from_str(&environment.read("c.json")).unwrap();
    assert_eq!((&found[0]["name"], &found[0]["elements"][0]["name"]), (&"calm.yaml".into(), &"calm".into()));
}

#[test]
fn a_summary_for_github_is_appended() {
    let environment = TestEnvironment::with(&[("s/calm.yaml", CALM), ("s/wrong.yaml", WRONG)]);
    environment.write("summary.md", "# before\n");
    environment.run(&["run", "--quiet", "--github-summary=summary.md", "s"]);
    let text = environment.read("summary.md");
    assert!(text.starts_with("# before\n### windtunnel run: 1 passed, 1 failed\n"), "{text}");
    assert!(
        text.contains(
            "| a wrong expectation | s/wrong.yaml:6 | product | 0:01:10 | expect ClusterVersion/version"
        ),
        "{text}"
    );
    assert!(text.contains("```sh\nwindtunnel run s/wrong.yaml --seed 1\n```"), "{text}");
    let unset = environment.run(&["run", "--quiet", "--github-summary", "s/calm.yaml"]);
    assert_eq!(unset.code, Some(2), "{unset}");
    assert!(unset.stderr.contains("GITHUB_STEP_SUMMARY is not set; name a file"), "{unset}");
    let mut command = environment.command(&["run", "--quiet", "--github-summary", "s/calm.yaml"]);
    assert!(command.env("GITHUB_STEP_SUMMARY", "own.md").output().unwrap().status.success());
    assert_eq!(environment.read("own.md"), "### windtunnel run: 1 passed, 0 failed\n\n");
}

#[test]
fn lint_reports_findings_as_sarif() {
    let files = [
        ("s/a b.yaml", "name: n\ncluster: {version: 4.20.1}\ntimeline: [advanse: 1m]\n"),
        ("s/v.yaml", CALM),
    ];
    let environment = TestEnvironment::with(&files);
    let output = environment.run(&["lint", "--format", "sarif", "s"]);
    assert_eq!(output.code, Some(2), "{output}");
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&found["version"], found["runs"].as_array().map(Vec::len)), (&"2.1.0".into(), Some(1)));
    let run = &found["runs"][0];
    let rules: Vec<&Value> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| &rule["id"]).collect();
    for result in run["results"].as_array().unwrap() {
        assert!(rules.contains(&&result["ruleId"]), "{result}");
        assert!(["error", "warning"].contains(&result["level"].as_str().unwrap()), "{result}");
        assert!(!result["message"]["text"].as_str().unwrap().is_empty(), "{result}");
        let location = &result["locations"][0]["physicalLocation"];
        assert!(location["region"]["startLine"].as_u64() >= Some(1), "{result}");
        assert!(location["region"]["startColumn"].as_u64() >= Some(1), "{result}");
    }
    let location = &run["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "s/a%20b.yaml");
    assert_eq!(
        (&location["region"]["startLine"], &location["region"]["startColumn"]),
        (&3.into(), &12.into())
    );
}

#[test]
fn errors_in_the_structure_say_what_to_do_and_hide_no_others() {
    let text = "name: n\ncluster:\n  version: 4.20.1\n   insights: true\ntimeline:\n- expect:\n    object: ClusterVersion/version\n    \
                condition: {type: Progressing, status: \"False\", message: Error: while it}\n- advanse: 1m\n";
    insta::assert_snapshot!(check(&[("s.yaml", text)], &["run", "s.yaml"]), @r#"
    exit 2
    --- stderr
    error: s.yaml:4:4: line 4 is indented more than its siblings: indent it by 2 spaces, like line 3
    error: s.yaml:8:62: `: ` within a text begins a new key; quote the text: `message: "Error: while it"`
    error: s.yaml:9:3: unknown step `advanse`; did you mean `advance`?
    "#);
}

#[cfg(feature = "gherkin")]
mod features {
    use super::*;

    #[test]
    fn features_take_the_flags_of_scenarios() {
        let environment = TestEnvironment::with(&[("f.feature", FEATURE)]);
        assert_eq!(
            environment.run(&["test", "--list", "f.feature"]).stdout,
            "f.feature:3  Calm  @slow\nf.feature:7  Idle\n"
        );
        let output = environment.run(&["test", "--name", "Idle", "--until", "2m", "f.feature"]).to_string();
        assert!(
            output.starts_with("exit 0") && output.contains("PASS  Idle  (0:02:00 of cluster time)"),
            "{output}"
        );
        assert!(output.contains("The cluster is not updating."), "{output}");
        let single = environment.run(&["test", "--name", "Calm", "f.feature"]).stdout;
        assert!(
            single.starts_with("f.feature: Calm\n\n") && single.contains("ok 1 minute passes"),
            "{single}"
        );
        let quiet = environment.run(&["test", "--quiet", "--jobs", "1", "f.feature"]).stdout;
        assert!(
            quiet.starts_with("PASS  Calm  f.feature:3  (0:01:00 of cluster time, $TIME)\nPASS  Idle"),
            "{quiet}"
        );
    }
}

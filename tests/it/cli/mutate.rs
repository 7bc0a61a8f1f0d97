//! `windtunnel mutate`: scenarios with deliberately broken components.

use super::environment::{TestEnvironment, check};

/// The first expectation holds whatever the components do. The second one waits for the update.
const UPDATE: &str = r#"name: an update
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
releases: {4.20.5: }
timeline:
- update: {to: 4.20.5}
- expect: {object: ClusterVersion/version, fields: {"spec.channel": stable-4.20}}
- expect: {update: complete, within: 3h}
"#;

/// The same with insights.
const INSIGHTS: &str = r"name: an insight
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}, insights: true}
releases: {4.20.5: }
timeline:
- update: {to: 4.20.5}
- expect: {insight: ClusterVersion, fields: {assessment: Progressing}, within: 10m}
- expect: {insight: ClusterVersion, fields: {assessment: Completed}, within: 3h}
";

const FEATURE: &str = "Feature: f
  Scenario: an update
    Given a 4.20.1 cluster with 1 control-plane node and 0 workers
    And release 4.20.5 exists
    When I update to 4.20.5
    Then within 5 minutes ClusterVersion condition Progressing is True
    And within 3 hours ClusterVersion condition Progressing is False
    And ClusterVersion field \"spec.channel\" is \"stable-4.20\"
";

fn mutate(name: &str, text: &str, more: &[&str]) -> String {
    check(&[(name, text)], &[&["mutate", name], more].concat())
}

#[test]
fn an_expectation_that_cannot_fail_is_reported_and_a_real_one_kills() {
    let only = ["--component", "cluster-version-operator", "--mutants", "6"];
    let report = mutate("a.yaml", UPDATE, &only);
    assert!(report.contains("exit 0"), "{report}");
    assert!(report.contains("\n  killed "), "{report}");
    assert!(!report.contains("  killed 0 of"), "{report}");
    assert!(
        report.contains("no mutant breaks a.yaml:6: expect ClusterVersion/version spec.channel"),
        "{report}"
    );
    assert!(!report.contains("no mutant breaks a.yaml:7"), "{report}");
    assert_eq!(mutate("a.yaml", UPDATE, &only), report, "the same seed gives the same report");
    let strict = mutate("a.yaml", UPDATE, &[&only[..], &["--strict"]].concat());
    assert!(strict.contains("exit 1") && strict.contains("a.yaml:6"), "{strict}");
}

#[test]
fn insights_are_not_published_or_published_wrong() {
    let only = ["--component", "update-status-controller", "--list"];
    let list = mutate("a.yaml", INSIGHTS, &only);
    for mutant in ["ClusterVersion: not published", "ClusterVersion assessment: altered"] {
        assert!(list.contains(&format!("  update-status-controller: insight {mutant}\n")), "{list}");
    }
    let only = ["--component", "update-status-controller", "--mutants", "3", "--json"];
    let report = mutate("a.yaml", INSIGHTS, &only);
    assert!(report.contains("\"verdict\": \"killed\""), "{report}");
    assert!(report.contains("\"breaksLines\": [\n            6\n          ]"), "{report}");
}

#[test]
fn writes_are_repeated() {
    let list = mutate("a.yaml", UPDATE, &["--list", "--component", "operator"]);
    for value in ["condition Progressing", "version operator"] {
        let mutant = format!("  operator: ClusterOperator {value}: old value again after 10 minutes\n");
        assert!(list.contains(&mutant), "{list}");
    }
    let pods = mutate("a.yaml", UPDATE, &["--list", "--component", "replicaset-controller"]);
    assert!(pods.contains("  replicaset-controller: Pod: created twice\n"), "{pods}");
}

#[test]
fn answers_are_false() {
    let name = |defect: &str| format!("cluster-version-operator: writes of ClusterVersion: {defect}");
    let list = mutate("a.yaml", UPDATE, &["--list", "--component", "cluster-version-operator"]);
    for defect in ["fail with 500", "the first fails with 409", "the answer to the first is lost"] {
        assert!(list.contains(&format!("  {}\n", name(defect))), "{list}");
    }
    assert!(list.contains("  cluster-version-operator: changes of ClusterVersion: seen 10 minutes late\n"));
}

#[test]
fn the_names_of_mutants_do_not_depend_on_the_seed() {
    let list = |seed: &str| mutate("a.yaml", UPDATE, &["--list", "--component", "operator", "--seed", seed]);
    assert_eq!(list("1"), list("2"));
}

#[test]
fn a_scenario_that_checks_nothing_fails() {
    let idle = UPDATE.replace("- expect: {update: complete, within: 3h}", "- advance: 1h");
    let report = mutate("a.yaml", &idle, &["--mutants", "2"]);
    assert!(report.contains("exit 1") && report.contains("  killed 0 of 2, "), "{report}");
    let failing = UPDATE.replace("stable-4.20", "fast-4.20");
    let report = mutate("a.yaml", &failing, &["--mutants", "2"]);
    assert!(report.contains("exit 1") && report.contains("FAILED without mutants at line 6: "), "{report}");
    let report = mutate("a.yaml", &failing, &["--component", "operator", "--json"]);
    assert!(report.contains("exit 1") && report.contains("spec.channel"), "{report}");
}

#[test]
fn an_unknown_component_is_an_error_with_the_nearest_name() {
    let report = mutate("a.yaml", UPDATE, &["--list", "--component", "cluster-version"]);
    assert!(report.contains("exit 2"), "{report}");
    assert!(report.contains("did you mean `cluster-version-operator`?"), "{report}");
}

#[test]
#[cfg(feature = "gherkin")]
fn a_feature_names_the_lines_of_its_steps() {
    let report = mutate("a.feature", FEATURE, &["--component", "cluster-version-operator", "--mutants", "4"]);
    assert!(report.contains("exit 0") && report.contains("a.feature: an update\n"), "{report}");
    assert!(report.contains("no mutant breaks a.feature:8: "), "{report}");
}

#[test]
fn several_scenarios_end_with_a_total() {
    let environment =
        TestEnvironment::with(&[("a.yaml", UPDATE), ("b.yaml", &UPDATE.replace("an update", "b"))]);
    let output =
        environment.run(&["mutate", ".", "--mutants", "1", "--component", "cluster-version-operator"]);
    assert!(output.stdout.contains("\n2 scenarios: killed "), "{}", output.stdout);
    let one = environment.run(&["mutate", ".", "--list", "--name", "^b$"]);
    assert!(one.stdout.starts_with("./b.yaml: b\n") && !one.stdout.contains("a.yaml"), "{}", one.stdout);
}

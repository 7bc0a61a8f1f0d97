//! YAML scenarios and features in one run.

use super::environment::TestEnvironment;
use super::scenarios::{CALM, WRONG};

const FEATURE: &str = "Feature: f\n\n  Scenario: a feature passes\n    \
                       Given a 4.20.1 cluster with 3 control-plane nodes and 1 worker\n    When 5 minutes pass\n";

fn environment() -> TestEnvironment {
    TestEnvironment::with(&[("s/calm.yaml", CALM), ("s/wrong.yaml", WRONG), ("s/f.feature", FEATURE)])
}

#[test]
fn a_folder_is_searched_for_both() {
    for command in ["run", "test"] {
        let environment = environment();
        let output = environment.run(&[command, "s", "--quiet", "--junit", "j.xml", "--record", "out/"]);
        assert_eq!(output.code, Some(1), "{output}");
        for expected in ["PASS  calm  ", "FAIL  a wrong expectation (product)  ", "PASS  a feature passes  "]
        {
            assert!(output.stdout.contains(expected), "{expected}: {output}");
        }
        assert!(output.stdout.contains("3 scenarios: 2 passed, 1 failed; "), "{output}");
        assert_eq!(environment.read("j.xml").matches("<testcase ").count(), 3, "{output}");
        assert!(environment.read("out/f.jsonl").starts_with("{\"windtunnel\":"));
    }
}

#[test]
fn names_shards_and_lists_are_of_both() {
    let environment = environment();
    let one = environment.run(&["run", "s", "--name", "feature", "--quiet"]);
    assert!(one.stdout.contains("1 scenario: 1 passed, 0 failed; "), "{one}");
    let listed = environment.run(&["run", "s", "--list"]).stdout;
    assert_eq!(listed.lines().count(), 3, "{listed}");
    let shards = (1..=3)
        .map(|shard| environment.run(&["run", "s", "--list", "--shard", &format!("{shard}/3")]).stdout);
    let mut parts: Vec<String> =
        shards.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    parts.sort();
    assert_eq!(parts.len(), 3, "{parts:?}");
}

#[test]
fn a_failure_ends_the_features_as_well_with_fail_fast() {
    let output = environment().run(&["run", "s", "--fail-fast", "--quiet", "--jobs", "1"]);
    assert!(output.stdout.contains("SKIP  a feature passes"), "{output}");
}

#[test]
fn flags_for_yaml_leave_features_of_folders_out_and_reject_named_ones() {
    let environment = environment();
    let folder = environment.run(&["run", "s", "--check-determinism", "--quiet"]);
    assert!(folder.stdout.contains("2 scenarios: "), "{folder}");
    let named = environment.run(&["run", "s/f.feature", "--check-determinism"]);
    let expected =
        "error: --check-determinism: expected YAML scenarios only, found the feature s/f.feature\n";
    assert_eq!((named.code, named.stderr.as_str()), (Some(2), expected));
}

#[test]
fn yaml_data_beside_features_is_no_scenario() {
    let environment =
        TestEnvironment::with(&[("f/a.feature", FEATURE), ("f/object.yaml", "kind: ConfigMap\n")]);
    let output = environment.run(&["test", "f", "--quiet"]);
    assert!(output.code == Some(0) && output.stdout.contains("1 scenario: 1 passed"), "{output}");
}

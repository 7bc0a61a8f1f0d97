//! `--update`: expected texts that differ are replaced in their files.

use super::environment::{Output, TestEnvironment};

const HEAD: &str =
    "name: n\ncluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 1}}\nreleases: {4.18.5: {}}\n";

/// Steps with old texts in several styles. All other expectations hold.
const OLD: &str = "timeline:
# Nothing was requested.
- run:
    command: oc adm upgrade --to 4.18.9   # no such target
    refused: 'old'
- try: {patch: {object: MachineConfigPool/worker, merge: {spec: {paused: 3}}}, refused: old}
- run:
    command: oc adm upgrade --to 4.18.5
    prints: |
      old
      text

- expect:
    object: ClusterVersion/version
    conditions:
    - {type: Progressing, status: \"True\"}
    within: 5m
";

fn with(steps: &str) -> TestEnvironment {
    TestEnvironment::with(&[("a.yaml", &format!("{HEAD}{steps}"))])
}

fn update(environment: &TestEnvironment, file: &str, more: &[&str]) -> Output {
    environment.run(&[&["run", file, "--update", "--lenient"], more].concat())
}

#[test]
fn texts_are_replaced_in_place_and_the_scenario_passes() {
    let environment = with(OLD);
    let before = environment.read("a.yaml");
    let dry = update(&environment, "a.yaml", &["--dry-run"]);
    assert!(dry.code == Some(1) && dry.stderr.contains("a.yaml:8: would update `refused`"), "{dry}");
    assert_eq!((environment.read("a.yaml"), dry.stdout.as_str()), (before, ""));
    let updated = update(&environment, "a.yaml", &[]);
    assert_eq!(updated.code, Some(0), "{updated}");
    for line in ["a.yaml:8: updated `refused`", "a.yaml:9: updated `refused`", "a.yaml:13: updated `prints`"]
    {
        assert!(updated.stderr.contains(line), "{updated}");
    }
    let text = environment.read("a.yaml");
    let kept = [
        "# Nothing was requested.",
        "--to 4.18.9   # no such target",
        "    prints: |\n      Requested update to 4.18.5\n\n- expect",
    ];
    assert!(kept.iter().all(|kept| text.contains(kept)) && !text.contains("old"), "{text}");
    let again = update(&environment, "a.yaml", &["--dry-run"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    assert_eq!(environment.run(&["run", "a.yaml", "--lenient"]).code, Some(0));
}

#[test]
fn a_step_that_fails_for_another_reason_keeps_the_file() {
    let cases = [
        (
            "- run: {command: oc adm upgrade, prints: {contains: nowhere}}\n",
            "a.yaml:8: not updated: `prints`: `contains` is not replaced",
        ),
        (
            "- expect: {object: ClusterVersion/version, condition: {type: Available, status: \"False\", message: x}}\n",
            "condition Available has the status True",
        ),
        (
            "- expect: {object: ClusterVersion/version, fields: {spec.channel: x}, within: 1m}\n",
            "what `within` waits for",
        ),
        (
            "- keep: {as: k, object: ClusterVersion/version, field: spec.channel}\n- run: {command: oc adm upgrade, prints: $(kept k)}\n",
            "placeholder",
        ),
        ("- run: oc adm upgrade --to 4.18.99\n", "not updated: the command ended with code 1"),
    ];
    for (step, why) in cases {
        let first = "timeline:\n- run:\n    command: oc adm upgrade --to 4.18.9\n    refused: old\n";
        let environment = with(&format!("{first}{step}"));
        let before = environment.read("a.yaml");
        let output = update(&environment, "a.yaml", &[]);
        assert!(output.code != Some(0) && output.stderr.contains(why), "{step}{output}");
        assert_eq!(environment.read("a.yaml"), before, "{step}");
    }
}

#[test]
fn rows_that_share_a_text_must_agree() {
    let steps = "parameters: [{node: master-0}, {node: worker-0}]\ntimeline:\n- run: {command: oc get node <node> -o name, prints: old}\n";
    let environment = with(steps);
    let output = update(&environment, "a.yaml", &[]);
    assert!(output.stderr.contains("share this text and need different ones"), "{output}");
    assert!(environment.read("a.yaml").ends_with(steps));
}

#[test]
fn included_and_aliased_texts_are_refused() {
    let included = "- run: {command: oc adm upgrade --to 4.18.9, refused: old}\n";
    let environment = with("timeline:\n- include: steps.yaml\n");
    environment.write("steps.yaml", included);
    let output = update(&environment, "a.yaml", &[]);
    assert!(output.stderr.contains("included file steps.yaml"), "{output}");
    assert_eq!(environment.read("steps.yaml"), included);
    let environment =
        with("description: &d old\ntimeline:\n- run: {command: oc adm upgrade --to 4.18.9, refused: *d}\n");
    let output = update(&environment, "a.yaml", &[]);
    assert!(output.stderr.contains("alias"), "{output}");
}

#[test]
#[cfg(feature = "gherkin")]
fn doc_strings_and_quoted_texts_of_features_are_replaced() {
    let feature = "Feature: f\n  # c\n  Scenario: s\n    Given a 4.18.3 cluster with 1 control-plane node and 1 worker\n    And release 4.18.5 exists\n    \
                   When I run \"oc adm upgrade --to 4.18.5\"\n    Then it prints:\n      \"\"\"\n      old\n        text\n      \"\"\"\n    And it prints \"old\"\n";
    let environment = TestEnvironment::with(&[("a.feature", feature)]);
    let output = environment.run(&["test", "a.feature", "--update"]);
    assert_eq!(output.code, Some(0), "{output}");
    let expected = feature
        .replace("      old\n        text\n", "      Requested update to 4.18.5\n")
        .replace("\"old\"", "\"Requested update to 4.18.5\"");
    assert_eq!(environment.read("a.feature"), expected);
    let outline = "Feature: f\n  Scenario Outline: s\n    Given a 4.18.3 cluster\n    When I run \"oc adm upgrade --to <to>\"\n    \
                   Then it is refused with \"no <to>\"\n    Examples:\n      | to |\n      | 4.18.9 |\n";
    let environment = TestEnvironment::with(&[("a.feature", outline)]);
    let output = environment.run(&["test", "a.feature", "--update"]);
    assert!(output.stderr.contains("placeholder of the Scenario Outline"), "{output}");
    assert_eq!(environment.read("a.feature"), outline);
}

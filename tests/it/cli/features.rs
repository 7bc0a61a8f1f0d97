//! `windtunnel test`.

use super::environment::{TestEnvironment, check};

/// Two scenarios; the second one expects the wrong thing.
const EXPECTATIONS: &str = r"Feature: Expectations

  Background:
    Given a 4.20.1 cluster with 1 control-plane node and 0 workers

  @right
  Scenario: A right expectation
    When 1 minute passes
    Then ClusterVersion condition Progressing is False

  @wrong
  Scenario: A wrong expectation
    When 1 minute passes
    Then within 10 seconds ClusterVersion condition Progressing is True
    And 5 hours pass
";

#[test]
fn records_of_scenarios_have_their_ids() {
    let text = EXPECTATIONS.replace("  @right\n", "  @OCP-5 @right\n").replace("    And 5 hours pass\n", "");
    let environment = TestEnvironment::with(&[("f.feature", &text)]);
    let output =
        environment.run(&["test", "--quiet", "f.feature", "--name", "^A right", "--record", "r.jsonl"]);
    assert_eq!(output.code, Some(0), "{output}");
    let record = environment.read("r.jsonl");
    assert!(record.lines().next().unwrap().contains(r#""ids":["OCP-5"]"#), "{record}");
}

#[test]
fn a_path_with_a_line_is_rejected_with_the_flag_to_use() {
    let environment = TestEnvironment::with(&[("f.feature", EXPECTATIONS)]);
    let output = environment.run(&["test", "f.feature:8"]);
    let expected = "write `f.feature --name NAME`; `windtunnel run f.feature --list` prints the names\n";
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.ends_with(expected), "{output}");
}

/// Runs a feature whose scenario has these steps.
fn steps(text: &str) -> String {
    feature(&format!("Feature: f\n  Scenario: s\n{text}"))
}

fn feature(text: &str) -> String {
    check(&[("f.feature", text)], &["test", "--quiet", "f.feature"])
}

#[test]
fn a_command_must_succeed_unless_later_steps_expect_its_rejection() {
    let check = |steps: &str, expected: &str| {
        let cluster = "Given a 4.20.1 cluster with 1 control-plane node and 0 workers\n";
        let found = self::steps(&format!("{cluster}{steps}"));
        assert!(found.contains(expected), "{steps}{found}");
    };
    check(
        "When I run \"oc adm upgrade --to 4.20.9\"\nThen it is refused with /no recommended updates/\n",
        "exit 0",
    );
    check("When I run \"oc adm upgrade --to 4.20.9\"\nThen it exits with code 1\n", "exit 0");
    check(
        "When I run \"oc adm upgrade --to 4.20.9\"\nAnd 1 minute passes\nThen it is refused with /no/\n",
        "f.feature:4:1 with seed 1\n      I run \"oc adm upgrade --to 4.20.9\": expected that the command exits with code 0; it exited with code 1 and printed:",
    );
    check(
        "When I run \"oc adm upgrade\"\nThen it is refused with \"no\"\n",
        "expected that the command is refused with `no`; it exited with code 0 and printed:",
    );
    check("Then it prints \"x\"\n", "no command has run yet");
    check(
        "When I run \"oc adm top\"\n",
        "f.feature:4:1: expected `oc adm upgrade ...` (also its `status`) or `oc get ...`, found `oc adm top`",
    );
    check(
        "When I run \"oc adm upgrade --to-image $(image 4.20.3)\"\n",
        "f.feature:4:1: no release 4.20.3 exists in this scenario: add `Given release 4.20.3 exists`",
    );
}

#[test]
fn update_service_steps_require_existing_releases() {
    let found = steps(
        "Given a 4.20.1 cluster\nAnd the update channel \"a\" lists 4.20.1, 4.20.3\nAnd updates lead from 4.20.1 to 4.20.4\n\
         And updates from 4.20.1 to 4.20.1 have the risk \"R\" on clusters where:\n\"\"\"\ngrup(x)\n\"\"\"\n",
    );
    assert_eq!(
        found,
        "exit 2\n--- stderr\n\
         error: f.feature:4:1: no release 4.20.3 exists in this scenario: add `Given release 4.20.3 exists`\n\
         error: f.feature:5:1: no release 4.20.4 exists in this scenario: add `Given release 4.20.4 exists`\n\
         error: f.feature:6:1: this PromQL cannot be evaluated: unknown function with name \"grup\"\n"
    );
}

#[test]
fn a_failure_names_the_place_the_reason_and_the_expectation() {
    let environment = TestEnvironment::with(&[(
        "f/expectations.feature",
        &EXPECTATIONS.replace("    And 5 hours pass\n", ""),
    )]);
    insta::assert_snapshot!(environment.run(&["test", "--quiet", "--junit", "j.xml", "f"]), @r#"
        exit 1
        PASS  A right expectation  f/expectations.feature:7  (0:01:00 of cluster time, $TIME)
        FAIL  A wrong expectation (product)  f/expectations.feature:14  (0:01:10 of cluster time, $TIME)

        Failures:

        FAIL  A wrong expectation (product)  (0:01:10 of cluster time)
              f/expectations.feature:14:5 with seed 1
              within 10 seconds ClusterVersion condition Progressing is True: seen: Progressing=False "Cluster version is 4.20.1"

        FAIL f/expectations.feature:14 A wrong expectation (product): within 10 seconds ClusterVersion condition Progressing is True: seen: Progressing=False "Cluster version is 4.20.1"

        Run the failures again:
          windtunnel test f/expectations.feature --seed 1 --name '^(A wrong expectation)$'

        2 scenarios: 1 passed, 1 failed; 0:02:10 of cluster time in $TIME ($N times as fast)
        "#);
    let xml = environment.read("j.xml");
    let changing = regex::Regex::new(r#" (time|timestamp)="[^"]*""#).unwrap().replace_all(&xml, " $1");
    let (stable, output) = changing.split_once("the end of the timeline:").unwrap();
    for expected in ["FAILED within 10 seconds", "oc adm upgrade status:", "The cluster is not updating."] {
        assert!(output.contains(expected), "{expected}: {output}");
    }
    insta::assert_snapshot!(stable, @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="windtunnel" tests="2" skipped="0" failures="1" errors="0">
            <testsuite name="windtunnel test" tests="2" skipped="0" errors="0" failures="1" time timestamp>
                <testcase name="A right expectation" classname="f/expectations.feature" time>
                    <properties>
                        <property name="seed" value="1"/>
                        <property name="cluster-seconds" value="60.000"/>
                    </properties>
                    <system-out>run it again: windtunnel test f/expectations.feature --seed 1 --name &apos;^A right expectation$&apos;
        </system-out>
                </testcase>
                <testcase name="A wrong expectation" classname="f/expectations.feature" time>
                    <properties>
                        <property name="seed" value="1"/>
                        <property name="cluster-seconds" value="70.000"/>
                    </properties>
                    <failure message="within 10 seconds ClusterVersion condition Progressing is True: seen: Progressing=False &quot;Cluster version is 4.20.1&quot;" type="product">f/expectations.feature:14:5
        within 10 seconds ClusterVersion condition Progressing is True: seen: Progressing=False &quot;Cluster version is 4.20.1&quot;</failure>
                    <system-out>run it again: windtunnel test f/expectations.feature --seed 1 --name &apos;^A wrong expectation$&apos;
        "#);
}

#[test]
fn tags_select_scenarios_or_fail_without_a_match() {
    let text = EXPECTATIONS.replace("    And 5 hours pass\n", "");
    let test = |tags: &str| check(&[("f.feature", &text)], &["test", "--quiet", "--tags", tags, "f.feature"]);
    insta::assert_snapshot!(test("@right or (@wrong and not @wrong)"), @"
        exit 0
        PASS  A right expectation  (0:01:00 of cluster time)
              seed 1, record $HASH, $TIME

        1 scenario: 1 passed, 0 failed; 0:01:00 of cluster time in $TIME ($N times as fast)
        ");
    insta::assert_snapshot!(test("@slow"), @"
        exit 2
        --- stderr
        error: --tags: no scenario matches `@slow`
        ");
    insta::assert_snapshot!(test("@right and"), @r#"
        exit 2
        --- stderr
        error: invalid value '@right and' for '--tags <EXPRESSION>': expected an expression such as `@rollback and not @slow`: error at 1:11: expected one of "(", "@", "not"

        For more information, try '--help'.
        "#);
    insta::assert_snapshot!(test("right"), @r#"
        exit 2
        --- stderr
        error: invalid value 'right' for '--tags <EXPRESSION>': expected an expression such as `@rollback and not @slow`: error at 1:1: expected one of "(", "@", "not"

        For more information, try '--help'.
        "#);
}

#[test]
fn missing_paths_are_reported() {
    insta::assert_snapshot!(check(&[("a/b.yaml", "")], &["test", "none.feature", "a"]), @"
    exit 2
    --- stderr
    error: none.feature: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(check(&[], &["test"]), @"
        exit 2
        --- stderr
        error: features: No such file or directory (os error 2)
        ");
    insta::assert_snapshot!(check(&[], &["test", "--seed", "-1"]), @"
        exit 2
        --- stderr
        error: unexpected argument '-1' found

          tip: to pass '-1' as a value, use '-- -1'

        Usage: windtunnel test [OPTIONS] [PATHS]...

        For more information, try '--help'.
        ");
}

#[test]
fn unknown_steps_are_reported_with_the_nearest_ones() {
    insta::assert_snapshot!(steps("    Given a 4.20.1 cluster\n    When I updat to 4.20.3\n"), @"
        exit 2
        --- stderr
        error: f.feature:4:5: unknown step `When I updat to 4.20.3`; the nearest is `I update to 4.14.8`
        ");
    insta::assert_snapshot!(feature(EXPECTATIONS), @"
        exit 2
        --- stderr
        error: f.feature:15:5: `5 hours pass` needs the keyword `When`, found `Then`
        ");
}

#[test]
fn invalid_steps_are_reported_before_the_run() {
    let text =
        "    Given a 4.99.3 cluster\n    When I delete Gadgets/a\n    Then within 5 apples Pod/a/b exists\n";
    insta::assert_snapshot!(steps(text), @"
    exit 2
    --- stderr
    error: f.feature:3:5: unknown release 4.99.3: known minors are 4.10, 4.11, 4.12, 4.13, 4.14, 4.15, 4.16, 4.17, 4.18, 4.19, 4.20, 4.21, 4.22, 5.0; did you mean `4.19.3`?
    error: f.feature:4:5: unknown kind `Gadgets`; the nearest are `Image`, `IPAddress`, `StorageClass`. The kind of a CustomResourceDefinition is known after the object or the step that brings it
    error: f.feature:5:5: expected a duration such as `40 minutes`, found `5 apples`
    ");
}

#[test]
fn invalid_gherkin_is_reported_with_its_place() {
    insta::assert_snapshot!(feature(""), @"
        exit 2
        --- stderr
        error: f.feature:1:1: expected `Feature:` and its name, found nothing
        ");
    insta::assert_snapshot!(feature("Scenario: s\n"), @"
        exit 2
        --- stderr
        error: f.feature:1:1: expected `Feature:` and its name first, found `Scenario: s`
        ");
    insta::assert_snapshot!(feature("Feature: f\n"), @"
        exit 2
        --- stderr
        error: f.feature:1:1: the feature has no scenario
        ");
    insta::assert_snapshot!(steps(""), @"
        exit 2
        --- stderr
        error: f.feature:2:3: scenario `s` has no steps
        ");
    insta::assert_snapshot!(steps("    Given a 4.20.1 cluster\n    Whenever it rains\n    Then it pours\n"), @"
        exit 2
        --- stderr
        error: f.feature:4:5: expected a step (`Given`, `When`, `Then`, `And`, `But`) or `Scenario:`, found `Whenever it rains`
        ");
    insta::assert_snapshot!(steps("    Given this object:\n      \"\"\"\n      kind: Pod\n"), @r#"
        exit 2
        --- stderr
        error: f.feature:4:7: the doc string is not closed: expected `"""` below
        "#);
}

#[test]
fn problems_of_all_features_are_reported_together() {
    let files = [("f/a.feature", "Feature: a\n"), ("f/b.feature", "What?\n"), ("f/c.feature", EXPECTATIONS)];
    insta::assert_snapshot!(check(&files, &["test", "f"]), @"
        exit 2
        --- stderr
        error: f/a.feature:1:1: the feature has no scenario
        error: f/b.feature:1:1: expected `Feature:` and its name first, found `What?`
        error: f/c.feature:15:5: `5 hours pass` needs the keyword `When`, found `Then`
        ");
}

#[test]
fn features_may_have_a_byte_order_mark_and_windows_line_ends() {
    let text =
        format!("\u{feff}{}", EXPECTATIONS.replace("    And 5 hours pass\n", "").replace('\n', "\r\n"));
    let output =
        TestEnvironment::with(&[("f.feature", &text)]).run(&["test", "--tags", "@right", "f.feature"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{output}");
}

#[test]
fn retried_steps_take_cluster_time_and_report_only_the_last_attempt() {
    let retried = |step: &str| {
        steps(&format!(
            "Given a 4.20.1 cluster with 1 control-plane node and 0 workers\n\
             When I wait up to 300 seconds for the steps to pass:\n\"\"\"\n{step}\n\"\"\"\n"
        ))
    };
    let get = "When I run the :get admin command with:\n| resource | nodes |\nThen the output should";
    let found = retried(&format!("{get} match \"master-0 .* 5m\""));
    assert!(found.contains("exit 0") && found.contains("(0:03:"), "{found}");
    let found = retried(&format!("{get} contain \"worker-0\""));
    assert!(
        found.contains("f.feature:4:1 with seed 1") && found.contains("(0:05:00 of cluster time)"),
        "{found}"
    );
    assert_eq!(found.matches("master-0").count(), 1, "{found}");
}

#[test]
fn problems_in_retried_steps_are_reported_before_the_run() {
    let check = |step: &str, expected: &str| {
        let found = steps(&format!(
            "Given a 4.20.1 cluster\nWhen I wait up to 60 seconds for the steps to pass:\n\"\"\"\n{step}\n\"\"\"\n"
        ));
        assert!(found.starts_with("exit 2") && found.contains(expected), "{found}");
    };
    check("the output should contain", "f.feature:4:1: line 1 of the doc string: ");
    check(
        "Then the output should contains \"a\"",
        "f.feature:4:1: step 1 of the doc string: unknown step `Then the output should contains \"a\"`; the nearest is \
         `the output should contain:`",
    );
    check("Then ClusterVersion field \"a\" is /(/", "`/(/` is not a valid regular expression");
    check("", "expected steps in the doc string");
}

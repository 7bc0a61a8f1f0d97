//! Expectations that have held since before the last action.

use super::environment::{TestEnvironment, check};

/// The update has not begun when the first expectation is checked, and nothing touches the pools of a cluster
/// without workers.
const AT_ONCE: &str = r#"name: at once
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}
releases: {4.20.5: }
timeline:
- update: {to: 4.20.5}
- expect: {object: ClusterVersion/version, fields: {"status.history[0].state": Completed}, within: 3h}
- expect: {object: MachineConfigPool/worker, condition: {type: Updated, status: "True"}, within: 3h}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: "True"}, within: 3h}
- expect: {update: complete, within: 3h}
- expect: {object: ClusterVersion/version, condition: {type: Progressing, status: "False"}, within: 1m}
- expect: {object: ClusterVersion/version, condition: {type: Upgradeable, status: "True"}}
"#;

fn run(text: &str, more: &[&str]) -> String {
    let arguments = [&["run", "a.yaml", "--width", "150"], more].concat();
    check(&[("a.yaml", text)], &arguments)
}

/// Returns the lines about the ends of steps, without their times.
fn ends(output: &str) -> Vec<&str> {
    let lines = output.lines().filter_map(|line| line.trim_start().split_once("  "));
    let texts = lines.map(|(_, text)| text.trim());
    texts.filter(|text| text.starts_with("ok expect") || text.starts_with("FAILED")).collect()
}

#[test]
fn the_timeline_marks_what_held_before_the_action_and_ever_since() {
    let output = run(AT_ONCE, &["--lenient"]);
    assert!(output.contains("at once (product)  ("), "{output}");
    let marks: Vec<bool> = ends(&output).iter().map(|end| end.ends_with("(held before)")).collect();
    // Progressing is False again at the end, but not since before the update. The last one says no `within`.
    assert_eq!(marks, [true, true, false, false, false, false], "{output}");
    assert!(output.contains("; held before: expect ") && output.contains(" and 1 more)"), "{output}");
}

#[test]
fn a_strict_run_fails_at_what_held_before() {
    let strict = AT_ONCE.replace("cluster:", "strict: true\ncluster:");
    for (text, more, line) in
        [(AT_ONCE, &[][..], 6), (AT_ONCE, &["--strict"], 6), (&*strict, &["--lenient"], 7)]
    {
        let output = run(text, more);
        assert!(output.contains("exit 1"), "{output}");
        assert!(output.contains(&format!("a.yaml:{line}:3 with seed 1")), "{output}");
        assert!(output.contains("held before: this has been true since before the last action"), "{output}");
    }
}

#[test]
#[cfg(feature = "gherkin")]
fn a_step_of_a_feature_is_named_after_steps_that_wait_for_a_moment() {
    let feature = "Feature: f\n  Scenario: s\n    Given a 4.20.1 cluster with 1 control-plane node and 1 worker\n    \
                   When at 10 minutes operator dns degrades\n    And at 20 minutes operator dns recovers\n    \
                   Then within 5 minutes ClusterOperator/etcd condition Available is True\n";
    let output = check(&[("a.feature", feature)], &["test", "a.feature", "--format", "json"]);
    assert!(output.contains("ClusterOperator/etcd condition Available is True: held before"), "{output}");
    assert!(output.contains("\"line\": 6"), "{output}");
    let steps = output.matches("\"outcome\": \"passed\"").count();
    assert!(steps >= 2, "{output}");
}

#[test]
fn actions_that_follow_each_other_count_as_one() {
    let label = "- apply: {apiVersion: v1, kind: Node, metadata: {name: master-0, labels: {a: b}}}\n";
    let expected = "- expect: {object: Node/master-0, fields: {\"metadata.labels.a\": b}, within: 1m}\n";
    let head = "name: n\ncluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}\ntimeline:\n";
    let other = "- apply: {apiVersion: v1, kind: Namespace, metadata: {name: other}}\n";
    let both = run(&format!("{head}{label}{other}{expected}"), &[]);
    assert!(both.contains("exit 0"), "{both}");
    let apart = run(&format!("{head}{label}- advance: 1m\n{other}{expected}"), &[]);
    assert!(apart.contains("exit 1"), "{apart}");
}

#[test]
fn commands_that_write_are_actions_and_others_are_not() {
    let head = "name: n\ncluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}\nreleases: {4.20.5: }\n\
                timeline:\n- run: oc adm upgrade --to 4.20.5\n";
    let expected = "- expect: {object: ClusterVersion/version, fields: {spec.desiredUpdate.version: 4.20.5}, \
                    within: 1m}\n";
    let read = run(&format!("{head}- run: oc get clusterversion\n{expected}"), &[]);
    assert!(read.contains("exit 0"), "{read}");
    let wrote =
        run(&format!("{head}- advance: 1m\n- run: oc adm upgrade channel fast-4.20\n{expected}"), &[]);
    assert!(wrote.contains("exit 1"), "{wrote}");
}

#[test]
fn alerts_writes_logs_and_phases_can_hold_before() {
    let text = r"name: n
cluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 1}}
timeline:
- fault: {operator: dns, is: unavailable}
- expect: {alert: {name: ClusterOperatorDown, state: firing}, within: 1h}
- expect: {writes: [{object: ClusterOperator/dns, by: operator/dns-operator}], within: 1m}
- expect: {log: {pod: openshift-cluster-version/cluster-version-operator, contains: dns}, within: 1h}
- advance: 1m
- apply: {apiVersion: v1, kind: Namespace, metadata: {name: other}}
- expect: {alert: {name: ClusterOperatorDown, state: firing}, within: 1h}
- expect: {writes: [{object: ClusterOperator/dns, by: operator/dns-operator}], within: 1m, since: start}
- expect: {log: {pod: openshift-cluster-version/cluster-version-operator, contains: dns}, within: 1h}
- expect: {node: worker-0, phase: Updated, within: 1m}
- expect: {alert: {name: KubeNodeNotReady}, absent: true, within: 1m}
";
    let output = run(text, &["--lenient"]);
    let marks: Vec<bool> = ends(&output).iter().map(|end| end.ends_with("(held before)")).collect();
    assert_eq!(marks, [false, false, false, true, true, true, true, true], "{output}");
}

#[test]
fn features_have_a_flag_and_a_tag_for_it() {
    let feature = "Feature: f\n\n  Scenario: s\n    Given a 4.20.1 cluster with 3 control-plane nodes and 3 workers\n    \
                   And release 4.20.5 exists\n    When I update to 4.20.5\n    \
                   Then within 3 hours ClusterVersion field \"status.history[0].state\" is \"Completed\"\n";
    let run =
        |text: &str, more: &[&str]| check(&[("a.feature", text)], &[&["test", "a.feature"], more].concat());
    let (strict, lenient) = ("  @strict\n  Scenario", "  @lenient\n  Scenario");
    let fails = [run(feature, &[]), run(&feature.replace("  Scenario", strict), &["--lenient"])];
    for output in fails {
        assert!(output.contains("exit 1") && output.contains("held before: "), "{output}");
    }
    let passes = [run(feature, &["--lenient"]), run(&feature.replace("  Scenario", lenient), &[])];
    for output in passes {
        assert!(output.contains("exit 0") && output.contains("; held before: "), "{output}");
    }
}

#[test]
fn lint_warns_where_it_can_know() {
    let output = TestEnvironment::with(&[("a.yaml", AT_ONCE)]).run(&["lint", "a.yaml"]);
    assert!(output.stdout.contains("a.yaml:6:3: ClusterVersion is not progressing yet"), "{output}");
    assert!(output.stdout.contains("a.yaml:7:3: the pool has not begun to update"), "{output}");
    assert!(output.stdout.contains("0 errors, 2 warnings"), "{output}");
}

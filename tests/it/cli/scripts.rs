//! Scripts that steps run: `run: {shell: ...}`.

use super::environment::TestEnvironment;

const SCENARIO: &str = r#"name: scripts
cluster: {version: 4.18.3, nodes: {control-plane: 1, workers: 0}}
timeline:
- run:
    shell: |
      sleep 0.2
      grep --count server: "$KUBECONFIG"
      echo to standard error >&2
    prints: [{contains: "1"}, {contains: to standard error}]
- run: {shell: "echo before; exit 3", exits: 3, prints: before}
"#;

#[test]
fn a_script_runs_while_the_clock_stands_still() {
    let environment = TestEnvironment::with(&[("a.yaml", SCENARIO)]);
    let output = environment.run(&["run", "a.yaml", "--allow-programs", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stdout.contains("PASS  scripts  (0:00:00 of cluster time)"), "{output}");
    assert!(output.stderr.contains("a.yaml starts on this machine: `sh -c "), "{output}");
}

#[test]
fn a_script_needs_the_consent_of_the_user() {
    let environment = TestEnvironment::with(&[("a.yaml", SCENARIO)]);
    let output = environment.run(&["run", "a.yaml"]);
    assert_eq!(output.code, Some(2), "{output}");
    assert!(output.stderr.contains("a.yaml:4:3: this file starts commands on this machine"), "{output}");
    for command in ["sweep", "mutate"] {
        let output = environment.run(&[command, "a.yaml"]);
        assert_ne!(output.code, Some(0), "{command}: {output}");
    }
}

#[test]
fn another_exit_code_or_output_fails_the_step() {
    let text = |step: &str| format!("name: n\ncluster: {{version: 4.18.3}}\ntimeline:\n- run: {step}\n");
    let wrong = [
        ("{shell: exit 4}", "exited with code 4"),
        ("{shell: echo a, prints: b}", "expected that the command prints `b`"),
        ("{shell: no-such-command-here}", "exited with code 127"),
    ];
    for (step, why) in wrong {
        let environment = TestEnvironment::with(&[("a.yaml", &*text(step))]);
        let output = environment.run(&["run", "a.yaml", "--allow-programs", "--quiet"]);
        assert_eq!(output.code, Some(1), "{step}: {output}");
        assert!(output.stdout.contains(why), "{step}: {output}");
    }
    let environment = TestEnvironment::with(&[("a.yaml", &*text("{command: oc get nodes, exits: 1}"))]);
    let output = environment.run(&["run", "a.yaml"]);
    assert!(output.stderr.contains("`exits` needs `shell`"), "{output}");
}

#[test]
fn a_feature_runs_a_script_from_a_doc_string() {
    let feature = "Feature: f\n  Scenario: s\n    Given a 4.18.3 cluster with 1 control-plane node and 0 workers\n    \
                   When I run this shell script:\n      \"\"\"\n      echo \"$((1 + 1))\"\n      \"\"\"\n    Then it prints \"2\"\n";
    let environment = TestEnvironment::with(&[("a.feature", feature)]);
    let output = environment.run(&["test", "a.feature", "--allow-programs", "--quiet"]);
    assert_eq!(output.code, Some(0), "{output}");
}

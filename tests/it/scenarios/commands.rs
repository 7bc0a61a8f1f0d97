//! Commands, kept values and retried steps of scenarios.

use windtunnel::record::Record;

use super::{failure_of, plan, run};

#[test]
fn a_rejected_command_fails_its_step_unless_that_is_expected() {
    let check = |step: &str, expected: &str| assert_eq!(failure_of(step), expected);
    check(
        "- advance: 5m\n- run: {command: oc adm upgrade --to 4.20.9, refused: {contains: possible targets}}",
        "",
    );
    check(
        "- advance: 5m\n- run: oc adm upgrade --to 4.20.9",
        "n.yaml:6:3: run oc adm upgrade --to 4.20.9: expected that the command exits with code 0; it exited with code 1 and printed:\n\
         error: the update is not one of the possible targets: 4.20.8. specify --to-image to continue with the update.",
    );
    check(
        "- run: {command: oc adm upgrade --clear, refused: x}",
        "n.yaml:5:3: run oc adm upgrade --clear: expected that the command is refused with `x`; it exited with code 0 and printed:\n\
         info: No update in progress",
    );
    check(
        "- run: {command: oc adm upgrade --clear, prints: [/^info/, something else]}",
        "n.yaml:5:3: run oc adm upgrade --clear: expected that the command prints `something else`; it exited with code 0 and printed:\n\
         info: No update in progress",
    );
}

#[test]
fn the_output_of_a_command_is_in_the_record_and_the_timeline() {
    let text = "name: n\ncluster: {version: 4.20.1}\ntimeline:\n- run: oc adm upgrade --clear\n";
    let record = run(&plan("n.yaml", text), 1).0.record;
    let lines = record.to_lines();
    assert!(
        lines.contains(r#""command":"oc adm upgrade --clear","code":0,"stdout":"info: No update in progress\n","stderr":"""#),
        "{lines}"
    );
    let timeline = windtunnel::report::timeline::render(&Record::parse(&lines).unwrap(), 0);
    assert!(
        timeline.contains(
            "0:00:00  > run oc adm upgrade --clear\n           info: No update in progress\n0:00:00  ok run"
        ),
        "{timeline}"
    );
}

#[test]
fn later_steps_use_kept_values_and_steps_are_retried_until_they_pass() {
    let check = |steps: &str, expected: &str| assert_eq!(failure_of(steps), expected, "{steps}");
    let keep = "- keep: {as: image, object: ClusterVersion/version, field: status.desired.image}\n";
    let same = "- expect: {object: ClusterVersion/version, fields: {status.desired.image: $(kept image)}}";
    check(&format!("{keep}{same}"), "");
    check(
        &format!(
            "{keep}- expect: {{object: ClusterVersion/version, fields: {{spec.channel: $(kept imag)}}}}"
        ),
        "n.yaml:6:3: expect ClusterVersion/version spec.channel is `$(kept imag)`: \
         no earlier step kept a value as `imag`; did you mean `image`?",
    );
    check(
        "- keep: {as: x, object: ConfigMap/default/none, field: data}",
        "n.yaml:5:3: keep data of ConfigMap/default/none as x: there is no ConfigMap/default/none",
    );
    let version =
        "- keep: {as: target, object: ClusterVersion/version, field: 'status.availableUpdates[0].version'}\n";
    check(&format!("- advance: 5m\n{version}- run: oc adm upgrade --to $(kept target)"), "");
    let update =
        "- expect: {object: ClusterVersion/version, fields: {spec.desiredUpdate.version: $(kept target)}}";
    check(&format!("- advance: 5m\n{version}- run: 'oc adm upgrade \"--to=$(kept target)\"'\n{update}"), "");
    let retry = |what: &str| {
        format!(
            "- retry:\n    within: 5m\n    steps:\n    - run: {{command: oc get nodes, prints: /{what}/}}\n    \
             - expect: {{object: MachineConfigPool/worker, condition: {{type: Updated, status: \"True\"}}}}"
        )
    };
    check(&retry("master-0 .* 5m"), "");
    let failure = failure_of(&retry("master-0 .* 9m"));
    assert!(failure.starts_with("n.yaml:5:3: retry within 5m: run oc get nodes; expect "), "{failure}");
    assert!(failure.contains("prints /master-0 .* 9m/; it exited with code 0"), "{failure}");
}

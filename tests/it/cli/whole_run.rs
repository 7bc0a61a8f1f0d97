//! Expectations about a whole run, and about its moments.

use super::environment::check;

/// Runs these steps in an idle cluster after a ConfigMap was created, changed and deleted.
fn timeline(steps: &str) -> String {
    let apply = |text: &str| {
        format!(
            "- apply: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}, data: {{x: {text}}}}}\n"
        )
    };
    let text = format!(
        "name: n\ncluster: {{version: 4.20.1, nodes: {{control-plane: 1, workers: 0}}}}\ntimeline:\n\
         - advance: 65s\n{}- advance: 1s\n{}- delete: ConfigMap/default/a\n{steps}",
        apply("one"),
        apply("two")
    );
    check(&[("a.yaml", &text)], &["run", "--quiet", "a.yaml"])
}

fn passes(steps: &str) {
    let printed = timeline(steps);
    assert!(printed.starts_with("exit 0"), "{printed}");
}

fn fails(steps: &str, why: &str) {
    let printed = timeline(steps);
    assert!(printed.starts_with("exit 1") && printed.contains(why), "{printed}");
}

#[test]
fn a_future_moment_is_waited_for_and_a_past_one_fails() {
    passes("- at: 2m\n- at: 2m\n- expect: {object: ClusterVersion/version}\n");
    fails("- at: 1m\n", "this moment is past: 1m6s have passed since the start");
}

#[test]
fn never_covers_the_whole_run() {
    let was = |text: &str| {
        format!("- expect: {{object: ConfigMap/default/a*, fields: {{data.x: {text}}}, never: true}}\n")
    };
    passes(&was("three"));
    fails(&was("one"), "a matched after 1m5s");
    fails(&was("two"), "a matched after 1m6s");
    fails("- expect: {object: Node/master-0, never: true}\n", "master-0 matched from the start");
}

#[test]
fn never_finds_an_alert_that_has_ended() {
    let fault = "- fault: {operator: dns, is: unavailable, for: 30m}\n- advance: 1h\n\
                 - expect: {alert: {name: ClusterOperatorDown, state: firing}, absent: true}\n";
    let never = |state: &str, name: &str| {
        format!(
            "- expect: {{alert: {{name: ClusterOperatorDown, state: {state}, labels: {{name: {name}}}}}, never: true}}\n"
        )
    };
    passes(&format!("{fault}{}", never("firing", "etcd")));
    fails(&format!("{fault}{}", never("firing", "dns")), "name=\"dns\"");
}

#[test]
fn exactly_rejects_missing_and_additional_writes() {
    let written = |items: &str, more: &str| format!("- expect: {{writes: [{items}]{more}, since: start}}\n");
    let write = "{by: administrator, object: ConfigMap/default/a}";
    let all = [write; 3].join(", ");
    passes(&(written(write, "") + &written(&all, ", exactly: true")));
    fails(&written(write, ", exactly: true"), "write 2 is unexpected: ");
    fails(&written(&[write; 4].join(", "), ", exactly: true"), "write 4 of 4 is missing");
}

#[test]
fn writes_and_requests_count_since_a_moment() {
    // The update and the deletion of the ConfigMap are the last actions.
    let made = |verb: &str, since: &str| {
        format!(
            "- expect: {{writes: [{{by: administrator, verb: {verb}, object: ConfigMap/default/a}}]{since}}}\n"
        )
    };
    passes(&made("delete", ""));
    passes(&made("patch", ""));
    fails(&made("create", ""), "counted since the last action, from 1m6s on");
    fails(&made("create", ", since: {step: 3}"), "counted since step 3, from 1m5s on");
    for since in ["start", "{step: 2}", "1m"] {
        passes(&made("create", &format!(", since: {since}")));
    }
    fails(&made("create", ", since: last-update"), "no update was requested before this step");
    let none = |since: &str| {
        format!("- expect: {{requests: {{by: administrator, verb: create, at-most: 0{since}}}}}\n")
    };
    passes(&none(""));
    fails(&none(", since: start"), "1 such requests, the first after 1m5s");
    let unknown = timeline(&made("create", ", since: begin"));
    assert!(unknown.contains("expected one of `start`, `last-action`, `last-update`"), "{unknown}");
}

#[test]
fn a_field_that_no_object_has_is_named() {
    let expect =
        "- expect: {object: ClusterVersion/version, fields: {\"status.histroy[0].state\": Completed}}\n";
    fails(expect, "seen: no such field `status.histroy`; did you mean `status.history`?");
}

#[test]
fn a_patch_of_an_unknown_field_prints_the_warning_of_the_client() {
    let text = "name: n\ncluster: {version: 4.20.1, nodes: {control-plane: 1, workers: 0}}\ntimeline:\n\
                - patch: {object: MachineConfigPool/worker, merge: {spec: {pause: true, maxUnavailable: 1}}}\n\
                - expect: {object: MachineConfigPool/worker, fields: {spec.maxUnavailable: 1}}\n";
    let printed = check(&[("a.yaml", text)], &["run", "a.yaml"]);
    assert!(printed.starts_with("exit 0"), "{printed}");
    assert!(printed.contains("Warning: unknown field \"spec.pause\""), "{printed}");
}

#[test]
fn a_healthy_target_cannot_be_healed() {
    fails(
        "- heal: {node: master-0}\n",
        "node master-0 has no fault that this step could end (no fault is in effect)",
    );
    fails(
        "- fault: {operator: dns, is: degraded}\n- heal: {operator: etcd}\n",
        "operator etcd has no fault that this step could end (in effect are: operator dns is degraded)",
    );
    passes(
        "- fault: {operator: dns, is: degraded, after: 1h}\n- heal: {operator: dns}\n- expect: {object: ClusterVersion/version}\n",
    );
}

#[test]
fn never_and_exactly_are_rejected_where_they_have_no_meaning() {
    let cases = [
        ("status: {contains: a}, never: true", "`never` cannot be combined with `status`"),
        (
            "object: Node/worker-0, never: false",
            "expected `never: true`; to expect that the object exists, remove `never`",
        ),
        ("alert: {name: A}, never: true, within: 1m", "cannot be combined with `within`"),
        ("object: Node/worker-0, exactly: true", "`exactly` cannot be combined with `object`"),
    ];
    for (keys, why) in cases {
        let printed = timeline(&format!("- expect: {{{keys}}}\n"));
        assert!(printed.starts_with("exit 2") && printed.contains(why), "{keys}: {printed}");
    }
}

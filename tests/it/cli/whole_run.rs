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
    let written = |items: &str, more: &str| format!("- expect: {{writes: [{items}]{more}}}\n");
    let write = "{by: administrator, object: ConfigMap/default/a}";
    let all = [write; 3].join(", ");
    passes(&(written(write, "") + &written(&all, ", exactly: true")));
    fails(&written(write, ", exactly: true"), "write 2 is unexpected: ");
    fails(&written(&[write; 4].join(", "), ", exactly: true"), "write 4 of 4 is missing");
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

//! Expectations about a whole run, and moments of it.

use super::environment::check;

/// A quiet cluster in which somebody makes a ConfigMap, changes it and takes it away.
fn played(steps: &str) -> String {
    let made = |text: &str| {
        format!(
            "- apply: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}, data: {{x: {text}}}}}\n"
        )
    };
    let text = format!(
        "name: n\ncluster: {{version: 4.20.1, nodes: {{control-plane: 1, workers: 0}}}}\ntimeline:\n\
         - advance: 65s\n{}- advance: 1s\n{}- delete: ConfigMap/default/a\n{steps}",
        made("one"),
        made("two")
    );
    check(&[("a.yaml", &text)], &["run", "--quiet", "a.yaml"])
}

fn passes(steps: &str) {
    let told = played(steps);
    assert!(told.starts_with("exit 0"), "{told}");
}

fn fails(steps: &str, why: &str) {
    let told = played(steps);
    assert!(told.starts_with("exit 1") && told.contains(why), "{told}");
}

#[test]
fn a_moment_is_waited_for_and_none_that_is_over() {
    passes("- at: 2m\n- at: 2m\n- expect: {object: ClusterVersion/version}\n");
    fails("- at: 1m\n", "that is over: 1m6s have passed since the start");
}

#[test]
fn what_never_was_is_told_of_the_whole_run() {
    let was = |text: &str| {
        format!("- expect: {{object: ConfigMap/default/a*, fields: {{data.x: {text}}}, never: true}}\n")
    };
    passes(&was("three"));
    fails(&was("one"), "a was there after 1m5s");
    fails(&was("two"), "a was there after 1m6s");
    fails("- expect: {object: Node/master-0, never: true}\n", "master-0 was there from the start");
}

#[test]
fn an_alert_that_was_is_told_of_when_it_is_over() {
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
fn writes_that_are_told_exactly_are_all_that_there_were() {
    let written = |items: &str, more: &str| format!("- expect: {{writes: [{items}]{more}}}\n");
    let write = "{by: administrator, object: ConfigMap/default/a}";
    let all = [write; 3].join(", ");
    passes(&(written(write, "") + &written(&all, ", exactly: true")));
    fails(&written(write, ", exactly: true"), "there is a write 2 of 1");
    fails(&written(&[write; 4].join(", "), ", exactly: true"), "write 4 of 4 was not made");
}

#[test]
fn never_and_exactly_stand_only_where_they_mean_something() {
    let odd = [
        ("status: {contains: a}, never: true", "`never` cannot stand beside `status`"),
        (
            "object: Node/worker-0, never: false",
            "expected `never: true`; without it, the object must be there",
        ),
        ("alert: {name: A}, never: true, within: 1m", "cannot stand beside `within`"),
        ("object: Node/worker-0, exactly: true", "`exactly` cannot stand beside `object`"),
    ];
    for (keys, why) in odd {
        let told = played(&format!("- expect: {{{keys}}}\n"));
        assert!(told.starts_with("exit 2") && told.contains(why), "{keys}: {told}");
    }
}

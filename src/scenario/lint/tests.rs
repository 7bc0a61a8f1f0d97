//! What is odd, and what is not.

use super::warnings;
use crate::model::release::Release;
use crate::scenario;

/// Reads a scenario and compares what is odd about it.
fn check(text: &str, expected: &str) {
    let plans = scenario::read_all("s.yaml", text, &Release::find).unwrap();
    let found: Vec<String> = warnings(&plans, text).iter().map(ToString::to_string).collect();
    assert_eq!(found.join("\n"), expected, "\n{text}");
}

const HEAD: &str = "name: n\ncluster: {version: 4.20.1, nodes: {workers: 2}}\n";

#[test]
fn what_expects_nothing_is_odd() {
    check(
        &format!("{HEAD}timeline:\n- clear-update\n- advance: 1h\n"),
        "s.yaml:1:1: nothing is expected: this scenario passes whatever happens\n\
         s.yaml:5:3: nothing is expected of the time that passes at the end",
    );
    check(&format!("{HEAD}timeline:\n- advance: 1h\n- expect: {{object: ClusterVersion/version}}\n"), "");
}

#[test]
fn a_release_that_nothing_goes_to_is_odd() {
    let of = |timeline: &str| format!("{HEAD}releases:\n  4.20.8:\ntimeline:\n{timeline}");
    check(
        &of("- expect: {object: ClusterVersion/version}\n"),
        "s.yaml:4:3: release 4.20.8 exists, and nothing goes to it or tells of it",
    );
    check(&of("- update: {to: 4.20.8}\n- expect: {object: ClusterVersion/version}\n"), "");
    check(&of("- run: oc adm upgrade --to 4.20.8\n"), "");
}

#[test]
fn a_release_that_a_parameter_names_is_used() {
    check(
        "name: n\nparameters: [{to: 4.20.8}]\ncluster: {version: 4.20.1}\nreleases: {<to>: }\ntimeline:\n\
         - update: {to: <to>}\n- expect: {object: ClusterVersion/version}\n",
        "",
    );
}

#[test]
fn names_that_the_cluster_does_not_have_are_odd() {
    check(
        &format!(
            "{HEAD}timeline:\n- fault: {{node: worker-2, is: not-ready}}\n- fault: {{operator: etdc, is: degraded}}\n\
             - expect: {{node: master-3, phase: Updated}}\n- expect: {{object: ClusterOperator/etcd}}\n\
             - expect: {{object: Node/worker-9}}\n- expect: {{object: Node/other}}\n"
        ),
        "s.yaml:4:3: there is no node worker-2: the last one is worker-1\n\
         s.yaml:5:3: no release of this scenario has an operator etdc; did you mean `etcd`?\n\
         s.yaml:6:3: there is no node master-3: the last one is master-2\n\
         s.yaml:8:3: there is no node worker-9: the last one is worker-1",
    );
}

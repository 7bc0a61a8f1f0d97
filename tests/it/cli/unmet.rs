//! What a failed expectation says besides what it saw.

use super::environment::check;

fn run(timeline: &str) -> String {
    let head = "name: n\ncluster: {version: 4.20.1, insights: true, nodes: {control-plane: 1, workers: 1}}\n\
                releases: {4.20.5: }\ntimeline:\n";
    check(&[("a.yaml", &format!("{head}{timeline}"))], &["run", "a.yaml", "--quiet"])
}

#[test]
fn lists_all_candidates_and_the_faults_in_effect() {
    let output = run("- fault: {operator: dns, is: unavailable}\n\
                      - fault: {operator: etcd, is: degraded}\n\
                      - fault: {operator: network, is: degraded}\n\
                      - advance: 10m\n\
                      - heal: {operator: network}\n\
                      - update: {to: 4.20.5}\n\
                      - advance: 20m\n\
                      - expect: {insight: Health, summary: nothing like it}\n\
                      ");
    assert!(output.contains("exit 1"), "{output}");
    assert!(output.contains("seen: none of "), "{output}");
    assert!(output.contains("- about clusteroperators/dns: \""), "{output}");
    assert!(output.contains("- about clusteroperators/etcd: \""), "{output}");
    assert!(output.contains("fault: operator dns is unavailable, since 0s"), "{output}");
    assert!(output.contains("fault: operator etcd is degraded, since 0s"), "{output}");
    assert!(!output.contains("fault: operator network"), "{output}");
}

#[test]
fn lists_the_other_insights_of_the_kind() {
    let output = run("- fault: {operator: dns, is: unavailable}\n\
                      - update: {to: 4.20.5}\n\
                      - expect: {insight: Health, about: ClusterOperator/etcd, within: 20m}\n");
    assert!(output.contains("seen: no insight Health about ClusterOperator/etcd is published"), "{output}");
    assert!(output.contains("; published are:\n"), "{output}");
    assert!(output.contains("- about clusteroperators/dns: \""), "{output}");
}

#[test]
fn names_the_writes_that_keep_being_rejected() {
    let output = run("- apply: {apiVersion: v1, kind: Node, metadata: {name: worker-0, labels: {a: b}}}\n\
                      - fault: {webhook: {verb: update, kind: ClusterVersion, subresource: status}, is: unreachable}\n\
                      - update: {to: 4.20.5}\n\
                      - expect: {update: complete, within: 10m}\n");
    let expected = "rejected: update of status of ClusterVersion/version by cluster-version-operator: 500 ";
    assert!(output.contains(expected), "{output}");
}

#[test]
fn insights_that_nothing_publishes_are_a_mistake_of_the_scenario() {
    let text = "name: n\ncluster: {version: 4.18.3}\nreleases: {4.18.7: }\ntimeline:\n- update: {to: 4.18.7}\n\
                - expect: {insight: ClusterVersion/version, condition: {type: Updating, status: \"True\"}, within: 10m}\n";
    let output = check(&[("a.yaml", text)], &["run", "a.yaml", "--quiet"]);
    assert!(output.contains("FAIL  n (scenario)"), "{output}");
    let expected = "seen: no insight ClusterVersion/version is published; nothing publishes insights in this cluster: add `insights: true`";
    assert!(output.contains(expected), "{output}");
}

/// Returns the first line of the failure of a timeline.
fn headline(timeline: &str) -> String {
    let output = run(timeline);
    let line = output.lines().find(|line| line.contains("seen: "));
    line.unwrap_or_else(|| panic!("{output}")).to_owned()
}

#[test]
fn the_first_line_has_the_most_telling_cause() {
    let pool = |within| {
        format!(
            "- expect: {{object: MachineConfigPool/worker, condition: {{type: Updated, status: \"True\"}}, within: {within}}}\n"
        )
    };
    let paused = headline(&format!(
        "- patch: {{object: MachineConfigPool/worker, merge: {{spec: {{paused: true}}}}}}\n- update: {{to: 4.20.5}}\n\
         - expect: {{update: complete, within: 3h}}\n{}",
        pool("10m")
    ));
    assert!(paused.ends_with("seen: Updated=False \"\"; pool worker is paused"), "{paused}");
    let degraded = headline(
        "- fault: {operator: dns, is: degraded}\n- update: {to: 4.20.5}\n- expect: {update: complete, within: 2h}\n",
    );
    assert!(degraded.ends_with("; fault: operator dns is degraded"), "{degraded}");
    let of_node = headline(
        "- fault: {node: worker-0, is: os-update-fails, message: no space left}\n- update: {to: 4.20.5}\n\
         - expect: {update: complete, within: 3h}\n",
    );
    assert!(of_node.contains("; fault: node worker-0 is os-update-fails"), "{of_node}");
    let of_pod = headline(
        "- fault: {pod: openshift-cluster-version/cluster-version-operator-*, is: crash-looping}\n- update: {to: 4.20.5}\n\
         - expect: {update: complete, within: 3h}\n",
    );
    assert!(
        of_pod
            .ends_with("; fault: pod openshift-cluster-version/cluster-version-operator-* is crash-looping"),
        "{of_pod}"
    );
    let rejected = headline(
        "- update: {image: \"quay.io/o/r@sha256:0000000000000000000000000000000000000000000000000000000000000000\", force: true}\n\
         - expect: {object: ClusterVersion/version, condition: {type: Progressing, status: \"True\"}, within: 10m}\n",
    );
    assert!(
        rejected.contains("; ReleaseAccepted=False RetrievePayload \"Unable to download")
            && rejected.contains("manifest unknown"),
        "{rejected}"
    );
}

/// Returns the last line about the failure of an update of a cluster, which has as many characters as JUnit's message.
fn last_line(head: &str, timeline: &str) -> String {
    let text = format!("name: n\n{head}timeline:\n{timeline}- expect: {{update: complete, within: 3h}}\n");
    let output = check(
        &[("a.yaml", &text), ("b.yaml", super::scenarios::CALM)],
        &["run", "a.yaml", "b.yaml", "--quiet"],
    );
    let line = output.lines().find(|line| line.starts_with("FAIL a.yaml:"));
    line.unwrap_or_else(|| panic!("{output}")).to_owned()
}

#[test]
fn an_update_that_is_not_accepted_names_versions_and_the_cause_once() {
    let unsigned = "cluster: {version: 4.18.3}\nreleases: {4.18.7: {openpgp: missing}}\n";
    let missing = "cluster: {version: 4.18.3}\nreleases: {4.18.7: {pull: manifest-unknown}}\n";
    let gate = "cluster: {version: 4.15.3, admin-acks: false}\nreleases: {4.16.3: }\n";
    let back = "cluster: {version: 4.18.7}\nreleases: {4.18.3: }\n";
    for (head, to, installed, causes) in [
        (unsigned, "4.18.7", "4.18.3", &["unable to verify sha256:"][..]),
        (missing, "4.18.7", "4.18.3", &["DeadlineExceeded", "the pull failed: ", "manifest unknown"]),
        (
            gate,
            "4.16.3",
            "4.15.3",
            &["acknowledge the gate in ConfigMap openshift-config/admin-acks", "AdminAckRequired"],
        ),
        (back, "4.18.3", "4.18.7", &["`force: true`", "4.18.3 is less than the current target 4.18.7"]),
    ] {
        let line = last_line(head, &format!("- update: {{to: {to}}}\n"));
        let seen = format!("seen: the desired version is `{to}`, but `{installed}` is installed; ");
        assert!(line.contains(&seen) && line.matches("ReleaseAccepted").count() == 1, "{line}");
        for cause in causes {
            assert_eq!(line.matches(cause).count(), 1, "{cause}: {line}");
        }
    }
}

#[test]
fn the_first_line_names_the_budget_of_a_rejected_eviction() {
    let text = "name: n\ncluster: {version: 4.18.3}\nreleases: {4.18.7: }\ntimeline:\n- advance: 1m\n\
                - fault: {node: worker-0, is: drain-blocked}\n- advance: 2m\n- update: {to: 4.18.7}\n\
                - expect: {node: worker-0, phase: Draining, within: 3h}\n\
                - expect: {object: MachineConfigPool/worker, condition: {type: Updated, status: \"True\"}, within: 30m}\n";
    let output = check(&[("a.yaml", text)], &["run", "a.yaml", "--quiet", "--junit", "j.xml"]);
    let expected = "; rejected: PodDisruptionBudget default/drain-blocker-worker-0: create of eviction of \
                    Pod/drain-blocker-worker-0 by machine-config-controller/drain: 429 ";
    assert!(output.contains(expected), "{output}");
    // The rejection is in the first line, and not below it again.
    assert_eq!(output.matches("429 Cannot evict pod").count(), 1, "{output}");
}

//! A must-gather from the middle of a scenario that has stopped: its rehearsal stops first at the object of the scenario's fault.

use super::{TestEnvironment, report, stops};

/// A scenario of this repository, the moment of the must-gather, the target, and the object.
const CAPTURES: [(&str, &str, &str, &str); 8] = [
    ("nodes/drain-blocked.yaml", "90m", "4.18.7", "PodDisruptionBudget default/drain-blocker-worker-0"),
    ("nodes/two-budgets.yaml", "42m", "4.18.7", "PodDisruptionBudget default/drain-blocker-worker-0"),
    ("nodes/kubelet-stopped.yaml", "100m", "4.18.7", "Node /worker-0"),
    ("nodes/does-not-return.yaml", "100m", "4.18.7", "Node /worker-0"),
    ("nodes/reboot-refused.yaml", "2h", "4.18.7", "Node /worker-0"),
    ("operators/degraded-during-update.yaml", "60m", "4.18.5", "ClusterOperator /dns"),
    ("faults/webhook-silent.yaml", "40m", "4.18.7", "ValidatingWebhookConfiguration /silent"),
    ("update/admin-acks.yaml", "3m", "4.19.3", "ConfigMap openshift-config/admin-acks"),
];

#[test]
fn the_rehearsal_of_a_must_gather_stops_where_the_scenario_stopped() {
    let environment = TestEnvironment::new();
    let mut different = Vec::new();
    for (scenario, at, to, object) in CAPTURES {
        let path = format!("{}/scenarios/{scenario}", env!("CARGO_MANIFEST_DIR"));
        let output = environment.run(&["run", &path, "--record", "r.jsonl", "--quiet"]);
        assert_eq!(output.code, Some(0), "{output}");
        let folder = scenario.replace(['/', '.'], "-");
        let output = environment.run(&["must-gather", "r.jsonl", "--at", at, "-o", &folder]);
        assert_eq!(output.code, Some(0), "{output}");
        let (report, _) = report(&environment, &[&folder, "--to", to]);
        let found = stops(&report);
        if !found.first().is_some_and(|first| first.ends_with(object)) {
            different.push(format!("{scenario} at {at}: {object}, found {found:?}"));
        }
    }
    assert!(different.is_empty(), "{different:#?}");
}

//! The DaemonSet of the machine-config daemons. The operator rolls it out before it updates nodes
//! (`syncMachineConfigDaemon` of openshift/machine-config-operator). The daemons run on the simulated
//! machines.

use serde_json::{Value, json};
use windtunnel_controllers::workloads::daemon_sets;
use windtunnel_controllers::{ON_MACHINES, PROGRAM};
use windtunnel_core::resources::DAEMON_SETS;
use windtunnel_core::{Key, Object, View, Write};

use super::{DAEMON, NAMESPACE};
use crate::manifests::MajorMinor;
use crate::release::Release;

/// From this minor on the error about a time limit is that of a context.
const HAS_DEADLINES: MajorMinor = (4, 14);
/// The component with the daemons' image.
pub(super) const COMPONENT: &str = "machine-config-operator";

/// The key of the DaemonSet.
pub fn key() -> Key {
    DAEMON_SETS.key(NAMESPACE, DAEMON)
}

/// The write that updates the daemons to a release. `None` if the DaemonSet is up to date.
pub(super) fn write(release: &Release, view: &View) -> Option<Write> {
    let wanted = daemon_set(release);
    let Some(found) = view.get_key(&key()) else { return Some(Write::create(&DAEMON_SETS, wanted)) };
    if is_of(found, release) {
        return None;
    }
    let patch = json!({ "spec": { "template": wanted["spec"]["template"] } });
    Some(Write::merge_patch(&DAEMON_SETS, NAMESPACE, DAEMON, patch))
}

/// Returns whether all daemons run this release.
pub(super) fn is_rolled(release: &Release, view: &View) -> bool {
    view.get_key(&key()).is_some_and(|set| {
        let count = |field: &str| set["status"][field].as_u64().unwrap_or(0);
        is_of(set, release)
            && set.number("/status/observedGeneration") == Some(set.generation())
            && count("updatedNumberScheduled") >= count("desiredNumberScheduled")
            && count("numberUnavailable") == 0
    })
}

/// The DaemonSet of an installed cluster with this number of nodes.
pub(super) fn installed(release: &Release, nodes: usize) -> Value {
    let mut set = daemon_set(release);
    set["status"] = daemon_sets::machines::status(1, nodes, nodes, 0);
    set
}

/// Returns whether the DaemonSet has this release.
pub(super) fn has_release(release: &Release, view: &View) -> bool {
    view.get_key(&key()).is_some_and(|set| is_of(set, release))
}

/// The error about a rollout that took too long.
pub(super) fn rollout_error(line: MajorMinor, view: &View) -> String {
    let cause = if line >= HAS_DEADLINES {
        "context deadline exceeded"
    } else {
        "timed out waiting for the condition"
    };
    let count = |field: &str| view.get_key(&key()).and_then(|set| set["status"][field].as_u64()).unwrap_or(0);
    format!(
        "error during waitForDaemonsetRollout: [{cause}, daemonset {DAEMON} is not ready. status: (desired: {}, updated: {}, ready: {}, unavailable: {})]",
        count("desiredNumberScheduled"),
        count("updatedNumberScheduled"),
        count("numberReady"),
        count("numberUnavailable"),
    )
}

fn is_of(set: &Object, release: &Release) -> bool {
    let container = set.list("/spec/template/spec/containers").first();
    container.is_some_and(|container| container["image"] == release.image_of(COMPONENT))
}

fn daemon_set(release: &Release) -> Value {
    let labels = json!({ "k8s-app": DAEMON });
    json!({
        "apiVersion": DAEMON_SETS.api_version(),
        "kind": DAEMON_SETS.kind,
        "metadata": { "namespace": NAMESPACE, "name": DAEMON, "labels": labels },
        "spec": {
            "selector": { "matchLabels": labels },
            "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": "10%" } },
            "template": {
                "metadata": { "labels": labels, "annotations": { (PROGRAM): ON_MACHINES } },
                "spec": {
                    "containers": [{
                        "name": DAEMON,
                        "image": release.image_of(COMPONENT),
                        "command": ["/usr/bin/machine-config-daemon"],
                        "args": ["start"],
                    }],
                    "hostNetwork": true,
                    "hostPID": true,
                    "nodeSelector": { "kubernetes.io/os": "linux" },
                    "priorityClassName": "system-node-critical",
                    "serviceAccountName": DAEMON,
                    "terminationGracePeriodSeconds": 600,
                    "tolerations": [{ "operator": "Exists" }],
                },
            },
        },
    })
}

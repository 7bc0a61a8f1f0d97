//! Metrics of kube-state-metrics about the state of nodes, pods, workloads and disruption budgets. Each sample follows
//! from one object.

use windtunnel_core::resources::{DAEMON_SETS, DEPLOYMENTS, NODES, POD_DISRUPTION_BUDGETS, PODS};
use windtunnel_core::{Change, ChangeKind, Object, Resource, View, condition, node, pod, text_of};

use super::origin::Origin;
use super::{number, truth};
use crate::promql::{SampleCollector, Selector};

/// Adds the samples of a metric for one object.
type Collect = fn(&Object, &mut SampleCollector<'_>);

/// A metric with the kinds of its objects.
type Metric = (&'static str, &'static [Resource], Collect);

/// The phases of pods.
const PHASES: [&str; 5] = ["Pending", "Succeeded", "Failed", "Unknown", "Running"];

/// The statuses of conditions, as labels have them.
const STATUSES: [&str; 3] = ["true", "false", "unknown"];

const METRICS: &[Metric] = &[
    ("kube_node_status_condition", &[NODES], node_conditions),
    ("kube_node_spec_unschedulable", &[NODES], |node, taken| {
        add(taken, &[("node", node.name())], truth(node::is_unschedulable(node)));
    }),
    ("kube_node_spec_taint", &[NODES], taints),
    ("kube_pod_status_phase", &[PODS], phases),
    ("kube_pod_status_ready", &[PODS], readiness),
    ("kube_pod_status_unschedulable", &[PODS], unschedulable),
    ("kube_pod_owner", &[PODS], owners),
    ("kube_deployment_spec_replicas", &[DEPLOYMENTS], |deployment, taken| {
        count(deployment, "deployment", "/spec/replicas", 1, taken);
    }),
    ("kube_deployment_status_replicas_available", &[DEPLOYMENTS], |deployment, taken| {
        count(deployment, "deployment", "/status/availableReplicas", 0, taken);
    }),
    ("kube_deployment_status_replicas_updated", &[DEPLOYMENTS], |deployment, taken| {
        count(deployment, "deployment", "/status/updatedReplicas", 0, taken);
    }),
    ("kube_daemonset_status_current_number_scheduled", &[DAEMON_SETS], |set, taken| {
        count(set, "daemonset", "/status/currentNumberScheduled", 0, taken);
    }),
    ("kube_daemonset_status_desired_number_scheduled", &[DAEMON_SETS], |set, taken| {
        count(set, "daemonset", "/status/desiredNumberScheduled", 0, taken);
    }),
    ("kube_daemonset_status_number_misscheduled", &[DAEMON_SETS], |set, taken| {
        count(set, "daemonset", "/status/numberMisscheduled", 0, taken);
    }),
    ("kube_daemonset_status_updated_number_scheduled", &[DAEMON_SETS], |set, taken| {
        count(set, "daemonset", "/status/updatedNumberScheduled", 0, taken);
    }),
    ("kube_daemonset_status_number_available", &[DAEMON_SETS], |set, taken| {
        count(set, "daemonset", "/status/numberAvailable", 0, taken);
    }),
    ("kube_poddisruptionbudget_status_current_healthy", &[POD_DISRUPTION_BUDGETS], |budget, taken| {
        count(budget, "poddisruptionbudget", "/status/currentHealthy", 0, taken);
    }),
    ("kube_poddisruptionbudget_status_desired_healthy", &[POD_DISRUPTION_BUDGETS], |budget, taken| {
        count(budget, "poddisruptionbudget", "/status/desiredHealthy", 0, taken);
    }),
    ("kube_poddisruptionbudget_status_expected_pods", &[POD_DISRUPTION_BUDGETS], |budget, taken| {
        count(budget, "poddisruptionbudget", "/status/expectedPods", 0, taken);
    }),
    (
        "kube_poddisruptionbudget_status_pod_disruptions_allowed",
        &[POD_DISRUPTION_BUDGETS],
        |budget, taken| {
            count(budget, "poddisruptionbudget", "/status/disruptionsAllowed", 0, taken);
        },
    ),
];

fn find(metric: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|(name, ..)| *name == metric)
}

/// Collects the samples of a metric. Returns false for an unknown metric.
pub(super) fn collect(metric: &str, view: &View, taken: &mut SampleCollector<'_>) -> bool {
    let Some((_, kinds, collect)) = find(metric) else { return false };
    kinds.iter().flat_map(|kind| view.list(kind)).for_each(|object| collect(object, taken));
    true
}

/// Returns the names of the metrics.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|(name, ..)| *name)
}

/// Returns the origin of a metric; `None` for an unknown one.
pub(super) fn origin(metric: &str) -> Option<Origin> {
    find(metric).map(|(_, kinds, _)| Origin::Objects(kinds))
}

/// Returns whether a change affects the samples of a selector; `None` for an unknown metric.
pub(super) fn is_touched(selector: &Selector, change: &Change) -> Option<bool> {
    let (_, kinds, collect) = find(selector.metric())?;
    if !kinds.iter().any(|kind| change.key.is_kind(kind)) {
        return Some(false);
    }
    let samples = |object: Option<&Object>| {
        let mut taken = SampleCollector::for_selector(selector);
        if let Some(object) = object {
            collect(object, &mut taken);
        }
        taken.into_samples()
    };
    let before = change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified);
    Some(change.kind != ChangeKind::Modified || samples(before) != samples(Some(&change.object)))
}

fn add(taken: &mut SampleCollector<'_>, labels: &[(&str, &str)], value: f64) {
    taken.add_for_target(labels, &[("job", "kube-state-metrics")], value);
}

/// Adds a number in the status of a namespaced object.
fn count(object: &Object, label: &str, pointer: &str, missing: i64, taken: &mut SampleCollector<'_>) {
    let value = object.number(pointer).unwrap_or(missing);
    add(taken, &[("namespace", object.namespace()), (label, object.name())], number(value));
}

fn node_conditions(node: &Object, taken: &mut SampleCollector<'_>) {
    for found in node.conditions() {
        let status = text_of(found, "status").to_lowercase();
        for known in STATUSES {
            let labels = [("node", node.name()), ("condition", condition::type_of(found)), ("status", known)];
            add(taken, &labels, truth(status == known));
        }
    }
}

fn taints(node: &Object, taken: &mut SampleCollector<'_>) {
    for taint in node::taints(node) {
        let text = |field| text_of(taint, field);
        let labels = [
            ("node", node.name()),
            ("key", text("key")),
            ("value", text("value")),
            ("effect", text("effect")),
        ];
        add(taken, &labels, 1.0);
    }
}

fn phases(pod: &Object, taken: &mut SampleCollector<'_>) {
    let phase = pod::phase(pod);
    for known in PHASES {
        let labels =
            [("namespace", pod.namespace()), ("pod", pod.name()), ("uid", pod.uid()), ("phase", known)];
        add(taken, &labels, truth(phase == known));
    }
}

fn readiness(pod: &Object, taken: &mut SampleCollector<'_>) {
    let Some(ready) = condition::find_in_status(pod, "Ready") else { return };
    let status = text_of(ready, "status").to_lowercase();
    for known in STATUSES {
        let labels =
            [("namespace", pod.namespace()), ("pod", pod.name()), ("uid", pod.uid()), ("condition", known)];
        add(taken, &labels, truth(status == known));
    }
}

/// 1 for a pod that the scheduler cannot place; others have no sample.
fn unschedulable(pod: &Object, taken: &mut SampleCollector<'_>) {
    let scheduled = condition::find_in_status(pod, "PodScheduled");
    if scheduled.is_some_and(|found| text_of(found, "reason") == "Unschedulable") {
        add(taken, &[("namespace", pod.namespace()), ("pod", pod.name()), ("uid", pod.uid())], 1.0);
    }
}

/// The owners of a pod; a pod without one has a sample with empty labels.
fn owners(pod: &Object, taken: &mut SampleCollector<'_>) {
    let of_pod = |kind, name| {
        [
            ("namespace", pod.namespace()),
            ("pod", pod.name()),
            ("uid", pod.uid()),
            ("owner_kind", kind),
            ("owner_name", name),
        ]
    };
    let owners = pod.list("/metadata/ownerReferences");
    if owners.is_empty() {
        add(taken, &of_pod("", ""), 1.0);
    }
    for owner in owners {
        add(taken, &of_pod(text_of(owner, "kind"), text_of(owner, "name")), 1.0);
    }
}

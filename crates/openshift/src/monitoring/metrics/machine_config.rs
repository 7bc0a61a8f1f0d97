//! Metrics of the machine-config operator's components, as far as their alerts use them.

use windtunnel_controllers::counter::Counter;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Change, ChangeKind, Key};

use super::Moment;
use crate::mco::{DRAIN_ERRORS, KUBELET_STATE, PIVOT_ERRORS, REBOOT_ERRORS, nodes_in_custom_pools};
use crate::promql::SampleCollector;

/// The metrics that the components count in memory, which do not follow from API objects.
pub(in crate::monitoring) const COUNTED: [&str; 4] =
    [DRAIN_ERRORS, KUBELET_STATE, PIVOT_ERRORS, REBOOT_ERRORS];

/// The metric of nodes that several pools select: 1 for the chosen pool.
pub(super) const POOL_ALERT: &str = "mcc_pool_alert";

/// The labels that a scrape of the controller adds.
const CONTROLLER: &[(&str, &str)] = &[
    ("job", "machine-config-controller"),
    ("namespace", "openshift-machine-config-operator"),
    ("endpoint", "metrics"),
];
/// The labels that a scrape of a daemon adds.
const DAEMON: &[(&str, &str)] = &[
    ("job", "machine-config-daemon"),
    ("namespace", "openshift-machine-config-operator"),
    ("endpoint", "metrics"),
];

/// Collects the samples of a metric. Returns false for unknown metrics.
pub(super) fn collect(metric: &str, moment: &Moment<'_>, taken: &mut SampleCollector<'_>) -> bool {
    match metric {
        POOL_ALERT => {
            for node in nodes_in_custom_pools(moment.view) {
                taken.add_for_target(&[("exported_node", node)], CONTROLLER, 1.0);
            }
        }
        DRAIN_ERRORS => moment.counted.collect(metric, CONTROLLER, taken),
        KUBELET_STATE | PIVOT_ERRORS | REBOOT_ERRORS => moment.counted.collect(metric, DAEMON, taken),
        _ => return false,
    }
    true
}

/// Returns whether objects of this kind can affect a metric.
pub(super) fn concerns(metric: &str, kind: &Key) -> bool {
    metric == POOL_ALERT && (kind.is_kind(&NODES) || kind.is_kind(&MACHINE_CONFIG_POOLS))
}

/// Returns whether a change can affect a metric. For metrics that are counted in memory see [`counters`].
pub(super) fn is_touched(metric: &str, change: &Change) -> bool {
    let differs = |pointer: &str| {
        let old = change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified);
        old.is_none_or(|old| old.pointer(pointer) != change.object.pointer(pointer))
    };
    metric == POOL_ALERT
        && (change.key.is_kind(&NODES) && differs("/metadata/labels")
            || change.key.is_kind(&MACHINE_CONFIG_POOLS) && differs("/spec/nodeSelector"))
}

/// The counters of these components.
pub(in crate::monitoring) fn counters(all: &[Counter]) -> impl Iterator<Item = &Counter> {
    all.iter().filter(|counter| is_counted(counter.metric))
}

/// Returns whether these components count a metric in memory.
pub(in crate::monitoring) fn is_counted(metric: &str) -> bool {
    COUNTED.contains(&metric)
}

//! Metrics of the machine-config operator's components, as far as their alerts use them.

use windtunnel_controllers::counter::Counter;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Change, ChangeKind, Key};

use super::{Moment, truth};
use crate::manifests::MajorMinor;
use crate::mco::{
    DRAIN_ERRORS, KUBELET_STATE, PAUSED_CERTIFICATES, PIVOT_ERRORS, REBOOT_ERRORS, controller_line,
    nodes_in_custom_pools,
};
use crate::promql::SampleCollector;

/// The metrics that the components count in memory, which do not follow from API objects.
pub(in crate::monitoring) const COUNTED: [&str; 5] =
    [DRAIN_ERRORS, KUBELET_STATE, PAUSED_CERTIFICATES, PIVOT_ERRORS, REBOOT_ERRORS];

/// The metrics of minors before 4.13 in place of those that are counted. Their other labels are not known.
pub(super) const FORMER: [(&str, &str); 3] =
    [("mcd_drain_err", DRAIN_ERRORS), ("mcd_pivot_err", PIVOT_ERRORS), ("mcd_reboot_err", REBOOT_ERRORS)];
/// The first minor without them.
const COUNTS: MajorMinor = (4, 13);
/// The first minor with [`POOL_ALERT`].
const POOLS_CONFLICT: MajorMinor = (4, 14);

/// The metric of nodes that several pools select: 1 for the chosen pool.
pub(super) const POOL_ALERT: &str = "mcc_pool_alert";

/// The minor of a cluster without a ControllerConfig.
const UNKNOWN: MajorMinor = (0, 0);

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
    let line = controller_line(moment.view);
    let counted = |metric: &str, labels: &[(&str, &str)], taken: &mut SampleCollector<'_>| {
        if line == UNKNOWN || line >= COUNTS {
            moment.counted.collect(metric, labels, taken);
        }
    };
    match metric {
        POOL_ALERT if line == UNKNOWN || line >= POOLS_CONFLICT => {
            for node in nodes_in_custom_pools(moment.view) {
                taken.add_for_target(&[("exported_node", node)], CONTROLLER, 1.0);
            }
        }
        POOL_ALERT => {}
        DRAIN_ERRORS => counted(metric, CONTROLLER, taken),
        PIVOT_ERRORS | REBOOT_ERRORS => counted(metric, DAEMON, taken),
        PAUSED_CERTIFICATES => moment.counted.collect(metric, CONTROLLER, taken),
        KUBELET_STATE => moment.counted.collect(metric, DAEMON, taken),
        _ => {
            let Some((_, source)) = FORMER.iter().find(|(name, _)| *name == metric) else { return false };
            if line != UNKNOWN && line < COUNTS {
                former(source, moment, taken);
            }
        }
    }
    true
}

/// Collects the samples of a daemon that its minor has in place of a counter.
fn former(source: &str, moment: &Moment<'_>, taken: &mut SampleCollector<'_>) {
    for counter in moment.counted.counters.iter().filter(|counter| counter.metric == source) {
        let node = counter.labels.get("node").or_else(|| counter.labels.get("exported_node"));
        let node = node.map_or("", String::as_str);
        taken.add_for_target(&[("node", node)], DAEMON, truth(counter.count > 0));
    }
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
    COUNTED.contains(&metric) || FORMER.iter().any(|(name, _)| *name == metric)
}

//! What the parts of the machine-config operator export, as far as their alerts ask for it.

use windtunnel_controllers::counter::Counter;
use windtunnel_core::resources::{MACHINE_CONFIG_POOLS, NODES};
use windtunnel_core::{Change, ChangeKind, Key};

use super::Moment;
use crate::mco::{DRAIN_ERRORS, KUBELET_STATE, PIVOT_ERRORS, REBOOT_ERRORS, contested};
use crate::promql::Taken;

/// What they keep in memory, of which no change of the API tells.
pub(in crate::monitoring) const COUNTED: [&str; 4] =
    [DRAIN_ERRORS, KUBELET_STATE, PIVOT_ERRORS, REBOOT_ERRORS];

/// Nodes that have the labels of several pools, of which one was chosen: 1.
const POOL_ALERT: &str = "mcc_pool_alert";

/// What a scrape adds to the samples of the controller.
const CONTROLLER: &[(&str, &str)] = &[
    ("job", "machine-config-controller"),
    ("namespace", "openshift-machine-config-operator"),
    ("endpoint", "metrics"),
];
/// The same of daemons.
const DAEMON: &[(&str, &str)] = &[
    ("job", "machine-config-daemon"),
    ("namespace", "openshift-machine-config-operator"),
    ("endpoint", "metrics"),
];

/// Hands out the samples of a metric; false if they have no such metric.
pub(super) fn collect(metric: &str, moment: &Moment<'_>, taken: &mut Taken<'_>) -> bool {
    match metric {
        POOL_ALERT => {
            for node in contested(moment.view) {
                taken.offer_of(&[("exported_node", node)], CONTROLLER, 1.0);
            }
        }
        DRAIN_ERRORS => moment.counted.collect(metric, CONTROLLER, taken),
        KUBELET_STATE | PIVOT_ERRORS | REBOOT_ERRORS => moment.counted.collect(metric, DAEMON, taken),
        _ => return false,
    }
    true
}

/// Whether changes of objects of this kind may lead to other samples of a metric.
pub(super) fn concerns(metric: &str, kind: &Key) -> bool {
    metric == POOL_ALERT && (kind.is(&NODES) || kind.is(&MACHINE_CONFIG_POOLS))
}

/// Whether a change may lead to other samples of a metric; what is counted in memory is told by [`counters`].
pub(super) fn is_touched(metric: &str, change: &Change) -> bool {
    let differs = |pointer: &str| {
        let old = change.old.as_ref().filter(|_| change.kind == ChangeKind::Modified);
        old.is_none_or(|old| old.pointer(pointer) != change.object.pointer(pointer))
    };
    metric == POOL_ALERT
        && (change.key.is(&NODES) && differs("/metadata/labels")
            || change.key.is(&MACHINE_CONFIG_POOLS) && differs("/spec/nodeSelector"))
}

/// What of the counters is theirs.
pub(in crate::monitoring) fn counters(all: &[Counter]) -> impl Iterator<Item = &Counter> {
    all.iter().filter(|counter| is_counted(counter.metric))
}

/// Whether a metric of theirs is kept in memory.
pub(in crate::monitoring) fn is_counted(metric: &str) -> bool {
    COUNTED.contains(&metric)
}

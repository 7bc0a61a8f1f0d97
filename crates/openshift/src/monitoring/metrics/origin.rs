//! The origin of a metric: what must be known of a cluster to know all samples of the metric.

use windtunnel_core::Resource;
use windtunnel_core::resources::{CONFIG_MAPS, MACHINE_CONFIG_POOLS, NODES};

use super::operator::{self, Source};
use super::{machine_config, objects};

/// What the samples of a metric follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::monitoring) enum Origin {
    /// The objects of these kinds.
    Objects(&'static [Resource]),
    /// The objects of a kind in one namespace. If there are none, the samples are others.
    InNamespace(&'static Resource, &'static str),
    /// The number of objects of every kind.
    Storage,
    /// The memory of a program: counters, and whether it answers.
    Memory,
}

const OF_INSTALLER: Origin = Origin::InNamespace(&CONFIG_MAPS, "openshift-config");
const OF_POOLS: Origin = Origin::Objects(&[MACHINE_CONFIG_POOLS, NODES]);

/// Returns the origin of a metric; `None` if windtunnel does not compute it.
pub(in crate::monitoring) fn origin(metric: &str) -> Option<Origin> {
    if metric == operator::INSTALLER {
        return Some(OF_INSTALLER);
    }
    if let Some((name, _, source)) = operator::METRICS.iter().find(|(name, ..)| *name == metric) {
        return Some(match source {
            Source::Memory => Origin::Memory,
            Source::Kinds(_) if ["up", "cluster_operator_condition_transitions"].contains(name) => {
                Origin::Memory
            }
            Source::Kinds(kinds) | Source::Each(kinds, _) => Origin::Objects(kinds),
        });
    }
    if metric == machine_config::POOL_ALERT {
        return Some(OF_POOLS);
    }
    if machine_config::is_counted(metric) {
        return Some(Origin::Memory);
    }
    objects::origin(metric)
}

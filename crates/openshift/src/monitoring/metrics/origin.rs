//! The origin of a metric: what must be known of a cluster to know all samples of the metric.

use windtunnel_core::Resource;

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

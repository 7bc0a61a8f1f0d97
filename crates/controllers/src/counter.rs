//! Counters that components keep in memory until Prometheus scrapes them.

use std::collections::BTreeMap;

/// A counter of a component. It restarts at zero with each process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// The component.
    pub by: String,
    /// The metric.
    pub metric: &'static str,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The current value.
    pub count: u64,
}

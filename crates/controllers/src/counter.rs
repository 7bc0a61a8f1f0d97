//! Counters that components keep in their memory, for who scrapes them.

use std::collections::BTreeMap;

/// One counter of a component. It begins anew with each process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counter {
    /// The component.
    pub by: String,
    /// The metric.
    pub metric: &'static str,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What it has come to.
    pub count: u64,
}

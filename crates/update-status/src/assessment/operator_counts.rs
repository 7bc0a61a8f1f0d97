//! The payload's operators, counted by progress and health.

use serde_json::Value;
use windtunnel_core::clock::Time;

use super::cluster_operator::{MACHINE_CONFIG, Operator, OperatorHealth, OperatorProgress};
use super::percent::share;
use super::rules::Rules;

/// Returns the target version of the operators; empty if the ClusterVersion's status has none.
pub(crate) fn target_version(cluster_version: &Value) -> &str {
    cluster_version["status"]["desired"]["version"].as_str().unwrap_or_default()
}

/// The payload's operators by progress and health, in listed order.
#[derive(Debug, Default)]
pub(crate) struct OperatorCounts<'a> {
    pub(crate) all: Vec<&'a Operator>,
    /// The operators that are not updated.
    pub(crate) outdated: Vec<&'a Operator>,
    /// Outdated operators with `Progressing=True`.
    pub(crate) updating: Vec<&'a Operator>,
    /// The number of outdated operators with `Progressing=False`.
    pub(crate) waiting: usize,
    pub(crate) unavailable: usize,
    /// The number of available operators with `Degraded=True`.
    pub(crate) degraded: usize,
}

impl<'a> OperatorCounts<'a> {
    /// Counts the operators of the payload among `operators`. `target` is their target version, `mco_image` the
    /// image in the machine-config operator's Deployment; empty if unknown.
    pub(crate) fn new(
        operators: impl IntoIterator<Item = &'a Operator>,
        target: &str,
        mco_image: &str,
        rules: Rules,
    ) -> Self {
        let mut counts = Self::default();
        for operator in operators.into_iter().filter(|operator| operator.is_of_payload) {
            counts.add(operator, operator.progress(target, mco_image, rules));
        }
        counts
    }

    fn add(&mut self, operator: &'a Operator, progress: OperatorProgress) {
        self.all.push(operator);
        if progress != OperatorProgress::Updated {
            self.outdated.push(operator);
        }
        match progress {
            OperatorProgress::Updating => self.updating.push(operator),
            OperatorProgress::Waiting => self.waiting += 1,
            OperatorProgress::Updated | OperatorProgress::Unknown => {}
        }
        match operator.health() {
            OperatorHealth::Unavailable(_) => self.unavailable += 1,
            OperatorHealth::Degraded(_) => self.degraded += 1,
            OperatorHealth::Healthy => {}
        }
    }

    pub(crate) fn total(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of updated operators.
    pub(crate) fn updated(&self) -> usize {
        self.all.len() - self.outdated.len()
    }

    pub(crate) fn all_updated(&self) -> bool {
        self.outdated.is_empty()
    }

    /// Returns the fraction of updated operators, from 0 to 1; 1 if there are no operators.
    pub(crate) fn share(&self) -> f64 {
        share(self.updated(), self.total())
    }

    /// Returns the latest `Progressing` transition; that of the machine-config operator if only it is outdated
    /// and progressing.
    pub(crate) fn last_progress(&self) -> Option<Time> {
        let transition = |operator: &&Operator| operator.progressing.as_ref()?.since;
        match (&self.outdated[..], &self.updating[..]) {
            ([_], [last]) if last.name == MACHINE_CONFIG => transition(last),
            _ => self.all.iter().filter_map(transition).max(),
        }
    }
}

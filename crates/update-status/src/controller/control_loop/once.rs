//! A single run of the controller.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use windtunnel_core::resources::CUSTOM_RESOURCE_DEFINITIONS;

use super::{Controller, ControllerError, Parts};
use crate::controller::watch::{ALERTS, Watches};
use crate::insight::Insight;

/// Time limit for reading the cluster.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of failed rounds in a row.
const FAILURES: u32 = 3;

/// Resources that a cluster may lack: those of insights on nodes, those of producers, the UpdateStatus, and
/// alerts.
const OPTIONAL: [&str; 7] = [
    "machineconfigpools",
    "machineconfigs",
    "nodes",
    "updateinformers",
    "updateinsights",
    "updatestatuses",
    ALERTS,
];

/// The result of a single run.
#[derive(Debug)]
pub struct OnceResult {
    /// All insights by their data keys in the ConfigMap.
    pub insights: BTreeMap<String, Insight>,
    /// Errors of resources that could not be read, by plural, and of `alerts`. If a resource of nodes is
    /// among them, there are no insights on nodes.
    pub missing: BTreeMap<String, String>,
}

/// Assesses the cluster once. If `publishes` is set, publishes the insights like [`run`](super::run).
///
/// # Errors
/// The control plane cannot be read, or insights cannot be published.
pub async fn run_once(parts: Parts, publishes: bool) -> Result<OnceResult, ControllerError> {
    let reads_alerts = parts.alerts.is_some();
    let mut watches = Watches::new(&parts.client, parts.alerts, &parts.observer);
    let mut controller = Controller::new(parts.client, parts.clock, parts.observer);
    controller.publishes = publishes;
    let deadline = Instant::now() + TIMEOUT;
    while !controller.is_complete(reads_alerts) {
        if let Ok(processed) = timeout_at(deadline, controller.process_next(&mut watches)).await {
            processed?;
        }
        controller.fail_if_stuck(deadline)?;
    }
    Ok(OnceResult { insights: controller.state.insights_by_key(), missing: controller.missing })
}

impl Controller {
    /// Returns whether everything readable is assessed and, if requested, published.
    fn is_complete(&mut self, reads_alerts: bool) -> bool {
        let is_published =
            !self.publishes || self.state.patch().is_none() && !self.state.wants_update_status();
        let [control_plane, nodes, _] = self.state.informers();
        let has_nodes = nodes.has_begun() || OPTIONAL[..3].iter().any(|one| self.missing.contains_key(*one));
        let has_alerts = !reads_alerts || self.state.has_alerts() || self.missing.contains_key(ALERTS);
        let has_producers = self.state.producers.is_assessed()
            || [&*CUSTOM_RESOURCE_DEFINITIONS.plural, "updateinformers", "updateinsights"]
                .iter()
                .any(|one| self.missing.contains_key(*one));
        control_plane.has_begun()
            && has_nodes
            && has_alerts
            && has_producers
            && self.failures == 0
            && is_published
    }

    /// # Errors
    /// The run can never finish, or takes too long.
    fn fail_if_stuck(&self, deadline: Instant) -> Result<(), ControllerError> {
        let is_needed = |resource: &str| !OPTIONAL.contains(&resource);
        if !self.state.is_synced()
            && let Some((resource, why)) = self.missing.iter().find(|(resource, _)| is_needed(resource))
        {
            return Err(ControllerError::NotSeen { resource: resource.clone(), why: why.clone() });
        }
        if let Some((kind, why)) = self.rejections.first_key_value() {
            return Err(ControllerError::GivenUp(format!("{kind} cannot be written: {why}")));
        }
        if self.failures < FAILURES && Instant::now() < deadline {
            return Ok(());
        }
        let why = self.last_failure.clone();
        Err(ControllerError::GivenUp(why.unwrap_or_else(|| format!("no answer in {} s", TIMEOUT.as_secs()))))
    }
}

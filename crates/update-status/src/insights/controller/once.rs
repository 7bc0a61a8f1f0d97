//! The controller for one look at a cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Controller, ControllerError, Parts};
use crate::insight::Insight;
use crate::insights::watches::{ALERTS, Watches};

/// How long to wait for a cluster that does not show what it has.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many rounds may fail in a row.
const FAILURES: u32 = 3;

/// What insights on nodes are made from, the resource that publishing can do without, and alerts: a cluster may have none of
/// it.
const DISPENSABLE: [&str; 5] = ["machineconfigpools", "machineconfigs", "nodes", "updatestatuses", ALERTS];

/// What one look at a cluster comes to.
#[derive(Debug)]
pub struct Look {
    /// All insights by their data keys in the ConfigMap.
    pub insights: BTreeMap<String, Insight>,
    /// What could not be seen, with why: resources by their plurals, and `alerts`. Where that is anything about nodes, there
    /// are no insights on them.
    pub missing: BTreeMap<String, String>,
}

/// Looks at the cluster once, and publishes what it comes to if asked to, as [`run`](super::run) does.
///
/// # Errors
/// The control plane cannot be seen, or insights cannot be published.
pub async fn once(parts: Parts, publishes: bool) -> Result<Look, ControllerError> {
    let asks_for_alerts = parts.alerts.is_some();
    let mut watches = Watches::new(&parts.client, parts.alerts, &parts.observer);
    let mut controller = Controller::new(parts.client, parts.clock, parts.observer);
    controller.publishes = publishes;
    let deadline = Instant::now() + PATIENCE;
    while !controller.is_through(asks_for_alerts) {
        if let Ok(turn) = timeout_at(deadline, controller.turn(&mut watches)).await {
            turn?;
        }
        controller.check(deadline)?;
    }
    Ok(Look { insights: controller.state.insights_by_key(), missing: controller.missing })
}

impl Controller {
    /// Whether everything that can be seen is assessed, and published where that is wanted.
    fn is_through(&mut self, asks_for_alerts: bool) -> bool {
        let is_published =
            !self.publishes || self.state.patch().is_none() && !self.state.wants_update_status();
        let [control_plane, nodes] = self.state.informers();
        let has_nodes =
            nodes.has_begun() || DISPENSABLE[..3].iter().any(|one| self.missing.contains_key(*one));
        let has_alerts = !asks_for_alerts || self.state.has_alerts() || self.missing.contains_key(ALERTS);
        control_plane.has_begun() && has_nodes && has_alerts && self.failures == 0 && is_published
    }

    /// # Errors
    /// It will never be through, or takes too long.
    fn check(&self, deadline: Instant) -> Result<(), ControllerError> {
        let is_needed = |resource: &str| !DISPENSABLE.contains(&resource);
        if !self.state.is_synced()
            && let Some((resource, why)) = self.missing.iter().find(|(resource, _)| is_needed(resource))
        {
            return Err(ControllerError::NotSeen { resource: resource.clone(), why: why.clone() });
        }
        if let Some((kind, why)) = self.hindered.first_key_value() {
            return Err(ControllerError::GivenUp(format!("{kind} cannot be written: {why}")));
        }
        if self.failures < FAILURES && Instant::now() < deadline {
            return Ok(());
        }
        let why = self.last_failure.clone();
        Err(ControllerError::GivenUp(why.unwrap_or_else(|| format!("no answer in {} s", PATIENCE.as_secs()))))
    }
}

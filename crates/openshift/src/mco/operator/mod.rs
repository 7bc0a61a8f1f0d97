//! The machine-config operator. It follows its Deployment to another release and waits until the required
//! pools are updated.

mod cluster_operator_status;
mod pools;
mod skew;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::json;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::workqueue::WorkQueue;
use windtunnel_controllers::{Actor, Input, Interest, Step};
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CONTROLLER_CONFIGS, DEPLOYMENTS, INFRASTRUCTURES, MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS, MACHINE_OS_CONFIGS, NODE_SETTINGS, PROXIES, SECRETS,
};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Identity, Key, Object, View, Write, condition};

use self::cluster_operator_status::{DAEMONS_FAILED, Report};
use self::pools::{PoolSyncError, WantedRelease};
use super::annotations::RELEASE_VERSION;
use super::{CONTROLLER_CONFIG, NAMESPACE, boot_images, controller_config, daemon_set, install};
use crate::environment::Environment;
use crate::manifests::MajorMinor;
use crate::operators::health::FaultReport;
use crate::operators::identity;
use crate::release::{self, Release};

/// Seconds until a new process has the lease, and from then until daemons and controller are rolled out.
const LEASE_SECONDS: (u64, u64) = (5, 26);
/// The same on a single node, where lease retries are less frequent.
const LEASE_SECONDS_SINGLE: (u64, u64) = (5, 60);
const ROLLOUT_SECONDS: (u64, u64) = (40, 100);
/// How long it waits for the rollout of daemons (`daemonsetRolloutTimeout`).
const DAEMONS_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// The time limit for required pools, per machine in them.
const PER_MACHINE: SignedDuration = SignedDuration::from_mins(10);
/// The pause after a failure before it waits for the pools again.
const RETRY: SignedDuration = SignedDuration::from_secs(30);
/// Up to this minor it reports Progressing at once. Later ones report it only when they wait for pools.
const REPORTS_EARLY: MajorMinor = (4, 17);

/// The operator of ClusterOperator `machine-config`.
#[derive(Debug, Clone)]
pub struct MachineConfigOperator {
    name: String,
    facts: release::OperatorFacts,
    environment: Arc<Environment>,
    streams: Streams,
    queue: WorkQueue,
    /// The release in its Deployment, and since when.
    seen: Option<(String, Time)>,
    /// Since when it waits for pools.
    waits_since: Option<Time>,
    /// Since when it waits for the rollout of the daemons that it updated.
    daemons_since: Option<Time>,
    /// When it last failed, the reason and the error.
    gave_up: Option<(Time, &'static str, String)>,
    started: bool,
}

impl MachineConfigOperator {
    /// The operator of `component` with these facts.
    pub fn new(
        facts: &release::OperatorFacts,
        component: &str,
        environment: Arc<Environment>,
        streams: &Streams,
    ) -> Self {
        Self {
            name: format!("operator/{component}"),
            facts: facts.clone(),
            environment,
            streams: *streams,
            queue: WorkQueue::default(),
            seen: None,
            waits_since: None,
            daemons_since: None,
            gave_up: None,
            started: false,
        }
    }

    fn key(&self) -> Key {
        CLUSTER_OPERATORS.key("", &self.facts.cluster_operator)
    }

    fn sync(&mut self, view: &View, now: Time, step: &mut Step) {
        let deployment = view.get(&DEPLOYMENTS, &self.facts.namespace, &self.facts.deployment);
        let environment = Arc::clone(&self.environment);
        let Some(release) = deployment.and_then(|object| environment.release_of_deployment(object)) else {
            return;
        };
        let Some(object) = view.get_key(&self.key()) else {
            return self.send(Write::create(&CLUSTER_OPERATORS, cluster_operator(&self.facts)), step);
        };
        let health = FaultReport::from_annotations(object);
        if health.as_ref().is_some_and(FaultReport::is_silent) {
            if let Some(silenced) = FaultReport::silenced(object) {
                self.send(Write::update_status(&CLUSTER_OPERATORS, silenced), step);
            }
            return;
        }
        let stalls = health.as_ref().is_some_and(FaultReport::stalls);
        let Some(status) = self.continue_update(object, &release, stalls, view, now, step) else { return };
        let mut value = object.to_value();
        value["status"] = status;
        if let Some(health) = health {
            health.report(None, cluster_operator_status::is_own, &mut value, now);
            // Keep the transition times: the status above set these conditions to healthy only because it
            // ignores faults.
            condition::keep_transitions(&mut value["status"]["conditions"], &object["status"]["conditions"]);
            self.recheck_at(health.changes_at(now));
        }
        if object["status"] != value["status"] {
            self.send(Write::update_status(&CLUSTER_OPERATORS, value), step);
        }
    }

    /// Continues the update to the release in its Deployment. Returns the status to report.
    fn continue_update(
        &mut self,
        object: &Object,
        release: &Release,
        stalls: bool,
        view: &View,
        now: Time,
        step: &mut Step,
    ) -> Option<serde_json::Value> {
        let version = release.version.to_string();
        let line = release.line();
        let report =
            |report: &Report<'_>| Some(cluster_operator_status::status(object, report, release, view, now));
        let controller = view.get(&CONTROLLER_CONFIGS, "", CONTROLLER_CONFIG);
        let (commit, os_image) = (release.machine_config_commit(), release.os_image());
        let is_configured = controller.is_some_and(|config| {
            config.annotation(RELEASE_VERSION) == Some(&version)
                && config.text("/spec/osImageURL") == os_image
        });
        let is_rolled = match self.check_daemons(release, view, now) {
            Ok(is_rolled) => is_rolled,
            Err(failure) => return report(&Report::Failed(DAEMONS_FAILED, &failure)),
        };
        if !is_configured || !is_rolled || stalls {
            step.why = format!("the rollout of the controller of {version}").into();
            let (leads_at, configures_at) = self.rollout_times(&version, view, now);
            if leads_at <= now
                && !stalls
                && !is_rolled
                && let Some(write) = daemon_set::write(release, view)
            {
                self.send(write, step);
                self.daemons_since = Some(now);
            }
            if configures_at <= now && !stalls && is_rolled {
                for write in install::writes(release, view) {
                    self.send(write, step);
                }
            } else {
                self.recheck_at([leads_at, configures_at].into_iter().find(|at| *at > now));
            }
            // A rollout without an end is reported with the reason of the fault.
            let reports = stalls || line <= REPORTS_EARLY;
            return if leads_at <= now && reports { report(&Report::Working) } else { None };
        }
        if let Some(write) = controller_config::proxy_update(view) {
            self.send(write, step);
        }
        self.seen = None;
        let wanted = WantedRelease { version: &version, commit: &commit, os_image: &os_image, line };
        let error = match pools::check_pools(view, &wanted) {
            Ok(()) => {
                (self.waits_since, self.gave_up) = (None, None);
                let mut versions = release.versions_of(self.facts_of(release));
                versions.sort_by_key(|(name, _)| name != cluster_operator_status::OPERATOR);
                return report(&Report::Done(&versions));
            }
            Err(error) => error,
        };
        step.why = "the required pools".into();
        match self.failure(&error, line, view, now) {
            Some((reason, failure)) => report(&Report::Failed(reason, &failure)),
            None => report(&Report::Waiting(error.why())),
        }
    }

    /// Whether the operator need not wait for the daemons. It waits only for a rollout that it started, and only until
    /// its time limit. The error is reported for a moment; the next attempt does not wait.
    fn check_daemons(&mut self, release: &Release, view: &View, now: Time) -> Result<bool, String> {
        // If the previous release is requested again, the daemons may already have the new one.
        if self.environment.has_controllers || daemon_set::is_rolled(release, view) {
            self.daemons_since = None;
            return Ok(true);
        }
        let Some(since) = self.daemons_since else { return Ok(daemon_set::has_release(release, view)) };
        let (over, ends) = (after(since, DAEMONS_TIMEOUT), after(since, DAEMONS_TIMEOUT + RETRY));
        if now < over {
            self.recheck_at(Some(over));
            return Ok(false);
        }
        if now < ends {
            self.recheck_at(Some(ends));
            return Err(daemon_set::rollout_error(release.line(), view));
        }
        self.daemons_since = None;
        Ok(true)
    }

    /// The operator's facts in that release.
    fn facts_of<'a>(&'a self, release: &'a Release) -> &'a release::OperatorFacts {
        release.operator(&self.facts.cluster_operator).unwrap_or(&self.facts)
    }

    /// The times at which the process of this release gets the lease, and daemons and controller are rolled
    /// out.
    fn rollout_times(&mut self, version: &str, view: &View, now: Time) -> (Time, Time) {
        let seen = self.seen.get_or_insert_with(|| (version.to_owned(), now));
        if seen.0 != version {
            *seen = (version.to_owned(), now);
            (self.waits_since, self.daemons_since, self.gave_up) = (None, None, None);
        }
        let since = seen.1;
        let draw = |what: &str, (low, high): (u64, u64)| {
            let millis = self.streams.stream(&format!("machine-config-operator/{version}/{what}"));
            let millis = { millis }.between(low * 1000, high * 1000);
            SignedDuration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
        };
        let leads_at = after(since, draw("lease", lease_seconds(view)));
        (leads_at, after(leads_at, draw("rollout", ROLLOUT_SECONDS)))
    }

    /// The reason and the error to report if a time limit has passed or the operator failed a moment ago.
    fn failure(
        &mut self,
        error: &PoolSyncError,
        line: MajorMinor,
        view: &View,
        now: Time,
    ) -> Option<(&'static str, String)> {
        if let Some((at, reason, failure)) = self.gave_up.clone().filter(|(at, ..)| after(*at, RETRY) > now) {
            self.recheck_at(Some(after(at, RETRY)));
            return Some((reason, failure));
        }
        let since = *self.waits_since.get_or_insert(now);
        let over = after(since, PER_MACHINE * required_machines(view));
        let failure = match error {
            PoolSyncError::Fails(why) | PoolSyncError::HasNoBuilder(why) => why.clone(),
            PoolSyncError::Waits(why) if over <= now => {
                let error = pools::error(line);
                format!("{error}during syncRequiredMachineConfigPools: [context deadline exceeded, {why}]")
            }
            PoolSyncError::Waits(_) => {
                self.recheck_at(Some(over));
                return None;
            }
        };
        (self.waits_since, self.gave_up) = (None, Some((now, error.reason(), failure.clone())));
        self.recheck_at(Some(after(now, RETRY)));
        Some((error.reason(), failure))
    }

    fn recheck_at(&mut self, at: Option<Time>) {
        if let Some(at) = at {
            self.queue.add_by(self.key(), at);
        }
    }

    fn send(&mut self, write: Write, step: &mut Step) {
        let key = self.key();
        self.queue.send(&key, write, &mut step.writes);
    }
}

/// Seconds until a new process has the lease in a cluster of this topology.
fn lease_seconds(view: &View) -> (u64, u64) {
    let infrastructure = view.get(&INFRASTRUCTURES, "", "cluster");
    let topology = infrastructure.map_or("", |object| object.text("/status/controlPlaneTopology"));
    if topology == "SingleReplica" { LEASE_SECONDS_SINGLE } else { LEASE_SECONDS }
}

/// The number of machines in required pools, at least one.
fn required_machines(view: &View) -> i32 {
    let machines: i64 = view
        .list(&MACHINE_CONFIG_POOLS)
        .filter(|pool| pools::is_required(pool))
        .filter_map(|pool| pool.number("/status/machineCount"))
        .sum();
    i32::try_from(machines.max(1)).unwrap_or(i32::MAX)
}

fn cluster_operator(facts: &release::OperatorFacts) -> serde_json::Value {
    json!({
        "apiVersion": CLUSTER_OPERATORS.api_version(),
        "kind": CLUSTER_OPERATORS.kind,
        "metadata": { "name": facts.cluster_operator },
        "spec": {},
    })
}

impl Actor for MachineConfigOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Identity {
        identity(&self.facts)
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        Environment::replace(&mut self.environment, environment);
    }

    fn interests(&self) -> Vec<Interest> {
        vec![
            Interest::Object(DEPLOYMENTS.key(&self.facts.namespace, &self.facts.deployment)),
            Interest::Object(self.key()),
            Interest::Object(CLUSTER_OPERATORS.key("", "kube-apiserver")),
            Interest::Object(daemon_set::key()),
            Interest::Object(CONTROLLER_CONFIGS.key("", CONTROLLER_CONFIG)),
            Interest::Object(NODE_SETTINGS.key("", "cluster")),
            Interest::Object(PROXIES.key("", "cluster")),
            Interest::Object(boot_images::key()),
            Interest::Kind(MACHINE_CONFIG_POOLS),
            Interest::Kind(MACHINE_OS_CONFIGS),
            Interest::In(SECRETS, NAMESPACE.to_owned()),
            // A pool has reached a release only when its rendered MachineConfig has that release.
            Interest::Kind(MACHINE_CONFIGS),
        ]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        if !std::mem::replace(&mut self.started, true) || !input.changes.is_empty() {
            self.queue.add(self.key());
        }
        self.queue.process_answers(input.answers, input.now);
        let mut step = Step::default();
        if !self.queue.take_due(input.now).is_empty() {
            self.sync(input.view, input.now, &mut step);
        }
        step.wake_at = self.queue.next();
        step
    }
}

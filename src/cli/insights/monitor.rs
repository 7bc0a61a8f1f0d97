//! Monitoring of the controller: metrics, liveness, readiness and log lines.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::time::Instant;
use windtunnel_update_status::controller::{Note, Observer, Terms};

use crate::cli::print_notice;

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct InsightLabels {
    informer: String,
    r#type: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResourceLabels {
    resource: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabels {
    kind: String,
}

#[derive(Debug, Default)]
struct Metrics {
    leader: Gauge,
    insights: Family<InsightLabels, Gauge>,
    publishes: Family<KindLabels, Counter>,
    failures: Counter,
    restarts: Family<ResourceLabels, Counter>,
    watch_failures: Family<ResourceLabels, Counter>,
    lease_failures: Counter,
    alert_failures: Counter,
    rejected: Counter,
}

impl Metrics {
    fn registered(&self) -> Registry {
        let mut registry = Registry::with_prefix("update_status_controller");
        registry.register("leader", "Whether this process is the leader.", self.leader.clone());
        registry.register("insights", "Insights by informer and type.", self.insights.clone());
        registry.register("publishes", "Writes of insights.", self.publishes.clone());
        let failures = "Failed attempts to assess and publish.";
        registry.register("publish_failures", failures, self.failures.clone());
        let restarts = "Watches restarted with a new list of all objects.";
        registry.register("watch_restarts", restarts, self.restarts.clone());
        let failures = "Failed lists and watches.";
        registry.register("watch_failures", failures, self.watch_failures.clone());
        let failures = "Failed reads and writes of the Lease.";
        registry.register("lease_failures", failures, self.lease_failures.clone());
        let failures = "Failed requests to Prometheus.";
        registry.register("alert_failures", failures, self.alert_failures.clone());
        let rejected = "Insights of producers that were rejected.";
        registry.register("rejected_insights", rejected, self.rejected.clone());
        registry
    }
}

/// The current state of the controller.
#[derive(Debug, Default)]
struct State {
    leads: bool,
    /// The time of the last successful read of the Lease.
    lease_seen: Option<Instant>,
    /// Whether all insights have been published since this process became the leader.
    settled: bool,
    /// Current failures, by component.
    failures: BTreeMap<String, String>,
}

/// Collects the state of the controller.
#[derive(Debug)]
pub(super) struct Monitor {
    terms: Terms,
    metrics: Metrics,
    registry: Registry,
    state: Mutex<State>,
}

const PUBLISHING: &str = "publishing";
const LEASE: &str = "lease";
const ALERTS: &str = "alerts";

impl Monitor {
    pub(super) fn new(terms: Terms) -> Self {
        let metrics = Metrics::default();
        Self { terms, registry: metrics.registered(), metrics, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all metrics in the OpenMetrics text format.
    pub(super) fn metrics(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Checks liveness.
    ///
    /// # Errors
    /// The process must be restarted: it considers itself the leader, but its Lease must have expired.
    pub(super) fn healthy(&self) -> Result<(), String> {
        let state = self.state();
        let overdue = |seen: Instant| seen.elapsed() > self.terms.lease;
        if state.leads && state.lease_seen.is_some_and(overdue) {
            return Err("the Lease was not renewed in time".to_owned());
        }
        Ok(())
    }

    /// Checks readiness.
    ///
    /// # Errors
    /// The process is the leader and has not published yet, or it cannot read the Lease.
    pub(super) fn ready(&self) -> Result<(), String> {
        let state = self.state();
        if state.leads && state.settled || !state.leads && state.lease_seen.is_some() {
            return Ok(());
        }
        let status = if state.leads { "nothing is published yet" } else { "the Lease was not read yet" };
        let failures: Vec<String> =
            state.failures.iter().map(|(component, why)| format!("{component}: {why}")).collect();
        Err([vec![status.to_owned()], failures].concat().join("; "))
    }

    /// Notes a request to Prometheus, with its failure if there was one.
    pub(super) fn note_alert_request(&self, failure: Option<&String>) {
        match failure {
            Some(why) => {
                self.metrics.alert_failures.inc();
                self.log_failure(ALERTS, why);
            }
            None => self.log_recovery(ALERTS),
        }
    }

    /// Logs a failure, unless it is known.
    fn log_failure(&self, component: &str, why: &str) {
        let before = self.state().failures.insert(component.to_owned(), why.to_owned());
        if before.as_deref() != Some(why) {
            print_notice(&format!("{component}: {why}"));
        }
    }

    /// Logs the end of a failure, if there was one.
    fn log_recovery(&self, component: &str) {
        if self.state().failures.remove(component).is_some() {
            print_notice(&format!("{component}: recovered"));
        }
    }
}

impl Observer for Monitor {
    fn note(&self, note: Note<'_>) {
        let metrics = &self.metrics;
        let resource_labels = |resource: &str| ResourceLabels { resource: resource.to_owned() };
        match note {
            Note::WatchRecovered { resource } => self.log_recovery(resource),
            Note::WatchRestarted { resource } => {
                metrics.restarts.get_or_create(&resource_labels(resource)).inc();
            }
            Note::WatchFailed { resource, why } => {
                metrics.watch_failures.get_or_create(&resource_labels(resource)).inc();
                self.log_failure(resource, why);
            }
            Note::Known { informer, kind, count } => {
                let labels = InsightLabels { informer: informer.to_owned(), r#type: kind.to_owned() };
                metrics.insights.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
            }
            Note::NoConfigMap | Note::Changed { .. } => {}
            Note::Rejected { informer, insight, why } => {
                metrics.rejected.inc();
                print_notice(&format!("rejected insight {insight} of informer {informer:?}: {why}"));
            }
            Note::Silent { informer } => {
                print_notice(&format!("informer {informer} is silent: its insights expired"));
            }
            Note::Published { to } => {
                metrics.publishes.get_or_create(&KindLabels { kind: to.to_owned() }).inc();
            }
            Note::Settled => {
                self.state().settled = true;
                self.log_recovery(PUBLISHING);
            }
            Note::Failed { why } => {
                metrics.failures.inc();
                self.state().settled = false;
                self.log_failure(PUBLISHING, why);
            }
            Note::Leads(leads) => {
                metrics.leader.set(i64::from(leads));
                let mut state = self.state();
                (state.leads, state.settled) = (leads, false);
                print_notice(if leads { "now the leader" } else { "no longer the leader" });
            }
            Note::LeaseSeen => {
                self.state().lease_seen = Some(Instant::now());
                self.log_recovery(LEASE);
            }
            Note::LeaseFailed { why } => {
                metrics.lease_failures.inc();
                self.log_failure(LEASE, why);
            }
        }
    }
}

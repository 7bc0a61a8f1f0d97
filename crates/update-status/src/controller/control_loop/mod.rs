//! The controller: feeds events of watches into the state, and sends the state's patch to the API server.
//!
//! One task, one loop, one event at a time, so that under a paused clock the same events lead to the same
//! requests. It does not use `kube::runtime::Controller`, which reconciles in random order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::Client;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};
use windtunnel_core::clock::Clock;
use windtunnel_core::resources;
use windtunnel_core::yaml::YamlError;

use super::observer::{Note, Observer, error_message};
use super::publishing::publisher::Publisher;
use super::state::State;
use super::watch::{ALERTS, AlertStream, Failure, WatchEvent, Watches};

/// The pause after a first failure; it doubles with each further one in a row.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// The longest pause after a failure.
const RETRY_MAX: Duration = Duration::from_secs(60);

/// Time limit for one round. Without it, a request without a response would block the controller forever.
const ROUND_MAX: Duration = Duration::from_secs(30);

/// How often the server's version is read while an insight depends on it. Replacing a kube-apiserver causes
/// no event, and neither does a status that no client can write.
const VERSION_PERIOD: Duration = Duration::from_secs(60);

/// Why the controller ended. In continuous operation, no response of an API server ends it.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The streams of the watches ended, which those of kube-rs never do.
    #[error("watches ended")]
    WatchesEnded,
    /// Another process is the leader, or the Lease could not be renewed in time.
    #[error("the Lease is lost")]
    LeaseLost,
    /// A single run could not read a required resource.
    #[error("{resource}: {why}")]
    NotSeen {
        /// The plural of the resource.
        resource: String,
        /// Why it cannot be read.
        why: String,
    },
    /// A single run did not finish.
    #[error("{0}")]
    GivenUp(String),
}

/// The error of one round; the next round retries.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error("{}", error_message(.0))]
    Request(#[from] kube::Error),
    #[error("unexpected answer to GET /version: {0}")]
    Version(Value),
    #[error(transparent)]
    Yaml(#[from] YamlError),
}

/// The dependencies of the controller.
pub struct Parts {
    /// Connects to the cluster. Its user is the controller's identity.
    pub client: Client,
    /// The source of all times. Pauses use the tokio runtime instead.
    pub clock: Arc<dyn Clock>,
    /// The source of alerts, which are not in the API; without it there are no insights on alerts.
    pub alerts: Option<AlertStream>,
    /// Is notified of the controller's actions.
    pub observer: Arc<dyn Observer>,
}

/// Runs the update status controller until its future is dropped.
///
/// # Errors
/// [`ControllerError`]. Failed requests are retried forever and are no error.
pub async fn run(parts: Parts) -> Result<(), ControllerError> {
    let mut watches = Watches::new(&parts.client, parts.alerts, &parts.observer);
    let mut controller = Controller::new(parts.client, parts.clock, parts.observer);
    loop {
        controller.process_next(&mut watches).await?;
    }
}

/// Executes what the state requires.
struct Controller {
    client: Client,
    publisher: Publisher,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    state: State,
    /// Whether insights are written to the cluster.
    publishes: bool,
    /// Errors of watches that need a change of the cluster to recover, by resource, and of alerts.
    missing: BTreeMap<String, String>,
    /// Messages of the API server that rejected a write, by kind.
    rejections: BTreeMap<String, String>,
    /// The error of the last failed round.
    last_failure: Option<String>,
    /// The insight counts last reported to the observer.
    counted: BTreeMap<(&'static str, &'static str), usize>,
    /// Failed rounds in a row.
    failures: u32,
    /// The end of the pause after a failure.
    due: Option<Instant>,
    /// When to read the server's version again.
    version_due: Option<Instant>,
    /// The UpdateStatus is not written before this time.
    paced_until: Option<Instant>,
    /// The ConfigMap is not written before this time.
    config_map_due: Option<Instant>,
}

impl Controller {
    fn new(client: Client, clock: Arc<dyn Clock>, observer: Arc<dyn Observer>) -> Self {
        Self {
            publisher: Publisher::new(client.clone()),
            client,
            clock,
            observer,
            state: State::default(),
            publishes: true,
            missing: BTreeMap::new(),
            rejections: BTreeMap::new(),
            last_failure: None,
            counted: BTreeMap::new(),
            failures: 0,
            due: None,
            version_due: None,
            paced_until: None,
            config_map_due: None,
        }
    }

    /// Waits for an event or a due time, and runs a round.
    async fn process_next(&mut self, watches: &mut Watches) -> Result<(), ControllerError> {
        let received = match self.next() {
            Some(due) => timeout_at(due, watches.next()).await.ok(),
            None => Some(watches.next().await),
        };
        match received {
            Some(event) => {
                self.apply_event(event.ok_or(ControllerError::WatchesEnded)?);
                // Simultaneous events are published in one write.
                while let Some(event) = watches.next().now_or_never() {
                    self.apply_event(event.ok_or(ControllerError::WatchesEnded)?);
                }
            }
            None => self.wake(),
        }
        watches.watch_update_status(self.state.status_object.is_served());
        watches.watch_producers(self.state.producers.is_served());
        self.round_unless_paused().await;
        Ok(())
    }

    fn apply_event(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::ClusterVersion(event) => self.state.cluster_version(event),
            WatchEvent::Crd(event) => self.state.crd(event),
            WatchEvent::Operator(event) => self.state.operator(*event),
            WatchEvent::OperatorImage(event) => self.state.operator_image(event),
            WatchEvent::VersionPod(event) => self.state.version_pod(event),
            WatchEvent::Alerts(Ok(alerts)) => {
                self.missing.remove(ALERTS);
                self.state.alerts(alerts);
            }
            WatchEvent::Alerts(Err(why)) => drop(self.missing.insert(ALERTS.to_owned(), why)),
            WatchEvent::MachineConfig(event) => self.state.machine_config(event),
            WatchEvent::Pool(event) => self.state.pool(event),
            WatchEvent::Node(event) => self.state.node(event),
            WatchEvent::ConfigMap(event) => self.state.config_map(event),
            WatchEvent::UpdateStatusCrd(event) => self.state.status_object.apply_crd_event(event),
            WatchEvent::UpdateStatus(event) => self.state.status_object.apply_object_event(event),
            WatchEvent::UpdateInformerCrd(event) => self.state.producers.apply_crd_event(event),
            WatchEvent::UpdateInformer(event) => self.state.producers.apply_registration(*event),
            WatchEvent::UpdateInsight(event) => self.state.producers.apply_delivery(*event),
            WatchEvent::Failure(failure) => self.failed(failure),
            WatchEvent::Recovery(resource) => drop(self.missing.remove(&resource)),
        }
    }

    fn failed(&mut self, failure: Failure) {
        if failure.resource == resources::UPDATE_STATUSES.plural {
            self.state.status_object.failed();
        }
        if failure.is_lasting {
            self.missing.insert(failure.resource, failure.why);
        }
    }

    /// Returns when to wake up without an event: to retry, to read the version again, or to reassess because
    /// of the passage of time.
    fn next(&self) -> Option<Instant> {
        if self.failures > 0 {
            return self.due;
        }
        let assess = self.state.due().and_then(|at| Instant::now().checked_add(self.clock.until(at)));
        let paced = self.paced_until.filter(|_| self.state.wants_update_status());
        [self.version_due, assess, paced, self.config_map_due].into_iter().flatten().min()
    }

    fn wake(&mut self) {
        self.due = None;
        if self.version_due.is_some_and(|due| due <= Instant::now()) {
            self.version_due = None;
            self.state.mark_version_stale();
        }
    }

    /// Runs a round, and schedules the next one after a failure. During the pause after a failure, events
    /// only update the state.
    async fn round_unless_paused(&mut self) {
        if self.failures > 0 && self.due.is_some() {
            return;
        }
        let round = timeout(ROUND_MAX, self.round()).await;
        let why = match round {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer in {} s", ROUND_MAX.as_secs())),
        };
        self.report_round(why.as_deref());
        if why.is_some() {
            let doubled = RETRY_FIRST.saturating_mul(1 << self.failures.min(16));
            self.last_failure = why;
            self.failures += 1;
            self.due = Some(Instant::now() + doubled.min(RETRY_MAX));
            return;
        }
        self.failures = 0;
        self.due = None;
        let matters = self.state.version_matters();
        // Keeps a time already set, however many events come.
        let due = self.version_due.unwrap_or_else(|| Instant::now() + VERSION_PERIOD);
        self.version_due = matters.then_some(due);
    }

    /// Reports the result of a round to the observer.
    fn report_round(&mut self, failure: Option<&str>) {
        for informer in self.state.informers() {
            for (kind, count) in informer.counts() {
                let before = self.counted.insert((informer.name, kind), *count);
                if before != Some(*count) {
                    self.observer.note(Note::Known { informer: informer.name, kind, count: *count });
                }
            }
        }
        match failure {
            Some(why) => self.observer.note(Note::Failed { why }),
            None if self.rejections.is_empty() && self.state.informers()[0].has_begun() => {
                self.observer.note(Note::Settled);
            }
            None => {}
        }
    }

    async fn round(&mut self) -> Result<(), RoundError> {
        if self.state.wants_config_map() {
            self.state.config_map_read(self.publisher.config_map().await?);
        }
        self.read_update_status().await?;
        if self.state.wants_version() {
            let minor = self.kubernetes_minor().await?;
            self.state.kubernetes_minor(minor);
            self.version_due = None;
        }
        self.state.assess(self.clock.now())?;
        self.log_producers();
        if !self.publishes {
            return Ok(());
        }
        // A rejected write of one object does not prevent that of the other.
        let config_map = self.publish_config_map().await;
        self.publish_update_status().await?;
        config_map?;
        self.report_to_producers().await
    }

    /// Reads the minor version of the server's Kubernetes with `GET /version`.
    async fn kubernetes_minor(&self) -> Result<u32, RoundError> {
        let request = http::Request::get("/version").body(Vec::new()).map_err(kube::Error::HttpError)?;
        let version: Value = self.client.request(request).await?;
        let minor = version["minor"].as_str().and_then(leading_number);
        minor.ok_or(RoundError::Version(version))
    }
}

/// Returns the number at the start of a text such as `27+`.
fn leading_number(text: &str) -> Option<u32> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text.get(..digits)?.parse().ok()
}

mod lead;
mod once;
mod publish;
#[cfg(test)]
mod tests;

pub use lead::run_leading;
pub use once::{OnceResult, run_once};

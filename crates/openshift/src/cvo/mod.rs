//! The cluster-version operator: leader election, the ClusterVersion worker, the apply loop.
//!
//! One value of [`ClusterVersionOperator`] is one process. A new process knows only the objects in the API,
//! and its first work is the release of its own image. This is how the operator continues an update after the
//! update has replaced it.
//!
//! * `behaviour.rs`: everything that depends on the operator's release
//! * `worker/`: the requested release: from the spec to an accepted payload; `worker/preflight.rs` has preflight checks
//! * `retrieve/`: the version pod, signatures, preconditions
//! * `payload/` and `sync/`: the tasks of a payload, and the passes that apply them; `sync/inject/` injects cluster
//!   settings
//! * `updates/`: available and conditional updates, risks; `upgradeable/` has the condition Upgradeable
//! * `status/`: the ClusterVersion status
//! * `agentic/`: AgenticRuns and their readiness checks
//! * `lease/`: leader election

mod access;
mod agentic;
mod behaviour;
mod capabilities;
mod desired;
mod events;
mod installed_payload;
mod lease;
mod outbox;
mod payload;
mod queue;
mod retrieve;
mod serving;
mod status;
mod sync;
mod updates;
mod upgradeable;
mod validation;
mod worker;

use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::{Actor, Effect, Input, Interest, Signal, Step};
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, FEATURE_GATES, JOBS, LEASES, PODS,
};
use windtunnel_core::rng::Streams;
use windtunnel_core::{Answer, Change, Identity, Object, View, condition};

use self::behaviour::{Behaviour, UpgradeableStyle};
use self::lease::{Candidate, Election, NAMESPACE};
use self::outbox::{Outbox, Purpose};
use self::retrieve::OperatorContext;
pub use self::retrieve::load::installed_release;
use self::retrieve::verify::{Trust, Verifier};
use self::serving::Serving;
use self::sync::apply::PassPace;
pub use self::sync::inject::Surroundings;
use self::worker::Worker;
use crate::cvo::status::metrics::OperatorCounters;
use crate::environment::Environment;
use crate::release::{CLUSTER_VERSION_OPERATOR, Release};
pub use installed_payload::{InstalledPayload, installed_cluster_operator};
pub use payload::update_status_controller_objects;

/// The name of the component, its container, and its field manager.
pub const NAME: &str = CLUSTER_VERSION_OPERATOR;

/// The minimum of the reconcile interval. Each process draws its own interval, up to twice as long.
const RECONCILE_INTERVAL_MIN: SignedDuration = SignedDuration::from_mins(2);

/// The minimum time in which a process reads its payload and fills its caches before it tries to acquire the
/// Lease. It takes up to twice as long.
const STARTUP_MIN: SignedDuration = SignedDuration::from_secs(1);

/// One process of the cluster-version operator.
#[derive(Debug, Clone)]
pub struct ClusterVersionOperator {
    candidate: Option<Candidate>,
    /// When startup is complete and the process becomes a candidate.
    ready_at: Time,
    site: OperatorContext,
    worker: Worker,
    election: Option<Election>,
    out: Outbox,
    counts: OperatorCounters,
    serving: Serving,
    ending: bool,
}

impl ClusterVersionOperator {
    /// The process in `pod`. Its release is that of the container's image. `None` if the image is no known
    /// release.
    pub fn start(pod: &Object, environment: &Arc<Environment>, streams: &Streams, now: Time) -> Option<Self> {
        let image = pod.list("/spec/containers").first()?["image"].as_str()?;
        let release = Release { image: image.to_owned(), ..environment.release_of(image)? };
        let mut draws = streams.stream(&format!("cluster-version-operator/{}", pod.name()));
        let interval = RECONCILE_INTERVAL_MIN.mul_f64(1.0 + draws.fraction());
        let site = OperatorContext {
            node: pod.text("/spec/nodeName").to_owned(),
            behaviour: Behaviour::for_release(&release),
            environment: Arc::clone(environment),
            names: streams.stream(&format!("version-pod/{}", pod.name())),
            stored_image: String::new(),
            trust: Trust::default(),
            verifier: Verifier::new(interval, now),
        };
        let candidate = Some(candidate(pod, site.behaviour, *streams, now));
        let mut startup = streams.stream(&format!("cluster-version-operator-startup/{}/{now}", pod.name()));
        let ready_at = now + STARTUP_MIN.mul_f64(1.0 + startup.fraction());
        let pace = PassPace { interval, jitter: draws, orders: *streams };
        let worker = Worker::new(release, pace, now);
        let (out, counts) = (Outbox::default(), OperatorCounters::default());
        let serving = Serving::starting(streams.stream(&format!("serving-certificate/{}", pod.name())), now);
        Some(Self { candidate, ready_at, site, worker, election: None, out, counts, serving, ending: false })
    }

    fn answered(&mut self, answer: &Answer, view: &View, now: Time) {
        let rejection = answer.outcome.as_ref().err();
        match self.out.answered() {
            Some(Purpose::Lease) => {
                let last = !self.out.awaits(Purpose::Lease);
                if let Some(rejection) = rejection {
                    let message = format!("Failed to update lock: {}", rejection.message);
                    self.out.error(now, "leaderelection.go:436", message);
                }
                let Some(election) = self.election.as_mut().filter(|_| !self.ending) else { return };
                if election.answered(rejection.is_none(), last, now) {
                    self.out.info(
                        now,
                        "leaderelection.go:271",
                        "successfully acquired lease openshift-cluster-version/version",
                    );
                    events::publish_leader_election(
                        election.holder(),
                        self.site.behaviour,
                        view,
                        now,
                        &mut self.out,
                    );
                    self.worker.queue.trigger(now);
                }
            }
            Some(Purpose::Status) => {
                self.worker.status_answered(&self.site, answer, view, now, &mut self.out);
            }
            Some(Purpose::Prune) => self.worker.pruned(&self.site, answer),
            Some(Purpose::Retrieve) => self.worker.retrieval_created(answer, now),
            Some(Purpose::Apply) => {
                if let Some(apply) = &mut self.worker.apply {
                    apply.answered(answer, now, &mut self.out);
                }
            }
            Some(Purpose::FailingStatus) => self.worker.failing_status_answered(answer, now, &mut self.out),
            Some(Purpose::Signatures) if rejection.is_some() => self.site.verifier.not_persisted(),
            Some(Purpose::Event | Purpose::Signatures | Purpose::AgenticRun) | None => {}
        }
    }

    fn changed(&mut self, change: &Change, now: Time) {
        self.serving.notice(change, now);
        if change.key.is_kind(&CLUSTER_VERSIONS) || change.key.is_kind(&FEATURE_GATES) {
            self.worker.queue.trigger(now);
        } else if change.key.is_kind(&CONFIG_MAPS) {
            self.worker.upgradeable.outdated();
            self.risks_changed(now);
        } else if change.key.is_kind(&CLUSTER_OPERATORS) {
            if upgradeable::has_changed(change) {
                self.risks_changed(now);
            }
            if wakes_apply(change)
                && let Some(apply) = &mut self.worker.apply
            {
                apply.notify(now);
            }
        }
    }

    /// Reacts to changed risks at once in releases that weigh risks. Older releases poll their checks.
    fn risks_changed(&mut self, now: Time) {
        if self.site.behaviour.upgradeable == UpgradeableStyle::Risks {
            self.worker.queue.trigger(now);
        }
    }

    fn end(&mut self, view: &View, now: Time) {
        self.ending = true;
        if let Some(election) = &mut self.election {
            let why = if election.is_lost(now) {
                "Stopped leading; shutting down."
            } else {
                "Shutting down due to terminated"
            };
            self.out.info(now, "start.go:342", why);
            if election.leads() {
                self.worker.shut_down(&self.site, view, now, &mut self.out);
            }
            election.release(view, now, &mut self.out);
        }
    }

    /// Loads the keyrings and signature stores in the payload of this process.
    fn load_trust(&mut self, view: &View, now: Time) {
        let feature_gate = view.get(&FEATURE_GATES, "", "cluster").map(|gate| &**gate);
        self.site.trust = Trust::of(self.worker.own_release(), feature_gate);
        if !self.site.can_verify() {
            let warning = "WARNING: No release authenticity verification is configured, all releases are considered unverified";
            self.out.warning(now, "cvo.go:428", warning);
        }
    }

    fn run(&mut self, view: &View, alerts: &[ActiveAlert], now: Time) -> Step {
        if let Some(candidate) = self.candidate.take() {
            self.election = Some(Election::new(candidate, view, self.ready_at));
            let version = format!("ClusterVersionOperator {}", self.worker.version());
            self.out.info(now, "start.go:23", version);
            self.load_trust(view, now);
            let attempt = "attempting to acquire leader lease openshift-cluster-version/version...";
            self.out.info(now, "leaderelection.go:257", attempt);
            self.site.find_stored_payload(view);
        }
        if self.election.as_ref().is_some_and(|election| election.is_lost(now)) {
            self.end(view, now);
        }
        if self.ending {
            let writes = self.out.take();
            let exit = writes.is_empty().then(|| {
                self.out.info(now, "start.go:470", "Finished collecting operator goroutines.");
                Effect::Exit
            });
            // The exit comes last, because it ends the process that prints.
            let effects = self.out.take_lines().chain(exit).collect();
            return Step { writes, effects, why: "shutting down".into(), ..Step::default() };
        }
        let leads = self.election.as_mut().is_some_and(|election| {
            election.run(view, now, &mut self.out);
            election.leads()
        });
        if leads {
            self.worker.run(&mut self.site, view, alerts, now, &mut self.out);
            if let Some(write) = self.site.verifier.persist(view, now) {
                self.out.push(Purpose::Signatures, write);
            }
        }
        let counted = self.worker.apply.as_mut().map(|apply| self.counts.take(apply));
        let served = self.serving.reload_if_due(view, now);
        let counts = counted.into_iter().flatten().chain(served).map(Effect::Count);
        let effects = counts.chain(self.out.take_lines()).collect();
        let worker = leads.then(|| self.worker.wake_at());
        let signatures = self.site.verifier.wake_at().filter(|_| leads);
        let election = self.election.as_ref().and_then(Election::wake_at);
        Step {
            writes: self.out.take(),
            wake_at: [worker, signatures, election, self.serving.wake_at()].into_iter().flatten().min(),
            why: if leads { self.worker.why().into() } else { "waiting for the leader lease".into() },
            effects,
        }
    }
}

impl Actor for ClusterVersionOperator {
    fn name(&self) -> &'static str {
        NAME
    }

    fn identity(&self) -> Identity {
        Identity::service_account(NAMESPACE, "default")
    }

    fn set_environment(&mut self, environment: &Arc<dyn NodeEnvironment>) {
        Environment::replace(&mut self.site.environment, environment);
    }

    fn interests(&self) -> Vec<Interest> {
        vec![
            Interest::Object(CLUSTER_VERSIONS.key("", "version")),
            Interest::Kind(CLUSTER_OPERATORS),
            Interest::Object(FEATURE_GATES.key("", "cluster")),
            Interest::Object(CONFIG_MAPS.key("openshift-config-managed", "admin-gates")),
            Interest::Object(CONFIG_MAPS.key("openshift-config", "admin-acks")),
            Interest::Object(LEASES.key(NAMESPACE, "version")),
            Interest::In(PODS, NAMESPACE.to_owned()),
            Interest::In(JOBS, NAMESPACE.to_owned()),
            Interest::Object(Serving::secret()),
        ]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        for answer in input.answers {
            self.answered(answer, input.view, input.now);
        }
        for change in input.changes {
            self.changed(change, input.now);
        }
        let ends = input.signals.contains(&Signal::Terminate) || input.changes.iter().any(ends_process);
        if ends && !self.ending {
            self.end(input.view, input.now);
        }
        self.run(input.view, input.alerts, input.now)
    }
}

/// The process as a candidate. Its identity consists of the host name, which is the node's name for a pod on
/// the host network, and a UUID, so that a restarted container is another candidate.
fn candidate(pod: &Object, behaviour: Behaviour, streams: Streams, now: Time) -> Candidate {
    let mut pauses = streams.stream(&format!("leader-election/{}/{now}", pod.name()));
    let host = if pod["spec"]["hostNetwork"] == true { pod.text("/spec/nodeName") } else { pod.name() };
    let holder = format!("{host}_{}", pauses.uuid());
    Candidate { holder, locks: behaviour.locks, pauses }
}

/// Returns whether a ClusterOperator changed in a field that the apply loop waits for: its `operator`
/// version, or the status of Available or Degraded.
fn wakes_apply(change: &Change) -> bool {
    let Some(old) = &change.old else { return true };
    let version = |object: &Object| {
        object.list("/status/versions").iter().find(|v| v["name"] == "operator").map(|v| v["version"].clone())
    };
    let status = |object: &Object, kind: &str| {
        condition::find_in_status(object, kind).map(|condition| condition["status"].clone())
    };
    version(old) != version(&change.object)
        || ["Available", "Degraded"].iter().any(|kind| status(old, kind) != status(&change.object, kind))
}

/// Returns whether the feature set changed. The process reads it only when it starts, so it exits to be
/// restarted.
fn ends_process(change: &Change) -> bool {
    let feature_set = |object: &Object| object.text("/spec/featureSet").to_owned();
    change.key.is_kind(&FEATURE_GATES)
        && change.old.as_ref().is_some_and(|old| feature_set(old) != feature_set(&change.object))
}

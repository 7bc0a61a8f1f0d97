//! Leader election between several processes: the leader holds a Lease, by the rules of client-go.
//!
//! The clocks of the processes need not agree: a candidate measures the age of the Lease from its last
//! observed change, with its own timers.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::time::{Instant, sleep, timeout};
use windtunnel_core::clock::Clock;

use super::observer::{Note, Observer, error_message};

/// The Lease of update status controllers, the same as that of the upstream controller.
pub const LEASE: &str = "update-status-controller-lock";

/// Time limit for the request that releases the Lease, since it delays the exit of the process.
const RELEASE_MAX: Duration = Duration::from_secs(5);

/// The durations of a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long candidates wait after the last renewal before they take the Lease (`leaseDurationSeconds`).
    pub lease: Duration,
    /// How long the holder tries to renew the Lease before it gives up; less than `lease`.
    pub renew: Duration,
    /// The pause between two attempts; less than `renew`.
    pub retry: Duration,
}

impl Default for Terms {
    /// The durations of OpenShift's controllers (`LeaderElectionDefaulting` of library-go), which tolerate an
    /// API server outage of a minute.
    fn default() -> Self {
        let [lease, renew, retry] = [137, 107, 26].map(Duration::from_secs);
        Self { lease, renew, retry }
    }
}

/// The Lease as last observed, and when it changed.
#[derive(Debug)]
struct Seen {
    spec: LeaseSpec,
    at: Instant,
}

/// The result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    /// This process holds the Lease.
    Ours,
    /// Another process holds the Lease.
    Theirs,
    /// Another process wrote the Lease at the same time.
    Conflict,
}

/// A candidate for leadership.
pub struct Election {
    leases: Api<Lease>,
    identity: String,
    terms: Terms,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    seen: Option<Seen>,
    leads: bool,
}

impl Election {
    /// Creates a candidate for the Lease in `namespace`. `identity` must be unique among all candidates.
    pub fn new(
        client: Client,
        namespace: &str,
        identity: String,
        terms: Terms,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let leases = Api::namespaced(client, namespace);
        Self { leases, identity, terms, clock, observer, seen: None, leads: false }
    }

    /// Waits until this process is the leader.
    pub async fn wait_until_leading(&mut self) {
        while !self.try_once().await {
            sleep(self.terms.retry).await;
        }
    }

    /// Renews the Lease until that fails. Returns when this process is no longer the leader.
    pub async fn renew_until_lost(&mut self) {
        let mut renewed = Instant::now();
        while self.leads && renewed.elapsed() < self.terms.renew {
            sleep(self.terms.retry).await;
            let left = self.terms.renew.saturating_sub(renewed.elapsed());
            if timeout(left, self.try_once()).await.unwrap_or_default() {
                renewed = Instant::now();
            }
        }
        self.set_leads(false);
    }

    /// Releases the Lease if it is held, so that the next leader need not wait.
    pub async fn release(&mut self) {
        if !std::mem::take(&mut self.leads) {
            return;
        }
        let release = async {
            let lease = self.leases.get(LEASE).await?;
            if holder(lease.spec.as_ref()) != self.identity {
                return Ok(());
            }
            let spec = self.spec(lease.spec.as_ref(), "", Duration::from_secs(1));
            let lease = Lease { spec: Some(spec), ..lease };
            self.leases.replace(LEASE, &PostParams::default(), &lease).await.map(drop)
        };
        // If this fails, the Lease expires.
        if let Ok(Err(error)) = timeout(RELEASE_MAX, release).await {
            self.failed(&error);
        }
        self.observer.note(Note::Leads(false));
    }

    /// Takes or renews the Lease if it is free or held by this process. Returns whether it is held then.
    pub async fn try_once(&mut self) -> bool {
        match timeout(self.terms.renew, self.attempt()).await {
            Ok(Ok(attempt)) => {
                if attempt != Attempt::Conflict {
                    self.set_leads(attempt == Attempt::Ours);
                }
                self.observer.note(Note::LeaseSeen);
                attempt == Attempt::Ours
            }
            Ok(Err(error)) => {
                self.failed(&error);
                false
            }
            Err(_) => {
                self.observer.note(Note::LeaseFailed { why: "no answer" });
                false
            }
        }
    }

    fn failed(&self, error: &kube::Error) {
        self.observer.note(Note::LeaseFailed { why: &error_message(error) });
    }

    fn set_leads(&mut self, leads: bool) {
        if std::mem::replace(&mut self.leads, leads) != leads {
            self.observer.note(Note::Leads(leads));
        }
    }

    /// client-go's `tryAcquireOrRenew`.
    async fn attempt(&mut self) -> Result<Attempt, kube::Error> {
        let Some(lease) = self.leases.get_opt(LEASE).await? else {
            let spec = self.spec(None, &self.identity, self.terms.lease);
            let mut lease = Lease { spec: Some(spec), ..Lease::default() };
            lease.metadata.name = Some(LEASE.to_owned());
            let created = self.leases.create(&PostParams::default(), &lease).await;
            return self.process_answer(created);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let is_new = self.seen.as_ref().is_none_or(|seen| seen.spec != spec);
        if is_new {
            self.seen = Some(Seen { spec, at: Instant::now() });
        }
        let is_ours = holder(lease.spec.as_ref()) == self.identity;
        if !is_ours && self.is_held_by_other() {
            return Ok(Attempt::Theirs);
        }
        let spec = self.spec(lease.spec.as_ref(), &self.identity, self.terms.lease);
        // Includes the resource version: of two simultaneous attempts, the API server rejects one.
        let lease = Lease { spec: Some(spec), ..lease };
        let replaced = self.leases.replace(LEASE, &PostParams::default(), &lease).await;
        self.process_answer(replaced)
    }

    /// Returns whether another holder may still be alive, judging by the observed Lease.
    fn is_held_by_other(&self) -> bool {
        let Some(Seen { spec, at }) = &self.seen else { return false };
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        !holder(Some(spec)).is_empty() && at.elapsed() < Duration::from_secs(seconds.unwrap_or_default())
    }

    /// A conflict with a faster process is no error.
    fn process_answer(&mut self, answer: kube::Result<Lease>) -> Result<Attempt, kube::Error> {
        match answer {
            Ok(lease) => {
                self.seen = lease.spec.map(|spec| Seen { spec, at: Instant::now() });
                Ok(Attempt::Ours)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Attempt::Conflict),
            Err(error) => Err(error),
        }
    }

    /// Returns the Lease's spec for `holder`; `before` is its previous spec.
    fn spec(&self, before: Option<&LeaseSpec>, holder: &str, duration: Duration) -> LeaseSpec {
        let now = MicroTime(self.clock.now());
        let before = before.cloned().unwrap_or_default();
        let is_renewed = before.holder_identity.as_deref() == Some(holder);
        let is_transition = !is_renewed && !holder.is_empty() && before.acquire_time.is_some();
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: i32::try_from(duration.as_secs()).ok(),
            acquire_time: before.acquire_time.filter(|_| is_renewed).or(Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(
                before.lease_transitions.unwrap_or_default().saturating_add(i32::from(is_transition)),
            ),
            preferred_holder: before.preferred_holder,
            strategy: before.strategy,
        }
    }
}

fn holder(spec: Option<&LeaseSpec>) -> &str {
    spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

//! The drain of one node: its attempts, and the Events about failed ones.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use windtunnel_controllers::recorder::Notice;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::PODS;
use windtunnel_core::{Key, Object, Write};

use crate::manifests::MajorMinor;

/// The pause before an eviction that a disruption budget rejected is retried (`k8s.io/kubectl/pkg/drain`).
const EVICTION_RETRY: SignedDuration = SignedDuration::from_secs(5);
/// The time limit of one attempt.
const ATTEMPT: SignedDuration = SignedDuration::from_secs(90);
/// The pause after a failed attempt.
const PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// The pause after attempts have failed for [`THRESHOLD`].
const LONG_PAUSE: SignedDuration = SignedDuration::from_mins(5);
/// After this time failures are published as Events.
const THRESHOLD: SignedDuration = SignedDuration::from_mins(10);
/// After this time a drain counts as failed, but continues.
pub(super) const TIMEOUT: SignedDuration = SignedDuration::from_hours(1);

/// From this minor on Events report drains that take long.
const PUBLISHES_FAILURES: MajorMinor = (4, 19);

#[derive(Debug, Clone)]
pub(super) struct Drain {
    pub(super) began: Time,
    pub(super) attempt: Attempt,
}

#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) began: Time,
    /// The pods at the start of the attempt, with their UIDs. Later pods are ignored.
    pub(super) pods: Option<BTreeMap<Key, String>>,
    /// When a rejected eviction of a pod is retried.
    retry_at: BTreeMap<Key, Time>,
    /// A rejection that ends the attempt.
    pub(super) failure: Option<String>,
}

impl Attempt {
    pub(super) fn at(began: Time) -> Self {
        Self { began, pods: None, retry_at: BTreeMap::new(), failure: None }
    }

    /// Schedules the retry of an eviction that a disruption budget rejected.
    pub(super) fn retry_eviction(&mut self, pod: Key, now: Time) {
        self.retry_at.insert(pod, now + EVICTION_RETRY);
    }

    /// Returns whether the attempt evicts this pod.
    pub(super) fn evicts(&self, pod: &Key) -> bool {
        self.pods.as_ref().is_some_and(|pods| pods.contains_key(pod))
    }

    /// The pods in `here` that the attempt must still evict. The first call sets its pods.
    pub(super) fn left<'a>(&mut self, here: Vec<&'a Object>) -> Vec<&'a Object> {
        let key_and_uid = |pod: &&Object| (PODS.key_of(pod), pod.uid().to_owned());
        let pods = self.pods.get_or_insert_with(|| here.iter().map(key_and_uid).collect());
        let is_listed = |pod: &&Object| pods.get(&PODS.key_of(pod)).is_some_and(|uid| uid == pod.uid());
        here.into_iter().filter(is_listed).collect()
    }
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failure {
    /// The error of the drain.
    pub(super) error: String,
    /// The line about it, and the message of the Event.
    pub(super) message: String,
    /// Whether attempts have failed for [`THRESHOLD`].
    is_long: bool,
}

impl Failure {
    /// A failure of the attempt that started at this age of the drain. The age at its end does not count (`drainNode`).
    fn new(error: String, age: SignedDuration) -> Self {
        // The fifth attempt starts at the threshold, and in a real cluster a little later.
        let is_long = age >= THRESHOLD;
        let message = if is_long {
            format!(
                "Drain failed. Drain has been failing for more than 10 minutes. Waiting 5 minutes then retrying. Error message from drain: {error}"
            )
        } else {
            format!("Drain failed. Waiting 1 minute then retrying. Error message from drain: {error}")
        };
        Self { error, message, is_long }
    }

    fn pause(&self) -> SignedDuration {
        if self.is_long { LONG_PAUSE } else { PAUSE }
    }

    /// The Event about it.
    pub(super) fn notice(&self, line: MajorMinor) -> Option<Notice> {
        let is_published = self.is_long && line >= PUBLISHES_FAILURES;
        is_published.then(|| Notice::warning("DrainThresholdExceeded", &self.message))
    }
}

impl Drain {
    /// The evictions to request now, the time of the next check, and the attempt that has just failed.
    pub(super) fn evict(&mut self, left: &[&Object], now: Time) -> (Vec<Write>, Time, Option<Failure>) {
        let over = after(self.attempt.began, ATTEMPT);
        let error = self.attempt.failure.take();
        if error.is_some() || over <= now {
            let age = self.attempt.began.duration_since(self.began);
            let failure = Failure::new(error.unwrap_or_else(|| timed_out(left)), age);
            let next = now + failure.pause();
            self.attempt = Attempt::at(next);
            return (Vec::new(), next, Some(failure));
        }
        let (mut writes, mut next) = (Vec::new(), over);
        for pod in left.iter().filter(|pod| !pod.is_terminating()) {
            let key = PODS.key_of(pod);
            match self.attempt.retry_at.get(&key).filter(|at| **at > now) {
                Some(at) => next = next.min(*at),
                None => writes.push(Write::evict(pod.namespace(), pod.name())),
            }
        }
        (writes, next, None)
    }

    /// The Event at the start of an attempt of a drain that takes too long (`drainNode`).
    pub(super) fn too_long(&self, node: &str, line: MajorMinor, now: Time) -> Option<Notice> {
        let is_published = now.duration_since(self.began) > TIMEOUT && line >= PUBLISHES_FAILURES;
        is_published.then(|| {
            let message = format!("node {node}: drain exceeded timeout: 1h0m0s. Will continue to retry.");
            Notice::warning("DrainFailed", message)
        })
    }
}

/// The error about a pod that could not be evicted.
pub(super) fn failure_of(pod: &Key, why: &str) -> String {
    format!("error when evicting pods/{:?} -n {:?}: {why}", pod.name, pod.namespace)
}

fn timed_out(left: &[&Object]) -> String {
    let mut failures: Vec<String> = left
        .iter()
        .map(|pod| {
            let why = "global timeout reached: 1m30s";
            if pod.is_terminating() {
                let (name, namespace) = (pod.name(), pod.namespace());
                format!("error when waiting for pod {name:?} in namespace {namespace:?} to terminate: {why}")
            } else {
                failure_of(&PODS.key_of(pod), why)
            }
        })
        .collect();
    match failures.len() {
        1 => failures.remove(0),
        _ => format!("[{}]", failures.join(", ")),
    }
}

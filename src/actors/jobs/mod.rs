//! The Job controller: one pod at a time until one succeeds, too many have failed or the deadline is over.
//!
//! Parallelism and completions beyond one, suspension, success and failure policies are not simulated. A Job of a release payload, whose program nobody
//! simulates, gets no pods and succeeds after a while; one whose pod template is annotated `windtunnel.dev/program: "true"`
//! is a Job like any other.

mod status;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::json;

use self::status::{Pods, announced, complete, counts, create_pod, fail, failure, status};
use super::workqueue::WorkQueue;
use super::{Actor, Input, Interest, Step, owners};
use crate::base::clock::{Time, after, rfc3339};
use crate::model::condition;
use crate::model::resources::{JOBS, PODS};
use crate::model::{Identity, Key, Object, View, Write};

/// How long a Job of a payload takes.
const PAYLOAD_JOB: SignedDuration = SignedDuration::from_secs(10);

/// Longest pause before a new pod after a failed one.
const BACK_OFF_MAX: SignedDuration = SignedDuration::from_secs(600);

/// The Job controller of the kube-controller-manager.
#[derive(Debug, Default)]
pub struct JobController {
    queue: WorkQueue,
    last_failures: BTreeMap<Key, (i64, Time)>,
    /// The minor of its Kubernetes 1.x; `None`: that which its ClusterOperator reports.
    minor: Option<u32>,
    started: bool,
}

impl JobController {
    /// A Job controller that has seen nothing yet, of the Kubernetes that the ClusterOperator `kube-controller-manager` reports.
    pub fn new() -> Self {
        Self::default()
    }

    /// One of Kubernetes 1.`minor`, for a cluster without operators.
    pub fn of(minor: u32) -> Self {
        Self { minor: Some(minor), ..Self::default() }
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for job in input.view.list(&JOBS) {
                self.queue.add(JOBS.key(job.namespace(), job.name()));
            }
            for pod in input.view.list(&PODS) {
                self.add_owner(pod);
            }
        }
        for change in input.changes {
            if change.key.is(&JOBS) {
                self.queue.add(change.key.clone());
            } else if change.key.is(&PODS) {
                self.add_owner(&change.object);
            }
        }
        self.queue.answered(input.answers, input.now);
    }

    fn add_owner(&mut self, pod: &Object) {
        if let Some(job) = owners::controller_of(pod, &JOBS) {
            self.queue.add(job);
        }
    }

    /// What `job` needs now, and when to look at it again.
    fn sync(&mut self, key: &Key, view: &View, now: Time) -> (Vec<Write>, Option<Time>) {
        let mut writes = Vec::new();
        let Some(job) = view.get_key(key) else {
            self.last_failures.remove(key);
            return (writes, None);
        };
        let ended = condition::is_true(job, "Complete") || condition::is_true(job, "Failed");
        if ended || job.is_terminating() {
            return (writes, None);
        }
        let mut pods = Pods::of(job, view);
        let Some(start) = job.time("/status/startTime") else {
            return (vec![status(job, &pods, |status| status["startTime"] = json!(rfc3339(now)))], None);
        };
        let deadline = job
            .number("/spec/activeDeadlineSeconds")
            .map(|span| after(start, SignedDuration::from_secs(span)));
        if owners::is_of_payload(job) {
            let end = after(start, PAYLOAD_JOB);
            if now < end {
                return (writes, Some(end));
            }
            pods.succeeded = 1;
        }
        if pods.succeeded > 0 {
            writes.push(complete(job, &pods, announced(self.minor, view), now));
            return (writes, None);
        }
        if let Some(reason) = failure(job, &pods, deadline, now) {
            return (fail(job, &pods, reason, announced(self.minor, view), now), None);
        }
        let mut next = deadline;
        if pods.active.is_empty() && pods.terminating == 0 {
            let retry_at = self.retry_at(key, pods.failed, now);
            if retry_at <= now {
                writes.push(create_pod(job));
            } else {
                next = Some(next.map_or(retry_at, |next| next.min(retry_at)));
            }
        }
        if counts(job) != pods.counts() {
            writes.push(status(job, &pods, |_| ()));
        }
        (writes, next)
    }

    /// When a pod may follow the failed ones: 10 s after the first, doubling.
    fn retry_at(&mut self, job: &Key, failed: i64, now: Time) -> Time {
        if failed == 0 {
            return now;
        }
        let entry = self.last_failures.entry(job.clone()).or_insert((failed, now));
        if entry.0 != failed {
            *entry = (failed, now);
        }
        let doublings = u32::try_from(failed - 1).unwrap_or(0).min(6);
        entry.1 + SignedDuration::from_secs(10 << doublings).min(BACK_OFF_MAX)
    }
}

impl Actor for JobController {
    fn name(&self) -> &'static str {
        "job-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "job-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(JOBS), Interest::Kind(PODS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        let mut step = Step::default();
        for job in self.queue.take_due(input.now) {
            let (writes, next) = self.sync(&job, input.view, input.now);
            for write in writes {
                self.queue.ask(&job, write, &mut step.writes);
            }
            if let Some(at) = next {
                self.queue.add_at(job, at);
            }
        }
        step.wake_at = self.queue.next();
        step
    }
}

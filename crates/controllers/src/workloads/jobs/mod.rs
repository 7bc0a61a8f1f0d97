//! The Job controller: it runs pods until enough have succeeded, too many have failed, or the deadline has
//! passed.
//!
//! Like the real controller it puts a finalizer on each pod until the end of the pod is in the status of the
//! Job, so that each pod counts exactly once. Back-off limits per index and success policies are not
//! simulated.
//!
//! Jobs of a release payload, and of its CronJobs, have no simulated programs; they get no pods and succeed after
//! some time. A Job whose pod template has the annotation `windtunnel.dev/program: "true"` is handled like any other.

mod backoff;
mod ending;
mod failure_policy;
mod indexes;
mod job_status;
mod replacement_policy;
mod scale;
mod tally;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, after, rfc3339};
use windtunnel_core::resources::{CRON_JOBS, JOBS, PODS};
use windtunnel_core::{Identity, Key, Object, View, Write, condition};

use self::backoff::Failures;
use self::ending::End;
use self::scale::Scale;
use self::tally::{Tally, is_tracked, untrack};
use crate::event_log::{EventLog, add_pod_events};
use crate::recorder::Notice;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, ControllerVersion, Input, Interest, Step, owners};

/// The duration of a Job of a release payload.
const PAYLOAD_JOB: SignedDuration = SignedDuration::from_secs(10);

/// The Job controller of the kube-controller-manager.
#[derive(Debug, Clone)]
pub struct JobController {
    queue: WorkQueue,
    failures: BTreeMap<Key, Failures>,
    events: EventLog,
    version: ControllerVersion,
    started: bool,
}

impl Default for JobController {
    fn default() -> Self {
        Self {
            queue: WorkQueue::default(),
            failures: BTreeMap::new(),
            events: EventLog::of("job-controller"),
            version: ControllerVersion::default(),
            started: false,
        }
    }
}

impl JobController {
    /// Creates a Job controller with the Kubernetes version that the ClusterOperator
    /// `kube-controller-manager` reports. Without that ClusterOperator it has the version of the API server, or the
    /// newest one if the server changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version. The rules of an API server that stays at its version apply to the end of a Job, whatever the
    /// version of the controller.
    #[must_use]
    pub fn with_version(mut self, version: ControllerVersion) -> Self {
        self.version = version;
        self.events.set_version(version);
        self
    }

    /// Creates a Job controller of Kubernetes 1.`minor`, for a cluster without operators.
    pub fn with_minor(minor: u32) -> Self {
        Self::new().with_version(ControllerVersion::fixed(minor))
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for job in input.view.list(&JOBS) {
                self.queue.add(JOBS.key_of(job));
            }
            for pod in input.view.list(&PODS) {
                self.add_owner(pod);
            }
        }
        for change in input.changes {
            if change.key.is_kind(&JOBS) {
                self.queue.add(change.key.clone());
            } else if change.key.is_kind(&PODS) {
                self.add_owner(&change.object);
            }
        }
        let answers = self.queue.settle_answers(input.answers, input.now);
        add_pod_events(&mut self.events, &JOBS, &answers);
    }

    fn add_owner(&mut self, pod: &Object) {
        if let Some(job) = owners::controller_of(pod, &JOBS) {
            self.queue.add(job);
        } else if is_tracked(pod) {
            self.queue.add(PODS.key_of(pod));
        }
    }

    /// The writes for a Job that has not ended.
    fn run(&mut self, key: &Key, job: &Object, view: &View, now: Time) -> Vec<Write> {
        let minor = self.version.minor_in(view);
        let is_suspended = job["spec"]["suspend"] == true;
        let Some(start) = job.time("/status/startTime").or_else(|| is_suspended.then_some(now)) else {
            return vec![job_status::write(job, job_status::begun(job, now))];
        };
        let mut tally = Tally::of(job, view);
        if is_of_payload(job, view) && !is_suspended {
            let end = after(start, PAYLOAD_JOB);
            if now < end {
                self.queue.add_at(key.clone(), end);
                return Vec::new();
            }
            tally.succeeded = tally.wanted().unwrap_or(1);
        }
        let deadline = job
            .number("/spec/activeDeadlineSeconds")
            .filter(|_| !is_suspended)
            .map(|span| after(start, SignedDuration::from_secs(span)));
        let mut writes = tally.untracked();
        let end = ending::determine_end(job, &tally, deadline, now);
        let scale = match &end {
            Some(_) => Scale::down(&tally),
            None if is_suspended => Scale::down(&tally),
            None => {
                let retry_at = self.failures.entry(key.clone()).or_default().retry_at(&tally, now);
                Scale::of(job, &tally, retry_at, now)
            }
        };
        writes.extend(scale.writes(job, minor));
        if let Some(at) = [scale.retry_at, deadline].into_iter().flatten().filter(|at| *at > now).min() {
            self.queue.add_at(key.clone(), at);
        }
        let mut status = job_status::with_counts(job, &tally, &scale, minor);
        match end {
            Some(end) => {
                let required =
                    self.version.server_minor().is_some_and(|server| server >= ending::REQUIRED_SINCE);
                let announced = required || minor >= ending::ANNOUNCED_SINCE;
                let is_over =
                    tally.is_settled() && scale.is_still() && !(announced && tally.terminating() > 0);
                let completions = job.number("/spec/completions").unwrap_or(i64::MAX);
                if is_over && end.kind == "Complete" && status["succeeded"].as_i64() > Some(completions) {
                    let text = "Too many succeeded pods running after completion count reached";
                    self.events.add(key, Notice::warning("TooManySucceededPods", text));
                }
                self.end(key, &end, announced, is_over, &mut status, now);
            }
            None => self.suspend(key, is_suspended, &mut status, now),
        }
        if status != job["status"] {
            writes.push(job_status::write(job, status));
        }
        writes
    }

    /// Sets the condition that announces the end of a Job, and the final condition once the end is complete.
    fn end(&mut self, key: &Key, end: &End, announced: bool, is_over: bool, status: &mut Value, now: Time) {
        if announced {
            job_status::add_condition(status, end.announcement, end, now);
        }
        if !is_over {
            return;
        }
        if end.kind == "Failed" {
            job_status::add_condition(status, end.kind, end, now);
            return self.events.add(key, Notice::warning(end.reason, end.message.clone()));
        }
        let shown = if announced { end.clone() } else { end.unexplained() };
        job_status::add_condition(status, end.kind, &shown, now);
        status["completionTime"] = json!(rfc3339(now));
        self.events.add(key, Notice::normal("Completed", "Job completed"));
    }

    /// Sets the condition for a suspended or resumed Job.
    fn suspend(&mut self, key: &Key, is_suspended: bool, status: &mut Value, now: Time) {
        if job_status::is_suspended(status) == is_suspended {
            return;
        }
        job_status::suspend(status, is_suspended, now);
        let (reason, message) =
            if is_suspended { ("Suspended", "Job suspended") } else { ("Resumed", "Job resumed") };
        self.events.add(key, Notice::normal(reason, message));
    }

    fn forget(&mut self, key: &Key) {
        self.failures.remove(key);
        self.events.forget(key);
    }
}

/// Whether a Job, or the CronJob that created it, is of a release payload and has no simulated program.
fn is_of_payload(job: &Object, view: &View) -> bool {
    let cron_job = owners::controller_of(job, &CRON_JOBS).and_then(|key| view.get_key(&key));
    owners::is_of_payload(job) || cron_job.is_some_and(owners::is_of_payload)
}

/// Removes the finalizer of a pod without a Job, whose end no controller counts (`syncOrphanPod`).
fn release_orphan(key: &Key, view: &View) -> Vec<Write> {
    let orphan = |pod: &&Object| is_tracked(pod) && owners::controller_of(pod, &JOBS).is_none();
    view.get_key(key).filter(orphan).map(untrack).into_iter().collect()
}

impl Reconcile for JobController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        if key.is_kind(&PODS) {
            return release_orphan(key, view);
        }
        let Some(job) = view.get_key(key) else {
            self.forget(key);
            // No controller counts the pods of a deleted Job.
            let is_left = |pod: &&Object| owners::controller_of(pod, &JOBS).as_ref() == Some(key);
            let left = view.list_in(&PODS, &key.namespace).filter(is_left);
            return left.filter(|pod| is_tracked(pod)).map(untrack).collect();
        };
        let ended = condition::is_true(job, "Complete") || condition::is_true(job, "Failed");
        if ended || job.is_terminating() {
            let left = owners::pods_of(view, job).filter(|pod| is_tracked(pod));
            return left.map(untrack).collect();
        }
        self.run(key, job, view, now)
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.events)
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
        self.reconcile(input)
    }
}

/// Converts a count to the integer type of the API.
fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

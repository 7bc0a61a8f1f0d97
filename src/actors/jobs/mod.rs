//! The Job controller: one pod at a time until one succeeds, too many have failed or the deadline is over.
//!
//! Removing the pods of a Job that is gone, the garbage collector's part, is done here too. Parallelism and completions
//! beyond one, suspension, success and failure policies are not simulated.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::workqueue::WorkQueue;
use super::{Actor, Input, Interest, Step, owners};
use crate::base::clock::{Time, rfc3339};
use crate::model::condition::{self, Condition};
use crate::model::resources::{CLUSTER_OPERATORS, JOBS, PODS};
use crate::model::{Identity, Key, Object, View, Write};

/// Longest pause before a new pod after a failed one.
const BACK_OFF_MAX: SignedDuration = SignedDuration::from_secs(600);

/// `spec.backoffLimit` where the Job has none.
const BACKOFF_LIMIT_DEFAULT: i64 = 6;

/// Since this Kubernetes minor (`JobManagedBy`), `FailureTarget` and `SuccessCriteriaMet` announce the end.
const ANNOUNCED_SINCE: u32 = 31;

/// The Job controller of the kube-controller-manager.
#[derive(Debug, Default)]
pub struct JobController {
    queue: WorkQueue,
    last_failures: BTreeMap<Key, (i64, Time)>,
    started: bool,
}

impl JobController {
    /// A Job controller that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
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
        if let Some((job, _)) = owners::controller_of(pod, &JOBS) {
            self.queue.add(job);
        }
    }

    /// What `job` needs now, and when to look at it again.
    fn sync(&mut self, key: &Key, view: &View, now: Time) -> (Vec<Write>, Option<Time>) {
        let job = view.get_key(key);
        let mut writes = owners::collect_orphans(view, key, &JOBS, job.map(Object::uid));
        let Some(job) = job else {
            self.last_failures.remove(key);
            return (writes, None);
        };
        let ended = condition::is_true(job, "Complete") || condition::is_true(job, "Failed");
        if !writes.is_empty() || ended || job.is_terminating() {
            return (writes, None);
        }
        let pods = Pods::of(job, key, view);
        let Some(start) = job.time("/status/startTime") else {
            return (vec![status(job, &pods, |status| status["startTime"] = json!(rfc3339(now)))], None);
        };
        let deadline =
            job.number("/spec/activeDeadlineSeconds").map(|span| start + SignedDuration::from_secs(span));
        if pods.succeeded > 0 {
            writes.push(complete(job, &pods, announced(view), now));
            return (writes, None);
        }
        if let Some(reason) = failure(job, &pods, deadline, now) {
            return (fail(job, &pods, reason, announced(view), now), None);
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

/// The pods of a Job.
struct Pods<'a> {
    active: Vec<&'a Object>,
    terminating: i64,
    succeeded: i64,
    failed: i64,
}

impl<'a> Pods<'a> {
    /// Counts pods; a pod that was counted as ended stays counted when it is gone.
    fn of(job: &Object, key: &'a Key, view: &'a View) -> Self {
        let mut pods = Self { active: Vec::new(), terminating: 0, succeeded: 0, failed: 0 };
        for (pod, _) in owners::pods_of(view, key, &JOBS) {
            match pod.text("/status/phase") {
                "Succeeded" => pods.succeeded += 1,
                "Failed" => pods.failed += 1,
                _ if pod.is_terminating() => pods.terminating += 1,
                _ => pods.active.push(pod),
            }
        }
        pods.succeeded = pods.succeeded.max(job.number("/status/succeeded").unwrap_or(0));
        pods.failed = pods.failed.max(job.number("/status/failed").unwrap_or(0));
        pods
    }

    fn counts(&self) -> [i64; 3] {
        [i64::try_from(self.active.len()).unwrap_or(i64::MAX), self.succeeded, self.failed]
    }
}

fn counts(job: &Object) -> [i64; 3] {
    ["/status/active", "/status/succeeded", "/status/failed"].map(|field| job.number(field).unwrap_or(0))
}

/// Why the Job fails now, if it does: too many failed pods go before the deadline.
fn failure(job: &Object, pods: &Pods<'_>, deadline: Option<Time>, now: Time) -> Option<[&'static str; 2]> {
    if pods.failed > job.number("/spec/backoffLimit").unwrap_or(BACKOFF_LIMIT_DEFAULT) {
        return Some(["BackoffLimitExceeded", "Job has reached the specified backoff limit"]);
    }
    let announced =
        condition::of(job, "FailureTarget").is_some_and(|target| target["reason"] == "DeadlineExceeded");
    (announced || deadline.is_some_and(|deadline| deadline <= now))
        .then_some(["DeadlineExceeded", "Job was active longer than specified deadline"])
}

/// Removes the active pods, counts them as failed, and says so; with announcement, in two steps.
fn fail(
    job: &Object,
    pods: &Pods<'_>,
    [reason, message]: [&str; 2],
    announced: bool,
    now: Time,
) -> Vec<Write> {
    let mut writes: Vec<Write> =
        pods.active.iter().map(|pod| Write::delete(&PODS, pod.namespace(), pod.name())).collect();
    let open = !pods.active.is_empty() || pods.terminating > 0;
    let said = condition::is_true(job, "FailureTarget");
    if announced && open && said && pods.active.is_empty() {
        return writes;
    }
    // Those that are on their way out may have been sent there by a controller that then crashed.
    let killed = if said { 0 } else { pods.counts()[0] + pods.terminating };
    writes.push(status(job, pods, |status| {
        status["failed"] = json!(pods.failed + killed);
        omit(status, "active");
        if announced && !said {
            add_condition(status, "FailureTarget", [reason, message], now);
        }
        if !announced || !open {
            add_condition(status, "Failed", [reason, message], now);
        }
    }));
    writes
}

fn complete(job: &Object, pods: &Pods<'_>, announced: bool, now: Time) -> Write {
    status(job, pods, |status| {
        status["completionTime"] = json!(rfc3339(now));
        let why = if announced {
            ["CompletionsReached", "Reached expected number of succeeded pods"]
        } else {
            ["", ""]
        };
        if announced {
            add_condition(status, "SuccessCriteriaMet", why, now);
        }
        add_condition(status, "Complete", why, now);
    })
}

/// Writes the counts, changed by `edit`.
fn status(job: &Object, pods: &Pods<'_>, edit: impl FnOnce(&mut Value)) -> Write {
    let mut value = job.to_value();
    for (field, count) in ["active", "succeeded", "failed"].into_iter().zip(pods.counts()) {
        if count > 0 {
            value["status"][field] = json!(count);
        } else {
            omit(&mut value["status"], field);
        }
    }
    edit(&mut value["status"]);
    Write::update_status(&JOBS, value)
}

fn omit(status: &mut Value, field: &str) {
    if let Some(fields) = status.as_object_mut() {
        fields.remove(field);
    }
}

fn add_condition(status: &mut Value, kind: &str, [reason, message]: [&str; 2], now: Time) {
    let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
    condition::set(&mut list, &Condition::new(kind, "True", reason, message), now);
    for entry in list.iter_mut().filter(|entry| entry["type"] == kind) {
        entry["lastProbeTime"] = json!(rfc3339(now));
    }
    status["conditions"] = json!(list);
}

fn create_pod(job: &Object) -> Write {
    let labels = [("job-name", job.name()), ("controller-uid", job.uid())];
    Write::create(&PODS, owners::pod_from_template(job, &JOBS, job.name(), &labels))
}

/// Whether the controller announces the end of Jobs, by the version that its ClusterOperator reports.
fn announced(view: &View) -> bool {
    let operator = "kube-controller-manager";
    let versions =
        view.get(&CLUSTER_OPERATORS, "", operator).map_or(&[][..], |object| object.list("/status/versions"));
    let version = versions.iter().find(|version| version["name"] == operator);
    let minor =
        version.and_then(|version| version["version"].as_str()?.split('.').nth(1)?.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= ANNOUNCED_SINCE)
}

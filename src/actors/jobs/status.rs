//! What a Job tells of its pods, and how it ends.

use serde_json::{Value, json};

use crate::actors::owners;
use crate::base::clock::{Time, rfc3339};
use crate::model::condition::{self, Condition};
use crate::model::resources::{CLUSTER_OPERATORS, JOBS, PODS};
use crate::model::{Object, View, Write};

/// Since this Kubernetes minor (`JobManagedBy`), `FailureTarget` and `SuccessCriteriaMet` announce the end.
const ANNOUNCED_SINCE: u32 = 31;

/// `spec.backoffLimit` where the Job has none.
const BACKOFF_LIMIT_DEFAULT: i64 = 6;

/// The pods of a Job.
pub(super) struct Pods<'a> {
    /// Neither ended nor terminating.
    pub(super) active: Vec<&'a Object>,
    /// Not ended, but deleted.
    pub(super) terminating: i64,
    /// Ended well.
    pub(super) succeeded: i64,
    /// Ended otherwise.
    pub(super) failed: i64,
}

impl<'a> Pods<'a> {
    /// Counts pods; a pod that was counted as ended stays counted when it is gone.
    pub(super) fn of(job: &Object, view: &'a View) -> Self {
        let mut pods = Self { active: Vec::new(), terminating: 0, succeeded: 0, failed: 0 };
        for pod in owners::pods_of(view, job) {
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

    /// `active`, `succeeded` and `failed`.
    pub(super) fn counts(&self) -> [i64; 3] {
        [i64::try_from(self.active.len()).unwrap_or(i64::MAX), self.succeeded, self.failed]
    }
}

/// The counts in the API.
pub(super) fn counts(job: &Object) -> [i64; 3] {
    ["/status/active", "/status/succeeded", "/status/failed"].map(|field| job.number(field).unwrap_or(0))
}

/// Why the Job fails now, if it does: too many failed pods go before the deadline.
pub(super) fn failure(
    job: &Object,
    pods: &Pods<'_>,
    deadline: Option<Time>,
    now: Time,
) -> Option<[&'static str; 2]> {
    if pods.failed > job.number("/spec/backoffLimit").unwrap_or(BACKOFF_LIMIT_DEFAULT) {
        return Some(["BackoffLimitExceeded", "Job has reached the specified backoff limit"]);
    }
    let announced =
        condition::of(job, "FailureTarget").is_some_and(|target| target["reason"] == "DeadlineExceeded");
    (announced || deadline.is_some_and(|deadline| deadline <= now))
        .then_some(["DeadlineExceeded", "Job was active longer than specified deadline"])
}

/// Removes the active pods, counts them as failed, and says so; with announcement, in two steps.
pub(super) fn fail(
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

/// Says that the Job has succeeded.
pub(super) fn complete(job: &Object, pods: &Pods<'_>, announced: bool, now: Time) -> Write {
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
pub(super) fn status(job: &Object, pods: &Pods<'_>, edit: impl FnOnce(&mut Value)) -> Write {
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

/// Makes a pod.
pub(super) fn create_pod(job: &Object) -> Write {
    let labels = [("job-name", job.name()), ("controller-uid", job.uid())];
    Write::create(&PODS, owners::pod_from_template(job, &JOBS, job.name(), &labels))
}

/// Whether the controller announces the end of Jobs, by its minor or by the version that its `ClusterOperator` reports.
pub(super) fn announced(minor: Option<u32>, view: &View) -> bool {
    minor.or_else(|| minor_reported(view)).is_some_and(|minor| minor >= ANNOUNCED_SINCE)
}

fn minor_reported(view: &View) -> Option<u32> {
    let operator = "kube-controller-manager";
    let object = view.get(&CLUSTER_OPERATORS, "", operator)?;
    let version = object.list("/status/versions").iter().find(|version| version["name"] == operator)?;
    version["version"].as_str()?.split('.').nth(1)?.parse().ok()
}

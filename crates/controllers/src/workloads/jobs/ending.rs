//! The end of Jobs: completion and failure.

use windtunnel_core::clock::Time;
use windtunnel_core::{Object, condition};

use super::tally::Tally;

/// The first Kubernetes minor version that announces the end by `FailureTarget` and `SuccessCriteriaMet`
/// (`JobManagedBy`).
pub(super) const ANNOUNCED_SINCE: u32 = 31;

/// The first minor version whose API server rejects an end that was not announced.
pub(super) const REQUIRED_SINCE: u32 = 32;

/// The default of `spec.backoffLimit`.
const BACKOFF_LIMIT_DEFAULT: i64 = 6;

/// The end of a Job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    /// The type of the final condition: `Complete` or `Failed`.
    pub(super) kind: &'static str,
    /// The type of the condition that announces it while pods still terminate.
    pub(super) announcement: &'static str,
    /// The reason of both.
    pub(super) reason: &'static str,
    /// The message of both.
    pub(super) message: String,
}

impl End {
    fn failed(reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind: "Failed", announcement: "FailureTarget", reason, message: message.into() }
    }

    fn complete() -> Self {
        let message = "Reached expected number of succeeded pods".to_owned();
        Self { kind: "Complete", announcement: "SuccessCriteriaMet", reason: "CompletionsReached", message }
    }

    /// The same without reason and message.
    pub(super) fn unexplained(&self) -> Self {
        Self { reason: "", message: String::new(), ..self.clone() }
    }
}

/// The end of `job`, if it has one. Checks an announced end first, then the pod failure policy, the back-off
/// limit, the deadline and finally the completions.
pub(super) fn determine_end(
    job: &Object,
    tally: &Tally<'_>,
    deadline: Option<Time>,
    now: Time,
) -> Option<End> {
    if let Some(end) = announced(job) {
        return Some(end);
    }
    if let Some(why) = &tally.fatal {
        return Some(End::failed("PodFailurePolicy", why.clone()));
    }
    let limit = job.number("/spec/backoffLimit").unwrap_or(BACKOFF_LIMIT_DEFAULT);
    let [succeeded, failed] = tally.totals();
    if failed > limit || restarts_too_often(job, tally, limit) {
        crate::marks::JOB_BACK_OFF.reach();
        return Some(End::failed("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    }
    if deadline.is_some_and(|deadline| deadline <= now) {
        crate::marks::JOB_DEADLINE.reach();
        return Some(End::failed("DeadlineExceeded", "Job was active longer than specified deadline"));
    }
    let enough = match tally.wanted() {
        Some(wanted) => succeeded >= wanted,
        // Without completions, the pods share a work queue: one success means that the work is done.
        None => succeeded > 0 && tally.active.is_empty(),
    };
    (enough && job["spec"]["suspend"] != true).then(End::complete)
}

/// The end that the conditions of the Job announce.
fn announced(job: &Object) -> Option<End> {
    if condition::is_true(job, "SuccessCriteriaMet") {
        return Some(End::complete());
    }
    let target = condition::find_with_status(job, "FailureTarget", "True")?;
    let reasons = ["PodFailurePolicy", "BackoffLimitExceeded", "DeadlineExceeded"];
    let reason = reasons.into_iter().find(|reason| target["reason"] == **reason)?;
    Some(End::failed(reason, target["message"].as_str().unwrap_or_default()))
}

/// Whether containers with restart policy `OnFailure` have restarted too often. Terminating pods count as
/// well, because reaching the limit is what deletes them.
fn restarts_too_often(job: &Object, tally: &Tally<'_>, limit: i64) -> bool {
    if job["spec"]["template"]["spec"]["restartPolicy"] != "OnFailure" {
        return false;
    }
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let restarts: i64 = tally
        .not_ended()
        .flat_map(|pod| lists.iter().flat_map(|list| pod.list(list)))
        .filter_map(|status| status["restartCount"].as_i64())
        .sum();
    restarts > 0 && restarts >= limit
}

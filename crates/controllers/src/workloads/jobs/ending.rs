//! Whether a Job ends, and how.

use windtunnel_core::clock::Time;
use windtunnel_core::{Object, condition};

use super::tally::Tally;

/// Since this Kubernetes minor (`JobManagedBy`), `FailureTarget` and `SuccessCriteriaMet` announce the end.
pub(super) const ANNOUNCED_SINCE: u32 = 31;

/// `spec.backoffLimit` where the Job has none.
const BACKOFF_LIMIT_DEFAULT: i64 = 6;

/// How a Job ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    /// The condition that says so: `Complete` or `Failed`.
    pub(super) kind: &'static str,
    /// The one before it, while pods still end.
    pub(super) announcement: &'static str,
    /// One word.
    pub(super) reason: &'static str,
    /// A sentence.
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

    /// The same without saying why.
    pub(super) fn unexplained(&self) -> Self {
        Self { reason: "", message: String::new(), ..self.clone() }
    }
}

/// How `job` ends now, if it does: a failure that was announced stays, then what its policy says counts, then too many failures,
/// then the deadline.
pub(super) fn of(job: &Object, tally: &Tally<'_>, deadline: Option<Time>, now: Time) -> Option<End> {
    if let Some(end) = announced(job) {
        return Some(end);
    }
    if let Some(why) = &tally.fatal {
        return Some(End::failed("PodFailurePolicy", why.clone()));
    }
    let limit = job.number("/spec/backoffLimit").unwrap_or(BACKOFF_LIMIT_DEFAULT);
    let [succeeded, failed] = tally.totals();
    if failed > limit || restarts_too_often(job, tally, limit) {
        return Some(End::failed("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
    }
    if deadline.is_some_and(|deadline| deadline <= now) {
        return Some(End::failed("DeadlineExceeded", "Job was active longer than specified deadline"));
    }
    let enough = match tally.wanted() {
        Some(wanted) => succeeded >= wanted,
        // Whoever shares out the work tells the others by ending well.
        None => succeeded > 0 && tally.active.is_empty(),
    };
    (enough && job["spec"]["suspend"] != true).then(End::complete)
}

/// What was announced.
fn announced(job: &Object) -> Option<End> {
    if condition::is_true(job, "SuccessCriteriaMet") {
        return Some(End::complete());
    }
    let told = condition::of(job, "FailureTarget").filter(|told| told["status"] == "True")?;
    let reasons = ["PodFailurePolicy", "BackoffLimitExceeded", "DeadlineExceeded"];
    let reason = reasons.into_iter().find(|reason| told["reason"] == **reason)?;
    Some(End::failed(reason, told["message"].as_str().unwrap_or_default()))
}

/// Whether containers that are restarted in their pods have been so too often. Those of pods that are going count, too: they go
/// for that.
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

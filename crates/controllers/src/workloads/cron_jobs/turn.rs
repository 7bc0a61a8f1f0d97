//! One look at a CronJob: old Jobs are deleted, its status follows its Jobs, and a due Job is created (`sync`).

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use windtunnel_core::clock::{Time, rfc3339};
use windtunnel_core::resources::{CRON_JOBS, JOBS};
use windtunnel_core::{DeleteOptions, Object, Propagation, Write, condition};

use super::due::{DueStart, due_start, next_look};
use super::schedule::Schedule;
use crate::owners;
use crate::recorder::Notice;

/// The annotation of a Job with its scheduled time.
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// The results of a look.
pub(super) struct Turn<'v> {
    cron_job: &'v Object,
    jobs: Vec<&'v Object>,
    /// The new status.
    pub(super) status: Value,
    pub(super) writes: Vec<Write>,
    pub(super) notices: Vec<Notice>,
    /// When to look again.
    pub(super) next_look: Option<Time>,
}

impl<'v> Turn<'v> {
    /// Looks at a CronJob and its Jobs.
    pub(super) fn run(cron_job: &'v Object, jobs: Vec<&'v Object>, now: Time) -> Self {
        let status = if cron_job["status"].is_object() { cron_job["status"].clone() } else { json!({}) };
        let (writes, notices) = (Vec::new(), Vec::new());
        let mut turn = Self { cron_job, jobs, status, writes, notices, next_look: None };
        turn.delete_old_jobs();
        turn.follow_jobs();
        if !cron_job.is_terminating() {
            turn.start_due(now);
        }
        turn
    }

    /// Creates the Job that is due, unless the CronJob is suspended.
    fn start_due(&mut self, now: Time) {
        let zone = match self.zone() {
            Ok(zone) => zone,
            Err(notice) => return self.notices.push(notice),
        };
        if self.cron_job["spec"]["suspend"] == true {
            return;
        }
        let text = self.cron_job.text("/spec/schedule");
        if text.contains("TZ") {
            let text = format!(
                "CRON_TZ or TZ used in schedule {text:?} is not officially supported, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
            );
            self.notices.push(Notice::warning("UnsupportedSchedule", text));
        }
        match Schedule::parse(text, zone) {
            Ok(schedule) => self.start(&schedule, now),
            Err(why) => {
                let text = format!("unparseable schedule: {text:?} : {why}");
                self.notices.push(Notice::warning("UnparseableSchedule", text));
            }
        }
    }

    /// Deletes finished Jobs beyond the history limits, the oldest first.
    fn delete_old_jobs(&mut self) {
        for (kind, limit) in
            [("Failed", "failedJobsHistoryLimit"), ("Complete", "successfulJobsHistoryLimit")]
        {
            let Some(limit) = self.cron_job["spec"][limit].as_u64() else { continue };
            let mut finished: Vec<&Object> =
                self.jobs.iter().copied().filter(|job| condition::is_true(job, kind)).collect();
            finished.sort_by_key(|job| (job.time("/status/startTime"), job.name().to_owned()));
            let excess = finished.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
            for job in finished.into_iter().take(excess) {
                self.delete(job);
            }
        }
    }

    fn delete(&mut self, job: &Object) {
        if job.is_terminating() {
            return;
        }
        let options =
            DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        self.writes.push(Write::delete_with(&JOBS, job.namespace(), job.name(), options));
        self.notices.push(Notice::normal("SuccessfulDelete", format!("Deleted job {}", job.name())));
        self.jobs.retain(|other| other.uid() != job.uid());
        self.drop_active(job.uid());
    }

    /// Updates the active Jobs and the times of the status.
    fn follow_jobs(&mut self) {
        for job in self.jobs.clone() {
            let end = ["Complete", "Failed"].into_iter().find(|kind| condition::is_true(job, kind));
            let is_active = self.active().any(|active| active["uid"] == job.uid());
            match end {
                Some(end) if is_active => {
                    self.drop_active(job.uid());
                    let text = format!("Saw completed job: {}, condition: {end}", job.name());
                    self.notices.push(Notice::normal("SawCompletedJob", text));
                }
                None if !is_active => self.take_up(job),
                _ => {}
            }
            let completed = job.time("/status/completionTime").filter(|_| end == Some("Complete"));
            if completed > self.time("lastSuccessfulTime")
                && let Some(completed) = completed
            {
                self.status["lastSuccessfulTime"] = json!(rfc3339(completed));
            }
        }
        let gone = |active: &&Value| !self.jobs.iter().any(|job| active["uid"] == job.uid());
        let gone: Vec<Value> = self.active().filter(gone).cloned().collect();
        for active in gone {
            self.drop_active(active["uid"].as_str().unwrap_or_default());
            let name = active["name"].as_str().unwrap_or_default();
            self.notices.push(Notice::normal("MissingJob", format!("Active job went missing: {name}")));
        }
    }

    /// Adds a Job to the status: one that this controller has just created, or a stranger.
    fn take_up(&mut self, job: &Object) {
        let scheduled = job.annotation(SCHEDULED).and_then(windtunnel_core::clock::parse_rfc3339);
        let Some(scheduled) =
            scheduled.filter(|at| self.time("lastScheduleTime").is_none_or(|last| *at > last))
        else {
            let name = job.name();
            let text = format!("Saw a job that the controller did not create or forgot: {name}");
            return self.notices.push(Notice::warning("UnexpectedJob", text));
        };
        let reference = json!({
            "apiVersion": JOBS.api_version(),
            "kind": JOBS.kind,
            "name": job.name(),
            "namespace": job.namespace(),
            "resourceVersion": job.resource_version(),
            "uid": job.uid(),
        });
        let mut active: Vec<Value> = self.active().cloned().collect();
        active.push(reference);
        self.status["active"] = json!(active);
        self.status["lastScheduleTime"] = json!(rfc3339(scheduled));
        self.notices.push(Notice::normal("SuccessfulCreate", format!("Created job {}", job.name())));
    }

    fn time(&self, field: &str) -> Option<Time> {
        self.status[field].as_str().and_then(windtunnel_core::clock::parse_rfc3339)
    }

    fn active(&self) -> impl Iterator<Item = &Value> {
        self.status["active"].as_array().into_iter().flatten()
    }

    fn drop_active(&mut self, uid: &str) {
        let left: Vec<Value> = self.active().filter(|active| active["uid"] != uid).cloned().collect();
        if let Some(status) = self.status.as_object_mut() {
            if left.is_empty() {
                status.remove("active")
            } else {
                status.insert("active".to_owned(), json!(left))
            };
        }
    }

    /// The time zone of the schedule, or a warning about it.
    fn zone(&self) -> Result<TimeZone, Notice> {
        let Some(name) = self.cron_job["spec"]["timeZone"].as_str() else { return Ok(TimeZone::UTC) };
        TimeZone::get(name).map_err(|_| {
            let text = format!("invalid timeZone: {name:?}: unknown time zone {name}");
            Notice::warning("UnknownTimeZone", text)
        })
    }

    /// Creates the Job that is due, unless it is too late or another one runs.
    fn start(&mut self, schedule: &Schedule, now: Time) {
        // The decisions see the status of this look.
        let mut seen = self.cron_job.to_value();
        seen["status"] = self.status.clone();
        let seen = Object::new(seen);
        let due = due_start(&seen, schedule, now);
        self.next_look = due.is_ok().then(|| next_look(&seen, schedule, now)).flatten();
        let DueStart { at, missed_many } = match due {
            Ok(due) => due,
            Err(why) => {
                let text = format!("invalid schedule: {} : {why}", self.cron_job.text("/spec/schedule"));
                return self.notices.push(Notice::warning("InvalidSchedule", text));
            }
        };
        if missed_many {
            let text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
            self.notices.push(Notice::warning("TooManyMissedTimes", text));
        }
        let Some(at) = at else { return };
        let name = format!("{}-{}", self.cron_job.name(), at.as_second().div_euclid(60));
        if self.jobs.iter().any(|job| job.name() == name) || self.time("lastScheduleTime") == Some(at) {
            return;
        }
        let is_busy = self.active().next().is_some();
        match self.cron_job.text("/spec/concurrencyPolicy") {
            "Forbid" if is_busy => {
                let text =
                    "Not starting job because prior execution is running and concurrency policy is Forbid";
                return self.notices.push(Notice::normal("JobAlreadyActive", text));
            }
            "Replace" => {
                let active: Vec<Value> = self.active().map(|active| active["uid"].clone()).collect();
                let old = self.jobs.iter().copied().filter(|job| active.iter().any(|uid| *uid == job.uid()));
                old.collect::<Vec<_>>().into_iter().for_each(|job| self.delete(job));
            }
            _ => {}
        }
        self.writes.push(Write::create(&JOBS, job(self.cron_job, &name, at)));
    }
}

/// The Job of a start.
fn job(cron_job: &Object, name: &str, at: Time) -> Value {
    let template = &cron_job["spec"]["jobTemplate"];
    let zone = cron_job["spec"]["timeZone"].as_str().and_then(|name| TimeZone::get(name).ok());
    let scheduled = at.to_zoned(zone.unwrap_or(TimeZone::UTC));
    let scheduled = if scheduled.offset().is_zero() {
        rfc3339(at)
    } else {
        scheduled.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    };
    let mut metadata = json!({
        "name": name,
        "namespace": cron_job.namespace(),
        "ownerReferences": [owners::reference(cron_job, &CRON_JOBS)],
    });
    for field in ["labels", "annotations"] {
        if template["metadata"][field].is_object() {
            metadata[field] = template["metadata"][field].clone();
        }
    }
    metadata["annotations"][SCHEDULED] = json!(scheduled);
    json!({ "apiVersion": JOBS.api_version(), "kind": JOBS.kind, "metadata": metadata, "spec": template["spec"] })
}

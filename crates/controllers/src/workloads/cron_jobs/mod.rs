//! The CronJob controller: it creates Jobs by schedule (`ControllerV2` of kube-controller-manager).
//!
//! The name of a Job is that of its CronJob with the minutes of the scheduled time since 1970. Schedules without a time
//! zone are in UTC. The Jobs of a payload's CronJobs have no pods.

mod due;
mod schedule;
mod turn;

#[cfg(test)]
mod tests;

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CRON_JOBS, JOBS};
use windtunnel_core::{Answer, Identity, Key, View, Write};

use self::turn::Turn;
use crate::event_log::{EventLog, is_of_terminating_namespace};
use crate::recorder::Notice;
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, ControllerVersion, Input, Interest, Step, owners};

/// The CronJob controller of the kube-controller-manager.
#[derive(Debug, Clone)]
pub struct CronJobController {
    queue: WorkQueue,
    events: EventLog,
    started: bool,
}

impl Default for CronJobController {
    fn default() -> Self {
        Self { queue: WorkQueue::default(), events: EventLog::of("cronjob-controller"), started: false }
    }
}

impl CronJobController {
    /// Creates a CronJob controller.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: ControllerVersion) -> Self {
        self.events.set_version(version);
        self
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for cron_job in input.view.list(&CRON_JOBS) {
                self.queue.add(CRON_JOBS.key_of(cron_job));
            }
        }
        for change in input.changes {
            if change.key.is_kind(&CRON_JOBS) {
                self.queue.add(change.key.clone());
            } else if let Some(cron_job) = owners::controller_of(&change.object, &CRON_JOBS) {
                self.queue.add(cron_job);
            }
        }
        for (key, answer) in self.queue.process_answers(input.answers, input.now) {
            self.events_of_rejection(&key, answer);
        }
    }

    /// Adds the Event about a Job that could not be created or deleted.
    fn events_of_rejection(&mut self, key: &Key, answer: &Answer) {
        let Err(rejection) = &answer.outcome else { return };
        let notice = match answer.write.verb() {
            "create" if !is_of_terminating_namespace(rejection) && rejection.reason != "AlreadyExists" => {
                Notice::warning("FailedCreate", format!("Error creating job: {}", rejection.message))
            }
            "delete" => Notice::warning("FailedDelete", format!("Deleted job: {}", rejection.message)),
            _ => return,
        };
        self.events.add(key, notice);
    }
}

impl Reconcile for CronJobController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(cron_job) = view.get_key(key) else {
            self.events.forget(key);
            self.queue.forget(key);
            return Vec::new();
        };
        let jobs = view.list_in(&JOBS, &key.namespace).filter(|job| owners::controls(cron_job, job));
        let turn = Turn::run(cron_job, jobs.collect(), now);
        if let Some(at) = turn.next_look {
            self.queue.add_at(key.clone(), at);
        }
        let mut writes = turn.writes;
        let is_empty = cron_job["status"].is_null() && turn.status == json!({});
        if !is_empty && turn.status != cron_job["status"] {
            let mut object = cron_job.to_value();
            object["status"] = turn.status;
            writes.push(Write::update_status(&CRON_JOBS, object));
        }
        for notice in turn.notices {
            self.events.add(key, notice);
        }
        writes
    }

    fn events(&mut self) -> Option<&mut EventLog> {
        Some(&mut self.events)
    }
}

impl Actor for CronJobController {
    fn name(&self) -> &'static str {
        "cronjob-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "cronjob-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(CRON_JOBS), Interest::Kind(JOBS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}

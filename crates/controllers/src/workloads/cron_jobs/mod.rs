//! The CronJob controller: it creates Jobs by schedule (`ControllerV2` of kube-controller-manager).
//!
//! The name of a Job is that of its CronJob with the minutes of the scheduled time since 1970. Schedules without a time
//! zone are in UTC. The Jobs of a payload's CronJobs have no pods.

mod due;
mod schedule;
mod turn;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::json;
use windtunnel_core::clock::Time;
use windtunnel_core::resources::{CRON_JOBS, JOBS};
use windtunnel_core::{Identity, Key, Object, View, Write};

use self::turn::Turn;
use crate::owners;
use crate::recorder::{Notice, Recorder, Subject};
use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The CronJob controller of the kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct CronJobController {
    queue: WorkQueue,
    events: BTreeMap<Key, Recorder>,
    /// Why the API server rejected the last Job of a CronJob, until an Event says so.
    rejected: BTreeMap<Key, String>,
    started: bool,
}

impl CronJobController {
    /// Creates a CronJob controller.
    pub fn new() -> Self {
        Self::default()
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
            if let Err(refusal) = &answer.outcome
                && answer.write.verb() == "create"
            {
                self.rejected.insert(key, format!("Error creating job: {}", refusal.message));
            }
        }
    }

    fn record(&mut self, key: &Key, cron_job: &Object, notice: Notice, now: Time) -> Option<Write> {
        self.events.entry(key.clone()).or_insert_with(|| recorder(cron_job)).record(notice, now)
    }
}

fn recorder(cron_job: &Object) -> Recorder {
    let involved = json!({
        "apiVersion": CRON_JOBS.api_version(),
        "kind": CRON_JOBS.kind,
        "name": cron_job.name(),
        "namespace": cron_job.namespace(),
        "uid": cron_job.uid(),
    });
    let source = json!({ "component": "cronjob-controller" });
    Recorder::of(Subject { involved, namespace: cron_job.namespace().to_owned(), source })
}

impl Reconcile for CronJobController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let Some(cron_job) = view.get_key(key) else {
            self.events.remove(key);
            self.rejected.remove(key);
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
        let rejected = self.rejected.remove(key).map(|why| Notice::warning("FailedCreate", why));
        for notice in rejected.into_iter().chain(turn.notices) {
            writes.extend(self.record(key, cron_job, notice, now));
        }
        writes
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

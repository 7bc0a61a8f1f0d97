//! The TTL-after-finished controller deletes finished Jobs after `spec.ttlSecondsAfterFinished`.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after, parse_rfc3339};
use windtunnel_core::resources::JOBS;
use windtunnel_core::{DeleteOptions, Identity, Key, Object, Propagation, View, Write};

use crate::workqueue::{Reconcile, WorkQueue};
use crate::{Actor, Input, Interest, Step};

/// The TTL-after-finished controller of kube-controller-manager.
#[derive(Debug, Clone, Default)]
pub struct TtlAfterFinishedController {
    queue: WorkQueue,
    started: bool,
}

impl TtlAfterFinishedController {
    /// Creates a TTL-after-finished controller.
    pub fn new() -> Self {
        Self::default()
    }

    fn notice(&mut self, input: &Input<'_>) {
        if !std::mem::replace(&mut self.started, true) {
            for job in input.view.list(&JOBS) {
                self.queue.add(JOBS.key_of(job));
            }
        }
        self.queue.shift_times(input.clock_shift);
        for change in input.changes {
            self.queue.add(change.key.clone());
        }
        self.queue.process_answers(input.answers, input.now);
    }
}

/// The time at which a finished Job is to be deleted; `None` if it is not finished or has no TTL.
fn expires_at(job: &Object) -> Option<Time> {
    let ttl = job.number("/spec/ttlSecondsAfterFinished")?;
    let finished = job.conditions().iter().find(|condition| {
        matches!(condition["type"].as_str(), Some("Complete" | "Failed")) && condition["status"] == "True"
    })?;
    let finished_at = parse_rfc3339(finished["lastTransitionTime"].as_str()?)?;
    Some(after(finished_at, SignedDuration::from_secs(ttl)))
}

impl Reconcile for TtlAfterFinishedController {
    fn queue(&mut self) -> &mut WorkQueue {
        &mut self.queue
    }

    fn sync(&mut self, key: &Key, view: &View, now: Time) -> Vec<Write> {
        let job = view.get_key(key).filter(|job| !job.is_terminating());
        let Some((job, at)) = job.and_then(|job| Some((job, expires_at(job)?))) else {
            self.queue.forget(key);
            return Vec::new();
        };
        if at > now {
            self.queue.add_at(key.clone(), at);
            return Vec::new();
        }
        let options = DeleteOptions {
            uid: Some(job.uid().to_owned()),
            propagation: Some(Propagation::Foreground),
            ..DeleteOptions::default()
        };
        vec![Write::delete_with(&JOBS, job.namespace(), job.name(), options)]
    }
}

impl Actor for TtlAfterFinishedController {
    fn name(&self) -> &'static str {
        "ttl-after-finished-controller"
    }

    fn identity(&self) -> Identity {
        Identity::service_account("kube-system", "ttl-after-finished-controller")
    }

    fn interests(&self) -> Vec<Interest> {
        vec![Interest::Kind(JOBS)]
    }

    fn step(&mut self, input: &Input<'_>) -> Step {
        self.notice(input);
        self.reconcile(input)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windtunnel_core::clock::rfc3339;

    use super::*;
    use crate::testing::Rig;

    fn put_job(rig: &mut Rig, name: &str, ttl: Option<i64>, condition: &str) {
        let at = rfc3339(rig.now);
        rig.put(
            &JOBS,
            json!({
                "metadata": { "namespace": "ns", "name": name },
                "spec": { "ttlSecondsAfterFinished": ttl },
                "status": { "conditions": [{ "type": condition, "status": "True", "lastTransitionTime": at }] },
            }),
        );
    }

    #[test]
    fn finished_jobs_are_deleted_after_their_ttl() {
        let mut rig = Rig::new();
        rig.seat(|| Box::new(TtlAfterFinishedController::new()));
        put_job(&mut rig, "complete", Some(60), "Complete");
        put_job(&mut rig, "failed", Some(0), "Failed");
        put_job(&mut rig, "running", Some(0), "Suspended");
        put_job(&mut rig, "forever", None, "Complete");
        rig.run(1);
        let jobs = |rig: &Rig| -> Vec<String> {
            let jobs = rig.view.list(&JOBS).filter(|job| !job.is_terminating());
            jobs.map(|job| job.name().to_owned()).collect()
        };
        assert_eq!(jobs(&rig), ["complete", "forever", "running"]);
        rig.run(58);
        assert_eq!(jobs(&rig), ["complete", "forever", "running"]);
        rig.run(2);
        assert_eq!(jobs(&rig), ["forever", "running"]);
    }

    #[test]
    fn a_longer_ttl_delays_the_deletion() {
        let mut rig = Rig::new();
        rig.seat(|| Box::new(TtlAfterFinishedController::new()));
        put_job(&mut rig, "job", Some(60), "Complete");
        rig.run(30);
        let longer = json!({ "spec": { "ttlSecondsAfterFinished": 120 } });
        rig.write(&Write::merge_patch(&JOBS, "ns", "job", longer));
        rig.run(60);
        assert!(rig.view.get(&JOBS, "ns", "job").is_some());
        rig.run(31);
        assert!(rig.view.get(&JOBS, "ns", "job").is_none_or(Object::is_terminating));
    }
}

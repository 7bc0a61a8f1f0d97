//! Premature ends of pods, by deadline or deletion.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::resources::PODS;
use windtunnel_core::{DeleteOptions, Object, Operation, Write};

use super::pod_status::{Container, State};
use super::worker::{PodSync, random_duration};
use crate::recorder::Notice;
use crate::{Effect, PROGRAM};

const DEADLINE_PASSED: &str = "Pod was active on the node longer than the specified deadline";

/// The grace period of pods that do not set one, in seconds.
const DEFAULT_GRACE: i64 = 30;

/// Whether the simulated programs of a pod end only when they are killed. The programs of a user's pod do, if the pod
/// has a longer grace period than the default: their authors expect that they need it. Those of OpenShift and
/// Kubernetes end soon after SIGTERM.
fn ends_late(pod: &Object) -> bool {
    let is_of_cluster = ["openshift-", "kube-"].iter().any(|prefix| pod.namespace().starts_with(prefix));
    !is_of_cluster
        && pod.number("/spec/terminationGracePeriodSeconds").is_some_and(|grace| grace > DEFAULT_GRACE)
}

impl PodSync<'_> {
    pub(super) fn fail_by_deadline(&mut self) {
        let now = self.site.now;
        self.status.phase = "Failed";
        crate::marks::POD_DEADLINE.reach();
        "DeadlineExceeded".clone_into(&mut self.status.reason);
        DEADLINE_PASSED.clone_into(&mut self.status.message);
        self.record_event(Notice::normal("DeadlineExceeded", DEADLINE_PASSED));
        for container in &mut self.status.containers {
            if let State::Running { since } = container.state {
                container.state = State::ended(since, now, 137);
                self.out.effects = vec![Effect::Kill { pod: self.key.clone() }];
            }
        }
    }

    /// Deletes the pod gracefully: SIGTERM, wait, SIGKILL at the end of the grace period, then removal of the
    /// object.
    pub(super) fn stop(&mut self) {
        let now = self.site.now;
        let runs =
            |look: &Self| look.status.containers.iter().any(|c| c.is_running() && !look.has_ended(&c.name));
        if runs(self) {
            let at_once = self.pod.number("/metadata/deletionGracePeriodSeconds") == Some(0);
            let stop_by = match self.memory.stop_by {
                _ if at_once => now,
                Some(stop_by) => stop_by,
                None => self.terminate(),
            };
            if now < stop_by {
                self.schedule_by(stop_by);
                self.out.why = Some(format!("waiting for the processes of {} to end", self.key));
                return;
            }
            self.out.effects.push(Effect::Kill { pod: self.key.clone() });
        }
        if self.memory.removed {
            return;
        }
        if self.end_containers() {
            self.write_status();
        }
        self.memory.removed = true;
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            uid: Some(self.pod.uid().to_owned()),
            ..DeleteOptions::default()
        };
        let delete = Write::delete_now(&PODS, self.pod.namespace(), self.pod.name());
        self.out.writes.push(Write { operation: Operation::Delete(options), ..delete });
    }

    /// Sends SIGTERM and returns the time by which all processes have ended: the end of the grace period, or
    /// less than two seconds for pods without a program that needs more time.
    fn terminate(&mut self) -> Time {
        let has_program = self.pod.annotation(PROGRAM) == Some("true") || self.has_processes();
        let ends_late = !has_program && ends_late(self.pod);
        if !ends_late {
            self.out.effects.push(Effect::Terminate { pod: self.key.clone() });
        }
        for container in self.status.containers.iter().filter(|container| container.is_running()) {
            let notice = Notice::normal("Killing", format!("Stopping container {}", container.name));
            self.out.notices.push(notice);
        }
        // Counts from the time at which the kubelet sees the deletion, as `deletionTimestamp` is by the clock
        // of the API server.
        let grace = self.pod.number("/metadata/deletionGracePeriodSeconds").unwrap_or(0);
        let grace_end = after(self.site.now, SignedDuration::from_secs(grace));
        let stop_by = if has_program || ends_late {
            grace_end
        } else {
            grace_end.min(self.site.now + random_duration(&mut self.stream("stop", "", 0), (200, 2_000)))
        };
        *self.memory.stop_by.insert(stop_by)
    }

    /// Marks running containers as terminated. Returns whether there were any.
    fn end_containers(&mut self) -> bool {
        let now = self.site.now;
        let exited = &self.memory.exited;
        let mut ended_any = false;
        for container in &mut self.status.containers {
            if let State::Running { since } = container.state {
                let code = exited.get(&container.name).copied().unwrap_or(137);
                container.state = State::ended(since, now, code);
                ended_any = true;
            }
        }
        if ended_any && !self.status.is_terminal() {
            let well = self.status.containers.iter().all(Container::is_done);
            self.status.phase = if well { "Succeeded" } else { "Failed" };
        }
        ended_any
    }
}

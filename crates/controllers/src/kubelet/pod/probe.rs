//! Injected faults of running containers: their probes fail, or their processes exit again and again.
//! Annotations of the pod set the fault.

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};

use super::pod_status::State;
use super::probe_timing::{first_success, time_to_threshold};
use super::worker::PodSync;
use crate::Effect;
use crate::faults::{Fault, FaultKind};
use crate::recorder::Notice;

/// The startup time of a program that has a startup probe.
const STARTUP_MIN: SignedDuration = SignedDuration::from_secs(1);

/// The exit code of a process that is killed by SIGTERM.
const TERMINATED: i64 = 143;

impl PodSync<'_> {
    fn fault(&self) -> Option<Fault> {
        Fault::from_annotations(self.pod).flatten()
    }

    /// Whether programs of the pod end before they do anything.
    pub(super) fn crashes_at_start(&self) -> bool {
        self.fault().is_some_and(|fault| fault.kind == FaultKind::CrashLooping)
    }

    /// Checks a container that has been running since `since`.
    pub(super) fn probe(&mut self, index: usize, since: Time) {
        let fault = self.fault();
        if fault.is_none() && self.has_process(index) {
            return self.probe_process(index, since);
        }
        if self.status.containers[index].starting && !self.has_started_up(index, since, fault.as_ref()) {
            return;
        }
        let Some(fault) = fault else {
            self.memory.failing.remove(&self.status.containers[index].name);
            return self.wait_for_readiness(index, since);
        };
        match fault.kind {
            FaultKind::CrashLooping => self.crash(index, since),
            FaultKind::Unready => self.fail_readiness(index, &fault),
            FaultKind::NotLive => self.fail_liveness(index, since, &fault),
            _ => {}
        }
    }

    /// Whether the startup probe of a container has succeeded. Other probes start after that.
    fn has_started_up(&mut self, index: usize, since: Time, fault: Option<&Fault>) -> bool {
        match fault {
            Some(fault) if fault.kind == FaultKind::CrashLooping => {
                self.crash(index, since);
                return false;
            }
            Some(fault) if fault.kind == FaultKind::NotStarted => {
                self.fail_startup(index, since, fault);
                return false;
            }
            _ => {}
        }
        let probe = &self.spec(index)["startupProbe"];
        let up = after(since, first_success(probe).max(STARTUP_MIN));
        if up > self.site.now {
            self.schedule_by(up);
            return false;
        }
        self.status.containers[index].starting = false;
        true
    }

    /// Restarts a container whose startup probe fails for too long.
    fn fail_startup(&mut self, index: usize, since: Time, fault: &Fault) {
        let probe = &self.spec(index)["startupProbe"];
        let fails_at = after(since, first_success(probe) + time_to_threshold(probe));
        if fails_at > self.site.now {
            return self.schedule_by(fails_at);
        }
        self.restart_for_probe(index, since, "Startup", "startup", fault);
    }

    /// Keeps a container unready until its first readiness probe.
    fn wait_for_readiness(&mut self, index: usize, since: Time) {
        let ready = after(since, first_success(&self.spec(index)["readinessProbe"]));
        if ready > self.site.now && !self.is_ready_in_api(index) {
            self.status.containers[index].fails_probe = true;
            self.schedule_by(ready);
        }
    }

    /// Ends the process about a second after its start.
    fn crash(&mut self, index: usize, since: Time) {
        let end = since + self.run_time(index);
        if end > self.site.now {
            self.schedule_by(end);
        } else {
            self.end(index, since, 1);
        }
    }

    fn fail_readiness(&mut self, index: usize, fault: &Fault) {
        let (fails_at, _) = self.failing_since(index, "readinessProbe");
        let was_ready = self.is_ready_in_api(index);
        if fails_at > self.site.now && was_ready {
            return self.schedule_by(fails_at);
        }
        self.status.containers[index].fails_probe = true;
        if was_ready {
            let why = fault.message_or("HTTP probe failed with statuscode: 500");
            self.record_event(Notice::warning("Unhealthy", format!("Readiness probe failed: {why}")));
        }
    }

    fn fail_liveness(&mut self, index: usize, since: Time, fault: &Fault) {
        let (fails_at, began) = self.failing_since(index, "livenessProbe");
        // The failures of a restarted container count from its start.
        let fails_at = if since > began { after(since, fails_at.duration_since(began)) } else { fails_at };
        if fails_at > self.site.now {
            return self.schedule_by(fails_at);
        }
        self.restart_for_probe(index, since, "Liveness", "liveness", fault);
    }

    /// Restarts a container whose probe has failed too often.
    fn restart_for_probe(&mut self, index: usize, since: Time, probe: &str, named: &str, fault: &Fault) {
        let why = fault.message_or("HTTP probe failed with statuscode: 500");
        self.record_event(Notice::warning("Unhealthy", format!("{probe} probe failed: {why}")));
        let name = &self.status.containers[index].name;
        let killing = format!("Container {name} failed {named} probe, will be restarted");
        self.record_event(Notice::normal("Killing", killing));
        self.end(index, since, TERMINATED);
    }

    /// Kills the process of a container and schedules its restart.
    fn end(&mut self, index: usize, since: Time, code: i64) {
        let now = self.site.now;
        self.status.containers[index].state = State::ended(since, now, code);
        self.out.effects.push(Effect::Kill { pod: self.key.clone() });
        self.crash_loop(index);
    }

    /// The time at which a probe reaches its failure threshold, and the time of its first failure.
    fn failing_since(&mut self, index: usize, probe: &str) -> (Time, Time) {
        let time_to_threshold = time_to_threshold(&self.spec(index)[probe]);
        let name = self.status.containers[index].name.clone();
        let began = *self.memory.failing.entry(name).or_insert(self.site.now);
        (after(began, time_to_threshold), began)
    }

    /// Whether the container is ready in the API.
    pub(super) fn is_ready_in_api(&self, index: usize) -> bool {
        let container = &self.status.containers[index];
        let list = if container.init { "/status/initContainerStatuses" } else { "/status/containerStatuses" };
        let mut statuses = self.pod.list(list).iter();
        statuses.any(|status| status["name"] == container.name.as_str() && status["ready"] == true)
    }
}

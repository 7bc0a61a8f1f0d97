//! Programs that run on and are not well: their probes fail, or they end again and again. A pod is told so by its annotations.

use jiff::SignedDuration;
use serde_json::Value;

use super::status::State;
use super::worker::Look;
use crate::actors::Effect;
use crate::actors::recorder::Notice;
use crate::base::clock::{Time, after};
use crate::model::fault::{Fault, FaultKind};

/// How often a container is probed, and how often a probe fails before that counts, where nothing is said.
const PERIOD_SECONDS: i64 = 10;
const FAILURES: i64 = 3;

/// What a process says that was asked to end and did not handle that.
const TERMINATED: i64 = 143;

impl Look<'_> {
    /// What the pod is told to fail with.
    fn fault(&self) -> Option<Fault> {
        Fault::told(self.pod).flatten()
    }

    /// Looks at a container that has been running since `since`.
    pub(super) fn probe(&mut self, index: usize, since: Time) {
        let Some(fault) = self.fault() else {
            self.memory.failing.remove(&self.status.containers[index].name);
            return;
        };
        match fault.kind {
            FaultKind::CrashLooping => self.crash(index, since),
            FaultKind::Unready => self.fail_readiness(index, &fault),
            FaultKind::NotLive => self.fail_liveness(index, since, &fault),
            _ => {}
        }
    }

    /// The process ends by itself, about a second after it began or was told to.
    fn crash(&mut self, index: usize, since: Time) {
        let end = since + self.run_time(index);
        if end > self.site.now {
            self.look_again(end);
        } else {
            self.end(index, since, 1);
        }
    }

    fn fail_readiness(&mut self, index: usize, fault: &Fault) {
        let (fails_at, _) = self.failing_since(index, "readinessProbe");
        let was_ready = self.is_told_ready(index);
        if fails_at > self.site.now && was_ready {
            return self.look_again(fails_at);
        }
        self.status.containers[index].fails_probe = true;
        if was_ready {
            let why = fault.message_or("HTTP probe failed with statuscode: 500");
            self.tell(Notice::warning("Unhealthy", format!("Readiness probe failed: {why}")));
        }
    }

    fn fail_liveness(&mut self, index: usize, since: Time, fault: &Fault) {
        let (fails_at, began) = self.failing_since(index, "livenessProbe");
        // Probes of a container that was started meanwhile begin anew.
        let fails_at = if since > began { after(since, fails_at.duration_since(began)) } else { fails_at };
        if fails_at > self.site.now {
            return self.look_again(fails_at);
        }
        let why = fault.message_or("HTTP probe failed with statuscode: 500");
        self.tell(Notice::warning("Unhealthy", format!("Liveness probe failed: {why}")));
        let name = &self.status.containers[index].name;
        let killing = format!("Container {name} failed liveness probe, will be restarted");
        self.tell(Notice::normal("Killing", killing));
        self.end(index, since, TERMINATED);
    }

    /// Ends the process of a container.
    fn end(&mut self, index: usize, since: Time, code: i64) {
        let now = self.site.now;
        self.status.containers[index].state = State::ended(since, now, code);
        self.out.effects.push(Effect::Kill { pod: self.key.clone() });
        self.crash_loop(index);
    }

    /// When a probe of a container has failed often enough, and when it began to fail.
    fn failing_since(&mut self, index: usize, probe: &str) -> (Time, Time) {
        let name = self.status.containers[index].name.clone();
        let spec = self.pod.list("/spec/containers").iter().find(|spec| spec["name"] == name.as_str());
        let told = |field: &str| spec.map_or(&Value::Null, |spec| &spec[probe][field]).as_i64();
        let (period, failures) =
            (told("periodSeconds").unwrap_or(PERIOD_SECONDS), told("failureThreshold").unwrap_or(FAILURES));
        let began = *self.memory.failing.entry(name).or_insert(self.site.now);
        (after(began, SignedDuration::from_secs(period.saturating_mul(failures))), began)
    }

    /// Whether the API says that the container is ready.
    fn is_told_ready(&self, index: usize) -> bool {
        let name = self.status.containers[index].name.as_str();
        let statuses = self.pod.list("/status/containerStatuses").iter();
        { statuses }.any(|status| status["name"] == name && status["ready"] == true)
    }
}

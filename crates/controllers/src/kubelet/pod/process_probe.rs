//! Probes of containers that run a process of their own: the container runtime carries out each attempt, and the kubelet
//! counts the results (`pkg/kubelet/prober/worker.go` of Kubernetes).

use jiff::SignedDuration;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::probe::ProbeKind;

use super::probe_timing::number;
use super::probing::Verdict;
use super::worker::PodSync;
use crate::Effect;
use crate::recorder::Notice;

/// The default of `terminationGracePeriodSeconds`.
const GRACE_SECONDS: i64 = 30;

impl PodSync<'_> {
    /// Probes the process of a container that has been running since `since`.
    pub(super) fn probe_process(&mut self, index: usize, since: Time) {
        if self.memory.stopping.contains_key(&self.status.containers[index].name) {
            return self.stop_container(index, None);
        }
        if self.status.containers[index].starting {
            match self.verdict(index, ProbeKind::Startup, since) {
                Verdict::Open => return,
                Verdict::Failure => return self.stop_container(index, Some(ProbeKind::Startup)),
                Verdict::Success => self.status.containers[index].starting = false,
            }
        }
        if self.verdict(index, ProbeKind::Liveness, since) == Verdict::Failure {
            return self.stop_container(index, Some(ProbeKind::Liveness));
        }
        let is_ready = match self.verdict(index, ProbeKind::Readiness, since) {
            Verdict::Open => self.is_ready_in_api(index),
            verdict => verdict == Verdict::Success,
        };
        self.status.containers[index].fails_probe = !is_ready;
    }

    /// Counts the last result of a probe, and begins the next attempt if it is due. A container without this probe passes it.
    fn verdict(&mut self, index: usize, kind: ProbeKind, since: Time) -> Verdict {
        let probe = self.spec(index)[kind.field()].clone();
        if !probe.is_object() {
            return Verdict::Success;
        }
        let container = self.status.containers[index].name.clone();
        let now = self.site.now;
        let state = self.memory.probing.take_result(&container, kind, since, &probe, now);
        if let Some(why) = state.failure {
            self.record_event(Notice::warning("Unhealthy", format!("{} probe failed: {why}", kind.label())));
        }
        let is_over = state.verdict == Verdict::Failure && kind != ProbeKind::Readiness;
        match state.next.filter(|_| !is_over) {
            Some(due) if due <= now => {
                self.memory.probing.begin(&container, kind);
                self.out.effects.push(Effect::Probe { pod: self.key.clone(), container, kind });
            }
            Some(due) => self.schedule_by(due),
            None => {}
        }
        state.verdict
    }

    /// Ends the process of a container whose probe has failed: SIGTERM, then SIGKILL at the end of the grace period. The
    /// container restarts when its end is reported.
    fn stop_container(&mut self, index: usize, probe: Option<ProbeKind>) {
        let container = self.status.containers[index].name.clone();
        let (pod, now) = (self.key.clone(), self.site.now);
        if let Some(kind) = probe {
            let (name, kind_name) = (&container, kind.label().to_lowercase());
            let text = format!("Container {name} failed {kind_name} probe, will be restarted");
            self.record_event(Notice::normal("Killing", text));
            let of_pod = self.pod.number("/spec/terminationGracePeriodSeconds").unwrap_or(GRACE_SECONDS);
            let grace = number(&self.spec(index)[kind.field()], "terminationGracePeriodSeconds", of_pod);
            self.memory.stopping.insert(container.clone(), after(now, SignedDuration::from_secs(grace)));
            self.out
                .effects
                .push(Effect::TerminateContainer { pod: pod.clone(), container: container.clone() });
        }
        let kill_at = self.memory.stopping.get(&container).copied().unwrap_or(now);
        if kill_at <= now {
            self.out.effects.push(Effect::KillContainer { pod, container });
        } else {
            self.schedule_by(kill_at);
        }
    }
}

//! Processes that crash at one of their writes, and their replacements.

use jiff::SignedDuration;
use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::Write;
use windtunnel_core::clock::after;
use windtunnel_core::requests::faults::{Hits, RequestAttributes, RequestFilter};

use crate::engine::runtime::Simulation;
use crate::record::Event;

/// How long a crashed process is down that runs in no simulated pod, until its supervisor has restarted it.
/// Processes in pods wait for their kubelet.
const RESTART_DELAY: SignedDuration = SignedDuration::from_secs(1);

/// The exit code of a Go program that panics.
const PANIC: i64 = 2;

/// A planned crash: the process, and the writes at which it crashes.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Crash {
    pub(in crate::engine) process: String,
    pub(in crate::engine) writes: RequestFilter,
    pub(in crate::engine) moment: CrashMoment,
    pub(in crate::engine) hits: Hits,
}

/// When a process crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum CrashMoment {
    /// Before it sends the write.
    Before,
    /// After the write, before it sees the answer.
    After,
}

impl Simulation {
    /// Decides whether the process `by` crashes at this write, and records it.
    pub(in crate::engine) fn crash_at(&mut self, by: &str, write: &Write) -> Option<CrashMoment> {
        if self.crashes.is_empty() {
            return None;
        }
        let request = RequestAttributes {
            verb: write.verb(),
            kind: &write.resource.kind,
            name: &write.name,
            subresource: write.subresource.unwrap_or_default(),
            agent: by,
            user: "",
        };
        let is_meant = |crash: &&mut Crash| crash.process == by && crash.writes.matches(&request);
        let crash = self.crashes.iter_mut().find(is_meant)?;
        let moment = crash.hits.count_match().then_some(crash.moment);
        self.crashes.retain(|crash| !crash.hits.is_over());
        if let Some(moment) = moment {
            let when = if moment == CrashMoment::Before { "before" } else { "after" };
            let text = format!("{by} crashes {when} {} {}", write.verb(), write.key());
            self.record_event(Event::Fault { text });
        }
        moment
    }

    /// Crashes a process: its memory is lost.
    pub(in crate::engine) fn crash(&mut self, id: ActorId) {
        if let Some((pod, container)) = self.processes.of_actor(id) {
            return self.end_process(&pod, &container, PANIC);
        }
        self.replace(id);
        let up = after(self.now(), RESTART_DELAY);
        self.schedule.suspend(id, up);
    }

    /// Replaces an actor that runs in no pod. The new one has seen nothing yet.
    pub(in crate::engine) fn replace(&mut self, id: ActorId) {
        let Some(name) = self.schedule.name(id).map(str::to_owned) else { return };
        let replacement = self.replacement_program(id).or_else(|| {
            let kubernetes = windtunnel_controllers::kubernetes(&self.streams);
            let mut all = kubernetes
                .into_iter()
                .chain(windtunnel_openshift::components(&self.environment, &self.streams));
            all.find(|actor| actor.name() == name)
        });
        self.forget_counts(&name);
        if let Some(actor) = replacement {
            self.schedule.replace(id, actor);
        }
    }
}

//! Programs that die at one of their writes, and what replaces them.

use jiff::SignedDuration;
use windtunnel_controllers::schedule::ActorId;
use windtunnel_core::Write;
use windtunnel_core::clock::after;
use windtunnel_core::requests::faults::{Asked, Hits, Requests};

use crate::engine::runtime::Simulation;
use crate::record::Event;

/// How long a program is away that stands in no simulated pod, until whoever watches over it has started it again: what runs
/// in one waits for its kubelet.
const AWAY: SignedDuration = SignedDuration::from_secs(1);

/// The exit code of a Go program that panics.
const PANIC: i64 = 2;

/// Who dies, and at which of its writes.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Crash {
    pub(in crate::engine) process: String,
    pub(in crate::engine) writes: Requests,
    pub(in crate::engine) moment: Moment,
    pub(in crate::engine) hits: Hits,
}

/// When a program dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Moment {
    /// When it has decided to write.
    Before,
    /// When it has written and has not heard of it.
    After,
}

impl Simulation {
    /// Whether the program `by` dies at this write.
    pub(in crate::engine) fn crash_at(&mut self, by: &str, write: &Write) -> Option<Moment> {
        if self.crashes.is_empty() {
            return None;
        }
        let asked = Asked {
            verb: write.verb(),
            kind: &write.resource.kind,
            name: &write.name,
            subresource: write.subresource.unwrap_or_default(),
            agent: by,
            user: "",
        };
        let is_meant = |crash: &&mut Crash| crash.process == by && crash.writes.have(&asked);
        let crash = self.crashes.iter_mut().find(is_meant)?;
        let moment = crash.hits.strike().then_some(crash.moment);
        self.crashes.retain(|crash| !crash.hits.is_over());
        if let Some(moment) = moment {
            let when = if moment == Moment::Before { "before" } else { "after" };
            let text = format!("{by} crashes {when} {} {}", write.verb(), write.key());
            self.note(Event::Fault { text });
        }
        moment
    }

    /// A program dies: its memory is gone.
    pub(in crate::engine) fn crash(&mut self, id: ActorId) {
        if let Some((pod, container)) = self.processes.of_actor(id) {
            return self.end_process(&pod, &container, PANIC);
        }
        self.replace(id);
        let up = after(self.now(), AWAY);
        self.schedule.suspend(id, up);
    }

    /// Puts a new actor in the place of one that stands in no pod. It has everything still to see.
    pub(in crate::engine) fn replace(&mut self, id: ActorId) {
        let Some(name) = self.schedule.name(id).map(str::to_owned) else { return };
        let again = self.program_again(id).or_else(|| {
            let kubernetes = windtunnel_controllers::kubernetes(&self.streams);
            let mut all =
                kubernetes.into_iter().chain(windtunnel_openshift::components(&self.world, &self.streams));
            all.find(|actor| actor.name() == name)
        });
        self.forget_counts(&name);
        if let Some(actor) = again {
            self.schedule.replace(id, actor);
        }
    }
}

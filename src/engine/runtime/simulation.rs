//! The simulation: actors take their turns at virtual moments, and the cluster changes by their writes alone.
//!
//! Time is that of the paused runtime. It moves only while the simulation waits for the next turn, so controllers
//! that run as tasks beside it (the update status controller) live in the same time.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::schedule::{ActorId, Schedule, Surroundings};
use windtunnel_controllers::{Actor, Signal};
use windtunnel_core::View;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::{Clock as _, Time, VirtualClock};
use windtunnel_core::limits::{REQUESTS_PER_SECOND_MAX, STEPS_PER_ACTOR_MAX, STEPS_PER_MOMENT_MAX};
use windtunnel_core::rng::Streams;
use windtunnel_openshift::world::World;

use super::metrics::Exports;
use super::processes::Processes;
use crate::backends::Door;
use crate::engine::command::Heard;
use crate::engine::error::SessionError;
use crate::engine::expectations::invariants::Invariants;
use crate::engine::expectations::node_order::Phases;
use crate::engine::faults::agenda::Agenda;
use crate::engine::faults::crashes::Crash;
use crate::engine::machines::Machines;
use crate::plan::{Invariant, Snapshot};
use crate::record::{Folding, Record};

/// What an actor, or a machine that joins, is waiting for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The actor, or `machine/NAME`.
    pub actor: String,
    /// What it waits for, in its own words.
    pub why: String,
    /// When it will look again by itself.
    pub until: Option<Time>,
}

/// A cluster that runs in virtual time.
pub(in crate::engine) struct Simulation {
    pub(in crate::engine) world: Arc<World>,
    pub(in crate::engine) streams: Streams,
    pub(in crate::engine) clock: Arc<VirtualClock>,
    pub(in crate::engine) door: Box<dyn Door>,
    pub(in crate::engine) view: View,
    pub(in crate::engine) record: Record,
    folding: Folding,
    /// The alerts that are pending or fire, as Prometheus would answer; controllers beside the engine wait for changes.
    pub(in crate::engine) alerts: watch::Sender<Vec<ActiveAlert>>,
    /// Texts that expectations asked to be kept, with their files.
    pub(in crate::engine) snapshots: Vec<Snapshot>,
    /// What the last command said.
    pub(in crate::engine) heard: Option<Heard>,
    /// When time is to stand still for good.
    pub(in crate::engine) halt: Option<Time>,
    /// What steps have kept for later ones, by name.
    pub(in crate::engine) kept: BTreeMap<String, String>,
    /// What running components have counted, also for who asks pods.
    pub(in crate::engine) exports: Arc<Exports>,
    /// When the first program started in a container.
    pub(in crate::engine) first_program: Option<Time>,
    /// When the first one did that is no actor.
    pub(in crate::engine) first_task: Option<Time>,
    /// Holds the kube-apiserver where it is, whatever its operator rolls out.
    pub(in crate::engine) pinned: bool,
    /// Why the API server is not the one that a release came with, where that makes a difference.
    pub(in crate::engine) unserved: Option<String>,
    pub(in crate::engine) processes: Processes,
    pub(in crate::engine) machines: Machines,
    pub(in crate::engine) phases: Phases,
    pub(in crate::engine) invariants: Invariants,
    pub(in crate::engine) schedule: Schedule,
    /// What begins and ends later.
    pub(in crate::engine) agenda: Agenda,
    /// Who dies at which of its writes.
    pub(in crate::engine) crashes: Vec<Crash>,
    /// The virtual second that requests are counted in, and how many there were before it.
    requests: (i64, u64),
}

impl Simulation {
    /// A simulation of what lies behind `door`; no actors yet.
    pub(in crate::engine) fn new(
        mut door: Box<dyn Door>,
        clock: Arc<VirtualClock>,
        world: Arc<World>,
        streams: Streams,
        record: Record,
    ) -> Self {
        let exports = Arc::new(Exports::default());
        door.answer_behind(exports.clone());
        let phases = Phases::since(record.header.epoch);
        let invariants = Invariants::of(Invariant::all(), record.header.epoch);
        Self {
            world,
            streams,
            clock,
            door,
            view: View::default(),
            record,
            folding: Folding::default(),
            alerts: watch::Sender::new(Vec::new()),
            snapshots: Vec::new(),
            heard: None,
            halt: None,
            kept: BTreeMap::new(),
            exports,
            first_program: None,
            first_task: None,
            pinned: false,
            unserved: None,
            processes: Processes::default(),
            machines: Machines::default(),
            phases,
            invariants,
            schedule: Schedule::default(),
            agenda: Agenda::default(),
            crashes: Vec::new(),
            requests: (0, 0),
        }
    }

    /// Takes the actors of another simulation over, as they are, with all that waits for them.
    pub(in crate::engine) fn take_over(&mut self, other: &Self) {
        self.schedule = other.schedule.clone();
        let environment: Arc<dyn NodeEnvironment> = Arc::clone(&self.world) as _;
        self.schedule.move_to(&environment);
    }

    /// The current moment.
    pub(in crate::engine) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Adds an actor; its first turn comes at this moment.
    pub(in crate::engine) fn add(&mut self, actor: Box<dyn Actor>) -> ActorId {
        self.schedule.add(actor)
    }

    /// Drops an actor: its memory is gone.
    pub(in crate::engine) fn remove(&mut self, id: ActorId) {
        if let Some(name) = self.schedule.remove(id) {
            self.forget_counts(&name);
        }
    }

    /// Gives a signal to an actor.
    pub(in crate::engine) fn signal(&mut self, id: ActorId, signal: Signal) {
        self.schedule.signal(id, signal);
    }

    /// What the actors wait for, those that wait for something, and the machines that join.
    pub(in crate::engine) fn pending(&self) -> Vec<Pending> {
        let actors = self.schedule.waiting().map(|waiting| Pending {
            actor: waiting.actor.to_owned(),
            why: waiting.why.to_owned(),
            until: waiting.until,
        });
        actors.chain(self.machines.pending()).collect()
    }

    /// Runs until `stop` says so or `deadline` has come; true for the former. Everything due at the deadline itself
    /// is still done.
    pub(in crate::engine) async fn run_until(
        &mut self,
        deadline: Time,
        mut stop: impl FnMut(&Self) -> bool,
    ) -> Result<bool, SessionError> {
        let mut asked_at = None;
        loop {
            self.settle()?;
            self.folding.keep_up(&mut self.record.entries);
            if let Some(why) = self.door.lost() {
                return Err(SessionError::Lost(why.to_owned()));
            }
            // Nothing new is seen before something is written.
            let seen = self.record.entries.len();
            if asked_at != Some(seen) && stop(self) {
                return Ok(true);
            }
            asked_at = Some(seen);
            let now = self.now();
            if self.halt.is_some_and(|halt| now >= halt) {
                return Err(SessionError::Halted);
            }
            let deadline_or_halt = self.halt.map_or(deadline, |halt| halt.min(deadline));
            let next = self.due().map_or(deadline_or_halt, |at| at.min(deadline_or_halt));
            if next <= now && now >= deadline {
                return Ok(false);
            }
            // It may end before: then nothing is due, and it is looked again.
            self.idle_until(next).await;
            self.check_request_rate()?;
            self.wake()?;
        }
    }

    /// Lets time pass until `moment`, or until a controller beside the engine has written something.
    pub(in crate::engine) async fn idle_until(&self, moment: Time) {
        let mut writes = self.door.subscribe();
        let mut moment = moment;
        if let Some(pace) = self.door.pace() {
            let now = self.now();
            // A blocking task holds the paused clock.
            let held = tokio::task::spawn_blocking(move || pace.hold(now, moment)).await;
            moment = held.unwrap_or(moment);
        }
        // Either is a reason to look again, so it does not matter which it was.
        let _ = tokio::time::timeout_at(self.clock.instant_of(moment), writes.changed()).await;
    }

    /// Stops a run in which controllers make too many requests within one virtual second.
    fn check_request_rate(&mut self) -> Result<(), SessionError> {
        let (second, total) = (self.now().as_second(), self.door.client_requests());
        if self.requests.0 != second {
            self.requests = (second, total);
        }
        let requests = total - self.requests.1;
        if requests > REQUESTS_PER_SECOND_MAX { Err(SessionError::HotLoop { requests }) } else { Ok(()) }
    }

    /// When the next actor wants to look again by itself, the next machine is up or down, or the next fault begins or ends.
    pub(in crate::engine) fn due(&self) -> Option<Time> {
        [self.schedule.due(), self.machines.next(), self.agenda.next()].into_iter().flatten().min()
    }

    /// Makes the actors ready whose time has come.
    ///
    /// # Errors
    /// A fault that cannot begin or end.
    pub(in crate::engine) fn wake(&mut self) -> Result<(), SessionError> {
        self.wake_by(self.now())
    }

    /// The same for who knows what time it is.
    fn wake_by(&mut self, now: Time) -> Result<(), SessionError> {
        if self.due().is_none_or(|at| at > now) {
            return Ok(());
        }
        self.keep_agenda()?;
        self.boot();
        self.retry();
        self.schedule.wake(now);
        Ok(())
    }

    /// Lets the ready actors take their turns at this moment until none is left.
    pub(in crate::engine) fn settle(&mut self) -> Result<(), SessionError> {
        // Time stands still for as long as somebody is ready, and who runs beside the engine writes nothing meanwhile.
        let (now, mut steps) = (self.now(), 0);
        self.take_changes();
        self.wake_by(now)?;
        while let Some(id) = self.schedule.next_ready() {
            let most = self.steps_per_moment_max();
            if steps == most {
                let actor = self.schedule.name(id).unwrap_or_default().to_owned();
                return Err(SessionError::NoProgress { actor, steps: most });
            }
            steps += 1;
            self.turn(id);
            self.wake_by(now)?;
        }
        Ok(())
    }

    fn steps_per_moment_max(&self) -> u32 {
        let actors = u32::try_from(self.schedule.len()).unwrap_or(u32::MAX);
        actors.saturating_mul(STEPS_PER_ACTOR_MAX).max(STEPS_PER_MOMENT_MAX)
    }

    pub(in crate::engine) fn turn(&mut self, id: ActorId) {
        let now = self.now();
        let (alerts, counters) = (self.alerts.borrow(), self.exports.counters());
        let surroundings = Surroundings { view: &self.view, alerts: &alerts, counters: &counters, now };
        let turn = self.schedule.turn(id, surroundings);
        drop(alerts);
        let Some(turn) = turn else { return };
        if !turn.writes.is_empty() && !self.request(id, turn.writes) {
            return;
        }
        self.schedule.wake_at(id, turn.wake_at);
        for effect in turn.effects {
            self.effect(id, effect);
        }
    }

    /// Whether an actor of this number is there.
    pub(in crate::engine) fn is_running(&self, id: ActorId) -> bool {
        self.schedule.contains(id)
    }
}

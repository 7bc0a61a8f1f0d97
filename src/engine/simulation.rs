//! The simulation: actors take their turns at virtual moments, and the cluster changes by their writes alone.
//!
//! Time is that of the paused runtime. It moves only while the simulation waits for the next turn, so controllers
//! that run as tasks beside it (the update status controller) live in the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::watch;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::{Actor, Input, Signal};
use windtunnel_core::View;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::{Clock as _, Time, VirtualClock, after};
use windtunnel_core::limits::{REQUESTS_PER_SECOND_MAX, STEPS_PER_ACTOR_MAX, STEPS_PER_MOMENT_MAX};
use windtunnel_core::rng::Streams;
use windtunnel_openshift::world::World;

use super::agenda::Agenda;
use super::command::Heard;
use super::crashes::Crash;
use super::error::SessionError;
use super::exports::Exports;
use super::invariants::Invariants;
use super::machines::Machines;
use super::phases::Phases;
use super::processes::Processes;
use super::router::{ActorId, Router};
use super::slot::Slot;
use crate::backends::Door;
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
pub(super) struct Simulation {
    pub(super) world: Arc<World>,
    pub(super) streams: Streams,
    pub(super) clock: Arc<VirtualClock>,
    pub(super) door: Box<dyn Door>,
    pub(super) view: View,
    pub(super) record: Record,
    folding: Folding,
    /// The alerts that are pending or fire, as Prometheus would answer; controllers beside the engine wait for changes.
    pub(super) alerts: watch::Sender<Vec<ActiveAlert>>,
    /// Texts that expectations asked to be kept, with their files.
    pub(super) snapshots: Vec<Snapshot>,
    /// What the last command said.
    pub(super) heard: Option<Heard>,
    /// When time is to stand still for good.
    pub(super) halt: Option<Time>,
    /// What steps have kept for later ones, by name.
    pub(super) kept: BTreeMap<String, String>,
    /// What running components have counted, also for who asks pods.
    pub(super) exports: Arc<Exports>,
    /// When the first program started in a container.
    pub(super) first_program: Option<Time>,
    /// When the first one did that is no actor.
    pub(super) first_task: Option<Time>,
    /// Holds the kube-apiserver where it is, whatever its operator rolls out.
    pub(super) pinned: bool,
    /// Why the API server is not the one that a release came with, where that makes a difference.
    pub(super) unserved: Option<String>,
    pub(super) processes: Processes,
    pub(super) machines: Machines,
    pub(super) phases: Phases,
    pub(super) invariants: Invariants,
    pub(super) slots: BTreeMap<ActorId, Slot>,
    next_id: ActorId,
    pub(super) router: Router,
    pub(super) wakes: BTreeSet<(Time, ActorId)>,
    pub(super) ready: BTreeSet<ActorId>,
    /// When requests are made again.
    pub(super) retries: BTreeSet<(Time, ActorId)>,
    /// What begins and ends later.
    pub(super) agenda: Agenda,
    /// Who dies at which of its writes.
    pub(super) crashes: Vec<Crash>,
    /// The virtual second that requests are counted in, and how many there were before it.
    requests: (i64, u64),
}

impl Simulation {
    /// A simulation of what lies behind `door`; no actors yet.
    pub(super) fn new(
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
            slots: BTreeMap::new(),
            next_id: 0,
            router: Router::default(),
            wakes: BTreeSet::new(),
            ready: BTreeSet::new(),
            retries: BTreeSet::new(),
            agenda: Agenda::default(),
            crashes: Vec::new(),
            requests: (0, 0),
        }
    }

    /// Takes the actors of another simulation over, as they are, with all that waits for them.
    pub(super) fn take_over(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        let environment: Arc<dyn NodeEnvironment> = Arc::clone(&self.world) as _;
        self.slots.values_mut().for_each(|slot| slot.actor.move_to(&environment));
        self.next_id = other.next_id;
        self.router = other.router.clone();
        self.wakes.clone_from(&other.wakes);
        self.ready.clone_from(&other.ready);
        self.retries.clone_from(&other.retries);
    }

    /// The current moment.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Adds an actor; its first turn comes at this moment.
    pub(super) fn add(&mut self, actor: Box<dyn Actor>) -> ActorId {
        let id = self.next_id;
        self.next_id += 1;
        self.router.add(id, actor.interests());
        let slot = Slot::new(actor);
        self.slots.insert(id, slot);
        self.ready.insert(id);
        id
    }

    /// Drops an actor: its memory is gone.
    pub(super) fn remove(&mut self, id: ActorId) {
        if let Some(slot) = self.slots.remove(&id) {
            self.forget_counts(slot.actor.name());
            if let Some(wake_at) = slot.wake_at {
                self.wakes.remove(&(wake_at, id));
            }
        }
        self.router.remove(id);
        self.ready.remove(&id);
    }

    /// Gives a signal to an actor.
    pub(super) fn signal(&mut self, id: ActorId, signal: Signal) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.signals.push(signal);
            self.ready.insert(id);
        }
    }

    /// What the actors wait for, those that wait for something, and the machines that join.
    pub(super) fn pending(&self) -> Vec<Pending> {
        let actors = self.slots.values().filter(|slot| !slot.why.is_empty()).map(|slot| Pending {
            actor: slot.actor.name().to_owned(),
            why: slot.why.clone(),
            until: slot.wake_at,
        });
        actors.chain(self.machines.pending()).collect()
    }

    /// Runs until `stop` says so or `deadline` has come; true for the former. Everything due at the deadline itself
    /// is still done.
    pub(super) async fn run_until(
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
    pub(super) async fn idle_until(&self, moment: Time) {
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
    pub(super) fn due(&self) -> Option<Time> {
        let first = |times: &BTreeSet<(Time, ActorId)>| times.first().map(|(at, _)| *at);
        let beneath = [self.machines.next(), self.agenda.next()];
        [first(&self.wakes), first(&self.retries)].into_iter().chain(beneath).flatten().min()
    }

    /// Makes the actors ready whose time has come.
    ///
    /// # Errors
    /// A fault that cannot begin or end.
    pub(super) fn wake(&mut self) -> Result<(), SessionError> {
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
        while let Some((at, id)) = self.wakes.first().copied().filter(|(at, _)| *at <= now) {
            self.wakes.remove(&(at, id));
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.wake_at = None;
                self.ready.insert(id);
            }
        }
        Ok(())
    }

    /// Lets the ready actors take their turns at this moment until none is left.
    pub(super) fn settle(&mut self) -> Result<(), SessionError> {
        // Time stands still for as long as somebody is ready, and who runs beside the engine writes nothing meanwhile.
        let (now, mut steps) = (self.now(), 0);
        self.take_changes();
        self.wake_by(now)?;
        while let Some(id) = self.ready.pop_first() {
            let most = self.steps_per_moment_max();
            if steps == most {
                let actor = self.slots.get(&id).map_or("", |slot| slot.actor.name()).to_owned();
                return Err(SessionError::NoProgress { actor, steps: most });
            }
            steps += 1;
            self.turn(id);
            self.wake_by(now)?;
        }
        Ok(())
    }

    fn steps_per_moment_max(&self) -> u32 {
        let actors = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        actors.saturating_mul(STEPS_PER_ACTOR_MAX).max(STEPS_PER_MOMENT_MAX)
    }

    pub(super) fn turn(&mut self, id: ActorId) {
        let now = self.now();
        let Some(slot) = self.slots.get_mut(&id) else { return };
        if let Some(up) = slot.down_until.filter(|up| *up > now) {
            return self.wake_at(id, Some(up));
        }
        let (changes, answers, signals) = (
            std::mem::take(&mut slot.changes),
            std::mem::take(&mut slot.answers),
            std::mem::take(&mut slot.signals),
        );
        let (ahead, alerts, counters) = (slot.ahead, self.alerts.borrow(), self.exports.counters());
        let input = Input {
            view: slot.stale.as_deref().unwrap_or(&self.view),
            changes: &changes,
            answers: &answers,
            signals: &signals,
            alerts: &alerts,
            counters: &counters,
            now: after(now, ahead),
            leap: std::mem::take(&mut slot.leap),
        };
        let step = slot.actor.step(&input);
        drop(alerts);
        slot.why = step.why.into_owned();
        if !step.writes.is_empty() && !self.request(id, step.writes) {
            return;
        }
        self.wake_at(id, step.wake_at.map(|at| after(at, -ahead).max(now)));
        for effect in step.effects {
            self.effect(id, effect);
        }
    }

    /// Has an actor look again then, whatever it wished before.
    fn wake_at(&mut self, id: ActorId, at: Option<Time>) {
        let Some(slot) = self.slots.get_mut(&id) else { return };
        // Who waits for its client has nothing to look for before that goes on.
        let at = at.map(|at| slot.retry.at.map_or(at, |retry| at.max(retry)));
        if let Some(old) = std::mem::replace(&mut slot.wake_at, at) {
            self.wakes.remove(&(old, id));
        }
        self.wakes.extend(at.map(|at| (at, id)));
    }

    /// Whether an actor of this number is there.
    pub(super) fn is_running(&self, id: ActorId) -> bool {
        self.slots.contains_key(&id)
    }
}

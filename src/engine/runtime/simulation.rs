//! The simulation: actors take turns in virtual time, and only their writes change the cluster.
//!
//! Time is that of the paused runtime. It moves only while the simulation waits for the next turn, so
//! controllers that run as tasks beside it (the update status controller) share its time.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use futures::future::select;
use tokio::sync::watch;
use windtunnel_controllers::environment::NodeEnvironment;
use windtunnel_controllers::schedule::{ActorId, Schedule, Surroundings};
use windtunnel_controllers::{Actor, Signal};
use windtunnel_core::View;
use windtunnel_core::alert::ActiveAlert;
use windtunnel_core::clock::{Clock as _, Time, VirtualClock};
use windtunnel_core::limits::REQUESTS_PER_SECOND_MAX;
use windtunnel_core::rng::Streams;
use windtunnel_openshift::environment::Environment;

use super::api_server_version::ApiServerVersion;
use super::crashes::Crashes;
use super::embedded::Embedded;
use super::machines::Machines;
use super::metrics::Exports;
use super::observers::Observers;
use super::pending::Pending;
use super::processes::Processes;
use super::programs::Programs;
use super::reads::Reads;
use super::user_programs::UserPrograms;
use crate::backends::{ClusterConnection, Pace};
use crate::engine::counting::Counted;
use crate::engine::error::SessionError;
use crate::engine::faults_in_effect::FaultsInEffect;
use crate::engine::mutants::{MutantState, SeededMutant};
use crate::engine::step_state::StepState;
use crate::plan::Since;
use crate::record::{Entry, Event, Folding, Record};

/// The number of entries from which a flood of writes is named after the component that made most of them.
const LAST_WRITES: usize = 1000;

/// Looks at a settled cluster. Returns the moment at which it wants to look again even if nothing happens.
type Look = dyn FnMut(&Simulation) -> Option<Time> + Send;

/// A cluster that runs in virtual time.
pub(in crate::engine) struct Simulation {
    pub(in crate::engine) environment: Arc<Environment>,
    pub(in crate::engine) streams: Streams,
    pub(in crate::engine) clock: Arc<VirtualClock>,
    pub(in crate::engine) connection: Box<dyn ClusterConnection>,
    /// The clock that clients of a served cluster see, while a timeline follows it.
    pub(in crate::engine) client_pace: Option<Arc<dyn Pace>>,
    pub(in crate::engine) view: View,
    pub(in crate::engine) record: Record,
    pub(super) folding: Folding,
    pub(in crate::engine) observers: Observers,
    /// The look of the caller at the settled cluster.
    pub(in crate::engine) look: Option<Box<Look>>,
    /// The reads of kube clients since the start.
    pub(in crate::engine) reads: Reads,
    pub(in crate::engine) steps: StepState,
    /// Pending and firing alerts, as Prometheus would return them. Controllers beside the engine wait for
    /// changes.
    pub(in crate::engine) alerts: watch::Sender<Vec<ActiveAlert>>,
    pub(in crate::engine) api_server: ApiServerVersion,
    pub(in crate::engine) processes: Processes,
    pub(in crate::engine) machines: Machines,
    pub(in crate::engine) schedule: Schedule,
    /// The faults that are in effect.
    pub(in crate::engine) faults_in_effect: FaultsInEffect,
    /// Planned crashes of processes at their writes.
    pub(in crate::engine) crashes: Crashes,
    pub(in crate::engine) programs: UserPrograms,
    /// The programs in Rust.
    pub(in crate::engine) embedded: Embedded,
    /// The planted bug of the run, if there is one.
    pub(in crate::engine) how: Option<&'static SeededMutant>,
    /// The virtual second in which requests are counted, and the number of requests before it.
    requests: (i64, u64),
}

impl Simulation {
    /// Creates a simulation of the cluster behind `connection`, without actors.
    pub(in crate::engine) fn new(
        connection: Box<dyn ClusterConnection>,
        clock: Arc<VirtualClock>,
        environment: Arc<Environment>,
        streams: Streams,
        record: Record,
    ) -> Self {
        Self::with_exports(connection, clock, environment, streams, record, Arc::default())
    }

    /// Creates a simulation whose programs have counted and printed before.
    pub(in crate::engine) fn with_exports(
        mut connection: Box<dyn ClusterConnection>,
        clock: Arc<VirtualClock>,
        environment: Arc<Environment>,
        streams: Streams,
        record: Record,
        exports: Arc<Exports>,
    ) -> Self {
        let alerts = watch::Sender::new(Vec::new());
        connection.set_upstream(Arc::new(Programs {
            exports: Arc::clone(&exports),
            environment: Arc::clone(&environment),
            alerts: alerts.subscribe(),
        }));
        let secrets = connection.secrets().unwrap_or_default();
        let epoch = record.header.epoch;
        let observers = Observers::new(epoch, secrets, exports, Arc::clone(&environment));
        Self {
            environment,
            streams,
            clock,
            connection,
            client_pace: None,
            view: View::default(),
            record,
            folding: Folding::default(),
            observers,
            look: None,
            steps: StepState::default(),
            reads: Reads::default(),
            alerts,
            api_server: ApiServerVersion::default(),
            processes: Processes::default(),
            machines: Machines::default(),
            schedule: Schedule::default(),
            faults_in_effect: FaultsInEffect::default(),
            crashes: Crashes::default(),
            programs: UserPrograms::default(),
            embedded: Embedded::default(),
            how: None,
            requests: (0, 0),
        }
    }

    /// Copies the actors of another simulation, with their inboxes.
    pub(in crate::engine) fn copy_actors_from(&mut self, other: &Self) {
        self.schedule = other.schedule.clone();
        let environment: Arc<dyn NodeEnvironment> = Arc::clone(&self.environment) as _;
        self.schedule.move_to(&environment);
    }

    /// The current time.
    pub(in crate::engine) fn now(&self) -> Time {
        self.clock.now()
    }

    /// The record since the last actions of the scenario; without any, the whole run.
    pub(in crate::engine) fn entries_since_last_actions(&self) -> &[Entry] {
        let entries = &self.record.entries;
        let run = || entries.partition_point(|entry| self.record.is_set_up(entry));
        &entries[self.steps.last_actions.since().unwrap_or_else(run).min(entries.len())..]
    }

    /// The part of the run since this moment.
    ///
    /// # Errors
    /// There was no such moment.
    pub(in crate::engine) fn counted(&self, since: Since) -> Result<Counted, String> {
        self.steps.counting.counted(since, &self.record, self.now())
    }

    /// Adds an actor; its first turn comes at this moment.
    pub(in crate::engine) fn add(&mut self, actor: Box<dyn Actor>) -> ActorId {
        let actor = self.tampered(actor);
        self.schedule.add(actor)
    }

    /// Makes this simulation one with a mutant. It must not be copied from then on.
    pub(in crate::engine) fn tamper(&mut self, mutant_state: &MutantState) {
        let ids: Vec<ActorId> = self.schedule.names().map(|(id, _)| id).collect();
        for id in ids {
            self.schedule.wrap(id, |actor| mutant_state.wrap(actor));
        }
        self.observers.mutant_state = Some(mutant_state.clone());
    }

    /// Plants a bug in the running components, and in those that start later.
    pub(in crate::engine) fn plant(&mut self, how: &'static SeededMutant) {
        let ids: Vec<ActorId> = self.schedule.names().map(|(id, _)| id).collect();
        for id in ids {
            self.schedule.wrap(id, |actor| how.plant_in(actor));
        }
        self.how = Some(how);
    }

    /// Returns an actor that passes the mutant of the run, if there is one.
    pub(in crate::engine) fn tampered(&self, actor: Box<dyn Actor>) -> Box<dyn Actor> {
        let actor = match self.how {
            Some(how) => how.plant_in(actor),
            None => actor,
        };
        match &self.observers.mutant_state {
            Some(mutant_state) => mutant_state.wrap(actor),
            None => actor,
        }
    }

    /// Removes an actor, whose memory is lost.
    pub(in crate::engine) fn remove(&mut self, id: ActorId) {
        if let Some(name) = self.schedule.remove(id) {
            self.forget_counts(&name);
        }
    }

    /// Sends a signal to an actor.
    pub(in crate::engine) fn signal(&mut self, id: ActorId, signal: Signal) {
        self.schedule.signal(id, signal);
    }

    /// The actors and joining machines that wait for something.
    pub(in crate::engine) fn pending(&self) -> Vec<Pending> {
        let actors = self.schedule.waiting().map(|waiting| Pending {
            actor: waiting.actor.to_owned(),
            why: waiting.why.to_owned(),
            until: waiting.until,
        });
        actors.chain(self.machines.pending()).collect()
    }

    /// Runs until `stop` returns true or `deadline` has come. Returns true in the first case. Everything due
    /// at the deadline itself still runs.
    pub(in crate::engine) async fn run_until(
        &mut self,
        deadline: Time,
        mut stop: impl FnMut(&Self) -> bool,
    ) -> Result<bool, SessionError> {
        let mut checked_at = None;
        loop {
            self.settle()?;
            self.let_programs_work().await?;
            self.folding.keep_up(&mut self.record.entries);
            let next_look = self.be_looked_at();
            if let Some(why) = self.connection.lost() {
                return Err(SessionError::ClusterLost(why.to_owned()));
            }
            if self.client_pace.as_ref().is_some_and(|pace| pace.is_stopped()) {
                return Err(SessionError::Halted);
            }
            // `stop` cannot change its answer before something is written or printed.
            let printed = if self.steps.waits_for_log {
                self.observers.exports.with_logs(|logs| logs.printed())
            } else {
                0
            };
            let seen = (self.record.entries.len(), printed);
            if checked_at != Some(seen) && stop(self) {
                return Ok(true);
            }
            checked_at = Some(seen);
            let now = self.now();
            if self.steps.halt.is_some_and(|halt| now >= halt) {
                return Err(SessionError::Halted);
            }
            let deadline_or_halt = self.steps.halt.map_or(deadline, |halt| halt.min(deadline));
            let due = [self.due(), next_look].into_iter().flatten().min();
            let next = due.map_or(deadline_or_halt, |at| at.min(deadline_or_halt));
            if next <= now && now >= deadline {
                return Ok(false);
            }
            // The wait may end early. Then nothing is due, and the loop checks again.
            self.idle_until(next).await;
            self.check_request_rate()?;
            self.check_writes()?;
            self.wake()?;
        }
    }

    /// Ends a run in which components write without end.
    fn check_writes(&self) -> Result<(), SessionError> {
        let entries = &self.record.entries;
        let Some(most) = self.steps.writes_max.filter(|most| entries.len() > *most) else { return Ok(()) };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in entries.iter().rev().take(LAST_WRITES) {
            if let Event::Write(write) = &entry.event {
                *counts.entry(&write.by).or_default() += 1;
            }
        }
        let by = counts.into_iter().max_by_key(|(_, count)| *count).map_or("", |(by, _)| by);
        Err(SessionError::TooManyWrites { writes: most, by: by.to_owned() })
    }

    /// Shows the settled cluster to the caller. Returns when to look again even if nothing happens.
    fn be_looked_at(&mut self) -> Option<Time> {
        let mut look = self.look.take()?;
        let next = look(self);
        self.look = Some(look);
        next
    }

    /// Lets time pass until `moment`, or until a controller beside the engine writes something or ends.
    pub(in crate::engine) async fn idle_until(&self, moment: Time) {
        if let Some(pace) = self.client_pace.clone() {
            let now = self.now();
            let reached = tokio::task::spawn_blocking(move || pace.advance(now, moment)).await;
            // A client's write ends the wait, and no component sees it before its time.
            return tokio::time::sleep_until(self.clock.instant_of(reached.unwrap_or(moment))).await;
        }
        let mut writes = self.connection.subscribe();
        let mut moment = moment;
        if let Some(pace) = self.connection.pace() {
            let now = self.now();
            // A blocking task keeps the paused clock from advancing.
            let reached = tokio::task::spawn_blocking(move || pace.advance(now, moment)).await;
            moment = reached.unwrap_or(moment);
        }
        let (changed, ended) = (pin!(writes.changed()), pin!(self.embedded.ended()));
        // In all cases the caller checks again, so it does not matter which it was.
        let _ = tokio::time::timeout_at(self.clock.instant_of(moment), select(changed, ended)).await;
    }

    /// Settles, and also waits for the cluster's own controllers where it has some. No cluster time passes.
    pub(in crate::engine) async fn settle_with_controllers(&mut self) -> Result<(), SessionError> {
        self.settle()?;
        if self.client_pace.is_some() || self.connection.pace().is_some() {
            self.idle_until(self.now()).await;
            self.settle()?;
        }
        Ok(())
    }

    /// Stops a run in which controllers make too many requests within one virtual second.
    fn check_request_rate(&mut self) -> Result<(), SessionError> {
        let (second, total) = (self.now().as_second(), self.connection.client_requests());
        if self.requests.0 != second {
            self.requests = (second, total);
        }
        let requests = total - self.requests.1;
        if requests > REQUESTS_PER_SECOND_MAX { Err(SessionError::HotLoop { requests }) } else { Ok(()) }
    }

    /// When the next actor, machine or fault is due.
    pub(in crate::engine) fn due(&self) -> Option<Time> {
        let programs = self.programs.restarts.first().map(|(at, _)| *at);
        [self.schedule.due(), self.machines.next(), self.observers.agenda.next(), programs]
            .into_iter()
            .flatten()
            .min()
    }

    /// Makes the due actors ready, and carries out due faults, boots and retries.
    ///
    /// # Errors
    /// A fault cannot begin or end.
    pub(in crate::engine) fn wake(&mut self) -> Result<(), SessionError> {
        self.wake_by(self.now())
    }

    /// As [`Simulation::wake`], at a known time.
    fn wake_by(&mut self, now: Time) -> Result<(), SessionError> {
        if self.due().is_none_or(|at| at > now) {
            return Ok(());
        }
        self.run_due_faults()?;
        self.restart_programs_beside(now)?;
        self.boot();
        self.retry();
        self.schedule.wake(now);
        Ok(())
    }

    /// Gives the ready actors their turns at this moment until none is left.
    pub(in crate::engine) fn settle(&mut self) -> Result<(), SessionError> {
        // Time stands still while an actor is ready, and tasks beside the engine write nothing meanwhile.
        let (now, mut steps) = (self.now(), 0);
        self.take_changes();
        self.take_program_events();
        self.take_embedded_ends()?;
        self.adopt_nodes();
        self.end_unannotated_faults()?;
        self.wake_by(now)?;
        while let Some(id) = self.schedule.next_ready() {
            let most = self.schedule.turns_per_moment_max();
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

    pub(in crate::engine) fn turn(&mut self, id: ActorId) {
        let now = self.now();
        let (alerts, counters) = (self.alerts.borrow(), self.observers.exports.counters());
        let surroundings = Surroundings { view: &self.view, alerts: &alerts, counters: &counters, now };
        let turn = self.schedule.turn(id, surroundings);
        drop(alerts);
        let Some(turn) = turn else { return };
        for mark in turn.marks {
            self.observers.marks.entry(mark).or_insert(now);
        }
        if !turn.writes.is_empty() && !self.request(id, turn.writes) {
            return;
        }
        self.schedule.wake_at(id, turn.wake_at);
        for effect in turn.effects {
            self.carry_out(id, effect);
        }
    }

    /// Whether an actor with this number exists.
    pub(in crate::engine) fn is_running(&self, id: ActorId) -> bool {
        self.schedule.contains(id)
    }
}

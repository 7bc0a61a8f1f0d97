//! A session: one simulated cluster on its own paused runtime, driven by commands. Time stands still between
//! two commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use windtunnel_controllers::Actor;
use windtunnel_core::View;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::short_duration;
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::monitoring::History;

use super::counting::Moment;
use super::error::SessionError;
use super::expectations::{self, captures, held_before, status_text, texts};
use super::mutants::SeededMutant;
use super::progress::Progress;
use super::runtime::logs::Logs;
use super::runtime::{Pending, Simulation};
use super::{act, command, idle_faults};
use crate::backends::programs::Waited;
use crate::plan::{
    Action, Attempt, Differences, Expectation, ExpectedState, ExpectedTime, Plan, Run, Snapshot, Step,
    TextDifference,
};
use crate::record::{ADMINISTRATOR, ContainerLog, Event, FailureKind, Record, Secrets};

/// One simulated cluster and its time.
pub struct Session {
    pub(super) simulation: Simulation,
    // Dropped last: tasks of the simulation belong to it.
    pub(super) runtime: tokio::runtime::Runtime,
}

impl Session {
    /// Stops virtual time for good when `span` has passed since the start. A step that runs then ends with
    /// [`SessionError::Halted`].
    pub fn halt_after(&mut self, span: SignedDuration) {
        self.simulation.steps.halt = Some(after(self.simulation.record.header.epoch, span));
    }

    /// Ends the run with [`SessionError::TooManyWrites`] when its record has more entries than this.
    pub fn limit_writes(&mut self, most: usize) {
        self.simulation.steps.writes_max = Some(most);
    }

    /// Passes over the first `count` steps of the next plan, because they have run.
    pub fn skip_steps(&mut self, count: usize) {
        self.simulation.steps.progress = Progress::before(count);
    }

    /// Makes expectations fail that say `within` and have held since before the last actions: they do not test
    /// what the actions do.
    pub fn be_strict(&mut self) {
        self.simulation.steps.last_actions.is_strict = true;
    }

    /// Checks no invariants from now on.
    pub(super) fn ignore_invariants(&mut self) {
        self.simulation.observers.invariants.ignore_all();
    }

    /// Adds a component to the cluster's own.
    pub fn add(&mut self, actor: Box<dyn Actor>) {
        self.simulation.add(actor);
    }

    /// The current virtual time.
    pub fn now(&self) -> Time {
        let _guard = self.runtime.enter();
        self.simulation.now()
    }

    /// Virtual time since the start.
    pub fn elapsed(&self) -> SignedDuration {
        self.now().duration_since(self.simulation.record.header.epoch)
    }

    /// The cluster as it is now.
    pub fn view(&self) -> &View {
        &self.simulation.view
    }

    /// The services and machines outside the cluster.
    pub fn environment(&self) -> &Arc<Environment> {
        &self.simulation.environment
    }

    /// The components that wait for something.
    pub fn pending(&self) -> Vec<Pending> {
        self.simulation.pending()
    }

    /// The record so far.
    pub fn record(&self) -> &Record {
        &self.simulation.record
    }

    /// The marks that components have reached, with the time at which each was reached first.
    pub fn marks(&self) -> &BTreeMap<&'static str, Time> {
        &self.simulation.observers.marks
    }

    /// Makes a component a seeded mutant, from now on.
    pub fn plant(&mut self, mutant: &'static SeededMutant) {
        self.simulation.plant(mutant);
    }

    /// Takes the texts of the snapshots so far that have no text in the plan.
    pub fn take_snapshots(&mut self) -> Vec<Snapshot> {
        std::mem::take(&mut self.simulation.steps.snapshots)
    }

    /// Takes the exact texts of the last step, if it failed.
    pub(super) fn take_differences(&mut self) -> Option<Differences> {
        let differences = self.simulation.steps.differences.take()?;
        let secrets = &self.simulation.observers.secrets;
        let has_secret =
            |found: &Vec<TextDifference>| found.iter().any(|found| secrets.hide(&found.seen) != found.seen);
        match differences {
            Ok(found) if has_secret(&found) => Some(Err("the text has values of Secrets".to_owned())),
            other => Some(other),
        }
    }

    /// How long the run has waited for programs of this machine; `None` without any.
    pub fn waited_for_programs(&self) -> Option<Waited> {
        self.simulation.connection.programs().map(|programs| programs.waited())
    }

    /// Returns each fault that never acted, with the reason. A run that failed ended too early for faults that had not begun.
    pub fn idle_faults(&self, has_failed: bool) -> Vec<String> {
        idle_faults::of(&self.simulation, has_failed)
    }

    /// Ends the run and returns its record.
    pub fn into_record(mut self) -> Record {
        self.simulation.record.logs = self.take_logs();
        self.simulation.record.rights = self.simulation.connection.rights();
        self.simulation.observers.secrets.hide_in(&mut self.simulation.record);
        self.simulation.record
    }

    /// The record so far, without the values of Secrets.
    pub fn redacted_record(&self) -> Record {
        let mut record = self.simulation.record.clone();
        self.simulation.observers.secrets.hide_in(&mut record);
        record
    }

    /// The values that the run must not print.
    pub fn secrets(&self) -> &Arc<Secrets> {
        &self.simulation.observers.secrets
    }

    /// Learns the values of the Secrets in a plan, because reports also name steps that do not run.
    pub(super) fn learn_secrets(&self, plan: &Plan) {
        plan.secrets().into_iter().for_each(|secret| self.simulation.observers.secrets.learn_secret(secret));
    }

    /// Runs one step of a timeline.
    ///
    /// # Errors
    /// As [`Session::perform`], [`Session::expect_rejection`], [`Session::run`], [`Session::advance`] and
    /// [`Session::expect`]. [`SessionError::InvariantBroken`]: the step broke an invariant of the plan.
    pub fn run_step(&mut self, step: &Step) -> Result<(), SessionError> {
        self.simulation.steps.last_actions.held_before = false;
        self.simulation.steps.differences = None;
        let entries = self.simulation.record.entries.len();
        let outcome = self.run_counted_step(step);
        self.track_actions(step, entries);
        outcome.map_err(|error| {
            self.simulation
                .excuse_downgrade(error)
                .redact_with(|text| self.simulation.observers.secrets.hide(text))
        })
    }

    /// As [`Session::run_step`]. The record gets the beginning and the outcome of the step under this text.
    ///
    /// # Errors
    /// As [`Session::run_step`].
    pub fn run_recorded_step(&mut self, text: &str, step: &Step) -> Result<(), SessionError> {
        // In a copy of a cluster, the step has begun already.
        if !self.simulation.steps.progress.is_waiting() {
            let began = self.moment();
            self.simulation.steps.counting.begin_step(began);
            self.record_event(Event::Step { text: text.to_owned() });
        }
        let outcome = self.run_step(step);
        if outcome != Err(SessionError::Halted) {
            let error = outcome.as_ref().err();
            let (failure, kind) = (error.map(ToString::to_string), error.map(SessionError::kind));
            let held_before = self.simulation.steps.last_actions.held_before;
            self.record_event(Event::Outcome { text: text.to_owned(), failure, kind, held_before });
        }
        outcome
    }

    /// Adds a step of an observer to the record: what was done or seen now, and as its failure what is wrong.
    pub fn note(&mut self, text: &str, failure: Option<&str>) {
        self.record_event(Event::Step { text: text.to_owned() });
        let (failure, kind) = (failure.map(str::to_owned), failure.map(|_| FailureKind::Product));
        self.record_event(Event::Outcome { text: text.to_owned(), failure, kind, held_before: false });
    }

    /// This moment of the run.
    fn moment(&self) -> Moment {
        Moment::new(&self.simulation.record, self.now())
    }

    /// As [`Session::run_step_once`]. Remembers what later expectations count from.
    pub(super) fn run_counted_step(&mut self, step: &Step) -> Result<(), SessionError> {
        let began = self.moment();
        let outcome = self.run_step_once(step);
        let Simulation { steps, record, .. } = &mut self.simulation;
        steps.counting.end_step(step, began, record);
        outcome
    }

    fn record_event(&mut self, event: Event) {
        let _guard = self.runtime.enter();
        self.simulation.record_event(event);
    }

    /// Remembers the actions of a step, before which the record had this many entries.
    fn track_actions(&mut self, step: &Step, entries: usize) {
        let Simulation { steps, record, .. } = &mut self.simulation;
        let last_actions = &mut steps.last_actions;
        let has_written = || {
            let made = record.entries.get(entries..).unwrap_or_default();
            made.iter().any(|entry| matches!(&entry.event, Event::Write(write) if write.by == ADMINISTRATOR))
        };
        match step {
            Step::Act(_) => last_actions.add(entries),
            Step::Run(_) if has_written() => last_actions.add(entries),
            Step::Expect(_) | Step::Advance(_) | Step::At(_) => last_actions.end(),
            Step::Try(_) | Step::Run(_) | Step::Keep(_) | Step::KeepCluster(_) | Step::Retry(_) => {}
        }
    }

    /// Runs a step and returns its error unchanged, because a retry may still succeed.
    pub(super) fn run_step_once(&mut self, step: &Step) -> Result<(), SessionError> {
        let filled = captures::fill_kept_values(step, &self.simulation.steps.kept_values)
            .map_err(SessionError::CannotHold)?;
        match &*filled {
            Step::Act(action) => self.perform(action),
            Step::Try(attempt) => self.expect_rejection(attempt),
            Step::Run(run) => self.run(run),
            Step::Advance(span) => self.advance(*span),
            Step::At(span) => self.advance_to(*span),
            Step::Expect(expectation) => self.expect(expectation),
            Step::Keep(keep) => self.keep(keep),
            Step::KeepCluster(name) => self.keep_cluster(name),
            Step::Retry(retry) => self.retry(retry),
        }?;
        match self.simulation.observers.invariants.violation() {
            None => Ok(()),
            Some(why) => Err(SessionError::InvariantBroken(why.to_owned())),
        }
    }

    /// Lets virtual time pass.
    ///
    /// # Errors
    /// A component makes no progress.
    pub fn advance(&mut self, span: SignedDuration) -> Result<(), SessionError> {
        let now = self.now();
        let since = self.simulation.steps.progress.begin_wait(now);
        self.wait_until(after(since, span))
    }

    /// Lets time pass until `deadline`, and ends the wait.
    fn wait_until(&mut self, deadline: Time) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        let outcome = runtime.block_on(simulation.run_until(deadline, |_| false));
        simulation.steps.progress.end_wait();
        outcome.map(drop)
    }

    /// Lets virtual time pass until `span` has passed since the start.
    ///
    /// # Errors
    /// As [`Session::advance`]; [`SessionError::CannotHold`] if more time has passed already.
    pub fn advance_to(&mut self, span: SignedDuration) -> Result<(), SessionError> {
        let passed = self.elapsed();
        if passed > span {
            let passed = short_duration(passed);
            return Err(SessionError::CannotHold(format!(
                "this moment is past: {passed} have passed since the start"
            )));
        }
        let now = self.now();
        self.simulation.steps.progress.begin_wait(now);
        self.wait_until(after(self.simulation.record.header.epoch, span))
    }

    /// Stores the current samples of all metrics, for queries of the past.
    pub fn scrape_now(&self) {
        let simulation = &self.simulation;
        simulation.observers.exports.scrape(&simulation.environment, &simulation.view, self.now());
    }

    /// Lets virtual time pass until `moment`, at most [`Session::next_moment`]. Reads the writes of other clients
    /// there, so that no component sees them before they were made, and stores the samples of a scrape.
    ///
    /// # Errors
    /// As [`Session::advance`].
    pub fn run_scraped_to(&mut self, moment: Time) -> Result<(), SessionError> {
        let scrape = History::next_scrape(self.now());
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            // Nothing is due before.
            tokio::time::sleep_until(simulation.clock.instant_of(moment)).await;
            simulation.run_until(moment, |_| false).await
        })?;
        if moment >= scrape {
            self.scrape_now();
        }
        Ok(())
    }

    /// The next moment at which a component, machine or fault is due, or a scrape.
    pub fn next_moment(&self) -> Time {
        let scrape = History::next_scrape(self.now());
        self.simulation.due().map_or(scrape, |due| due.min(scrape))
    }

    /// Lets time continue after [`Session::halt_after`].
    pub fn continue_after_halt(&mut self) {
        self.simulation.steps.halt = None;
    }

    /// Clears the record and its logs, so that endless runs do not fill the memory.
    pub fn clear_record(&mut self) {
        self.simulation.record.entries.clear();
        self.simulation.steps.counting.clear();
        self.simulation.reads.clear();
        self.take_logs();
    }

    /// Takes the lines that programs have printed for the record so far.
    fn take_logs(&mut self) -> Vec<ContainerLog> {
        self.simulation.observers.exports.with_logs(Logs::take_recorded)
    }

    /// Performs an administrator's action.
    ///
    /// # Errors
    /// The API server rejects the request, or this run lacks the release.
    pub fn perform(&mut self, action: &Action) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle()?;
            act::perform_action(simulation, action)?;
            simulation.settle()
        })
    }

    /// Performs an action that the API server must reject.
    ///
    /// # Errors
    /// [`SessionError::ExpectationFailed`] if the API server accepts it, or rejects it with another message.
    pub fn expect_rejection(&mut self, attempt: &Attempt) -> Result<(), SessionError> {
        match self.perform(&attempt.action) {
            Ok(()) => Err(SessionError::ExpectationFailed("the API server accepted the request".to_owned())),
            Err(SessionError::Refused { message, .. }) => {
                match attempt.refused.iter().find(|text| !text.fits(&message)) {
                    None => Ok(()),
                    Some(text) => {
                        let differences = texts::of_rejection(&attempt.refused, &message);
                        self.simulation.steps.differences = Some(differences);
                        Err(SessionError::ExpectationFailed(format!(
                            "expected a rejection with {text}; its message is: {message}"
                        )))
                    }
                }
            }
            Err(other) => Err(other),
        }
    }

    /// Runs an administrator's command, and checks its output.
    ///
    /// # Errors
    /// With the actual output: [`SessionError::CommandFailed`] if the command must succeed and ended with an error, or
    /// else [`SessionError::ExpectationFailed`].
    pub fn run(&mut self, run: &Run) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle_with_controllers().await?;
            let output = command::run(simulation, &run.command).await?;
            simulation.settle()?;
            output.check(&run.checks).inspect_err(|_| {
                simulation.steps.differences = Some(texts::of_output(&output, &run.checks));
            })
        })
    }

    /// Checks an expectation, now or while time passes.
    ///
    /// # Errors
    /// [`SessionError::ExpectationFailed`] with what was seen instead, and what the run is waiting for.
    pub fn expect(&mut self, expectation: &Expectation) -> Result<(), SessionError> {
        let outcome = self.check_or_wait(expectation);
        self.simulation.steps.progress.end_wait();
        if outcome.as_ref().is_err_and(SessionError::is_unmet) {
            let differences = texts::of_expectation(&self.simulation, expectation);
            self.simulation.steps.differences = Some(differences);
        }
        outcome
    }

    fn check_or_wait(&mut self, expectation: &Expectation) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        let what = &expectation.what;
        expectations::check_observable(simulation, what)?;
        runtime.block_on(async {
            match expectation.when {
                ExpectedTime::Now => {
                    simulation.settle_with_controllers().await?;
                    status_text::keep_snapshot(simulation, what);
                    expectations::check(simulation, what, None)
                        .map_err(|why| expectations::unmet_error(simulation, what, &why))
                }
                ExpectedTime::Within(span) => {
                    simulation.steps.waits_for_log = matches!(what, ExpectedState::Log(_));
                    let now = simulation.now();
                    let start = simulation.steps.progress.begin_wait(now);
                    let met = simulation
                        .run_until(after(start, span), |s| expectations::check(s, what, None).is_ok())
                        .await?;
                    if met {
                        let is_at_once = simulation.now() == start;
                        let held_before = is_at_once && held_before::held_before(simulation, what);
                        simulation.steps.last_actions.held_before = held_before;
                        if held_before && simulation.steps.last_actions.is_strict {
                            return Err(SessionError::HeldBefore);
                        }
                        return Ok(());
                    }
                    let why = expectations::check(simulation, what, None).err().unwrap_or_default();
                    Err(expectations::unmet_error(simulation, what, &why))
                }
                ExpectedTime::Throughout(span) => {
                    let now = simulation.now();
                    let start = simulation.steps.progress.begin_wait(now);
                    simulation.settle_with_controllers().await?;
                    let baseline = simulation.steps.progress.baseline(&simulation.view);
                    let mut broken = None;
                    simulation
                        .run_until(after(start, span), |s| {
                            broken = expectations::check(s, what, Some(&baseline)).err();
                            broken.is_some()
                        })
                        .await?;
                    broken.map_or(Ok(()), |why| Err(expectations::unmet_error(simulation, what, &why)))
                }
            }
        })
    }
}

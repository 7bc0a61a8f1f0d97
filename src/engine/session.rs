//! A session: one simulated cluster on its own paused runtime, driven by commands. Between two commands time stands
//! still.

use jiff::SignedDuration;
use windtunnel_controllers::Actor;
use windtunnel_core::View;
use windtunnel_core::clock::{Time, after};
use windtunnel_core::text::short_duration;

use super::error::SessionError;
use super::expectations::{captures, status};
use super::runtime::{Pending, Simulation};
use super::{act, command, expectations};
use crate::plan::{Action, Attempt, Expectation, Run, Snapshot, Step, When};
use crate::record::{Event, Record};

/// One simulated cluster and its time.
pub struct Session {
    pub(super) simulation: Simulation,
    // Dropped last: tasks of the simulation belong to it.
    pub(super) runtime: tokio::runtime::Runtime,
}

impl Session {
    /// Has time stand still for good when so much of it has passed since the start: whatever goes on then ends with
    /// [`SessionError::Halted`].
    pub fn halt_after(&mut self, span: SignedDuration) {
        self.simulation.halt = Some(after(self.simulation.record.header.epoch, span));
    }

    /// Adds a component to those that a cluster has anyway.
    pub fn add(&mut self, actor: Box<dyn Actor>) {
        self.simulation.add(actor);
    }

    /// The current virtual moment.
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

    /// What each component waits for, those that wait for something.
    pub fn pending(&self) -> Vec<Pending> {
        self.simulation.pending()
    }

    /// What happened so far.
    pub fn record(&self) -> &Record {
        &self.simulation.record
    }

    /// Takes the texts that expectations asked to be kept so far ([`Snapshot`] without a text).
    pub fn take_snapshots(&mut self) -> Vec<Snapshot> {
        std::mem::take(&mut self.simulation.snapshots)
    }

    /// Ends the run and gives its record.
    pub fn into_record(mut self) -> Record {
        if let Some(secrets) = self.simulation.door.secrets() {
            secrets.hide_in(&mut self.simulation.record);
        }
        self.simulation.record
    }

    /// Plays one step of a timeline.
    ///
    /// # Errors
    /// As [`Session::act`], [`Session::attempt`], [`Session::run`], [`Session::advance`] and [`Session::expect`].
    /// [`SessionError::Broken`]: an invariant that the plan holds was broken meanwhile.
    pub fn play(&mut self, step: &Step) -> Result<(), SessionError> {
        let played = self.play_plainly(step);
        played.map_err(|error| self.simulation.blamed(error).hidden(|text| self.simulation.hide(text)))
    }

    /// The same for a step that may be played again: what fails is not yet what came of it.
    pub(super) fn play_plainly(&mut self, step: &Step) -> Result<(), SessionError> {
        let filled = captures::filled(step, &self.simulation.kept).map_err(SessionError::Unmet)?;
        match &*filled {
            Step::Act(action) => self.act(action),
            Step::Try(attempt) => self.attempt(attempt),
            Step::Run(run) => self.run(run),
            Step::Advance(span) => self.advance(*span),
            Step::At(span) => self.advance_to(*span),
            Step::Expect(expectation) => self.expect(expectation),
            Step::Keep(keep) => self.keep(keep),
            Step::Retry(retry) => self.retry(retry),
        }?;
        match self.simulation.invariants.broken() {
            None => Ok(()),
            Some(why) => Err(SessionError::Broken(why.to_owned())),
        }
    }

    /// Lets virtual time pass.
    ///
    /// # Errors
    /// A component that makes no progress.
    pub fn advance(&mut self, span: SignedDuration) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            let deadline = after(simulation.now(), span);
            simulation.run_until(deadline, |_| false).await.map(|_| ())
        })
    }

    /// Lets virtual time pass until so much of it has passed since the start.
    ///
    /// # Errors
    /// As [`Session::advance`]; [`SessionError::Unmet`] if more has passed.
    pub fn advance_to(&mut self, span: SignedDuration) -> Result<(), SessionError> {
        let passed = self.elapsed();
        if passed > span {
            let passed = short_duration(passed);
            return Err(SessionError::Unmet(format!("that is over: {passed} have passed since the start")));
        }
        self.advance(span - passed)
    }

    /// Lets virtual time pass until it is `moment`; what others wrote meanwhile is seen even if that is past.
    ///
    /// # Errors
    /// As [`Session::advance`].
    pub fn run_to(&mut self, moment: Time) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(simulation.run_until(moment, |_| false)).map(|_| ())
    }

    /// When a component wants to look again by itself.
    pub fn due(&self) -> Option<Time> {
        self.simulation.due()
    }

    /// Forgets the record so far, for runs without end.
    pub fn forget(&mut self) {
        self.simulation.record.entries.clear();
    }

    /// Does what an administrator does.
    ///
    /// # Errors
    /// The API server's refusal, or a release that this run does not have.
    pub fn act(&mut self, action: &Action) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle()?;
            act::act(simulation, action)?;
            simulation.settle()
        })
    }

    /// Tries what the API server must refuse.
    ///
    /// # Errors
    /// [`SessionError::Unmet`] if it is not refused, or with other words.
    pub fn attempt(&mut self, attempt: &Attempt) -> Result<(), SessionError> {
        match self.act(&attempt.action) {
            Ok(()) => Err(SessionError::Unmet("the API server did not refuse it".to_owned())),
            Err(SessionError::Refused { message, .. }) => {
                match attempt.refused.iter().find(|text| !text.fits(&message)) {
                    None => Ok(()),
                    Some(text) => {
                        Err(SessionError::Unmet(format!("expected a refusal with {text}; it is: {message}")))
                    }
                }
            }
            Err(other) => Err(other),
        }
    }

    /// Runs a command of an administrator, and checks what came of it.
    ///
    /// # Errors
    /// [`SessionError::Unmet`] tells what it printed instead.
    pub fn run(&mut self, run: &Run) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        runtime.block_on(async {
            simulation.settle()?;
            let said = command::run(simulation, &run.command).await;
            simulation.settle()?;
            command::check(&said, &run.checks).map_err(SessionError::Unmet)
        })
    }

    /// Checks an expectation, now or while time passes.
    ///
    /// # Errors
    /// [`SessionError::Unmet`] tells what was seen instead and what the run is waiting for.
    pub fn expect(&mut self, expectation: &Expectation) -> Result<(), SessionError> {
        let Self { simulation, runtime } = self;
        let what = &expectation.what;
        expectations::can_be_known(simulation, what)?;
        runtime.block_on(async {
            let start = simulation.now();
            match expectation.when {
                When::Now => {
                    simulation.settle()?;
                    status::keep(simulation, what);
                    expectations::check(simulation, what, None)
                        .map_err(|why| expectations::unmet(simulation, &why))
                }
                When::Within(span) => {
                    let met = simulation
                        .run_until(after(start, span), |s| expectations::check(s, what, None).is_ok())
                        .await?;
                    if met {
                        return Ok(());
                    }
                    let why = expectations::check(simulation, what, None).err().unwrap_or_default();
                    Err(expectations::unmet(simulation, &why))
                }
                When::Throughout(span) => {
                    simulation.settle()?;
                    let baseline = simulation.view.clone();
                    let mut broken = None;
                    simulation
                        .run_until(after(start, span), |s| {
                            broken = expectations::check(s, what, Some(&baseline)).err();
                            broken.is_some()
                        })
                        .await?;
                    broken.map_or(Ok(()), |why| Err(expectations::unmet(simulation, &why)))
                }
            }
        })
    }

    /// Writes into the record that a step of the scenario begins.
    pub fn begin_step(&mut self, text: &str) {
        let _guard = self.runtime.enter();
        self.simulation.note(Event::Step { text: text.to_owned() });
    }

    /// Writes into the record how a step of the scenario ended.
    pub fn end_step(&mut self, text: &str, outcome: &Result<(), SessionError>) {
        let _guard = self.runtime.enter();
        let failure = outcome.as_ref().err().map(ToString::to_string);
        self.simulation.note(Event::Outcome { text: text.to_owned(), failure });
    }
}

//! The observers of a run, in the order in which they see its changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use windtunnel_core::clock::Time;
use windtunnel_core::resources::SECRETS;
use windtunnel_core::{Change, View};
use windtunnel_openshift::environment::Environment;

use super::adoption::Adoption;
use super::agenda::Agenda;
use super::metrics::Exports;
use super::workload_logs::OperatorLogs;
use crate::engine::invariants::Invariants;
use crate::engine::mutants::MutantState;
use crate::engine::observer::Observer;
use crate::engine::restored::KnownStates;
use crate::engine::unannotated::Unannotated;
use crate::plan::Invariant;
use crate::record::{Secrets, WriteEvent};

/// The observers of a run.
pub(in crate::engine) struct Observers {
    /// The values that the run must not print.
    pub(in crate::engine) secrets: Arc<Secrets>,
    /// The earlier states that the cluster can be compared with.
    pub(in crate::engine) states: KnownStates,
    /// The mutant of the run, if there is one.
    pub(in crate::engine) mutant_state: Option<MutantState>,
    pub(in crate::engine) invariants: Invariants,
    /// The nodes of clients that get machines.
    pub(in crate::engine) adoption: Adoption,
    /// Faults that begin and end later.
    pub(in crate::engine) agenda: Agenda,
    /// The faults that a user ended.
    pub(in crate::engine) unannotated: Unannotated,
    /// The counters of running components, also for clients that query pods.
    pub(in crate::engine) exports: Arc<Exports>,
    operator_logs: OperatorLogs,
    /// The marks that components have reached, with the time at which each was reached first.
    pub(in crate::engine) marks: BTreeMap<&'static str, Time>,
}

impl Observers {
    /// The observers of a run whose clock starts at `epoch`.
    pub(super) fn new(
        epoch: Time,
        secrets: Arc<Secrets>,
        exports: Arc<Exports>,
        environment: Arc<Environment>,
    ) -> Self {
        Self {
            secrets,
            states: KnownStates::default(),
            mutant_state: None,
            invariants: Invariants::new(Invariant::all(), epoch),
            adoption: Adoption::default(),
            agenda: Agenda::default(),
            unannotated: Unannotated::default(),
            operator_logs: OperatorLogs::new(environment, Arc::clone(&exports)),
            exports,
            marks: BTreeMap::new(),
        }
    }

    /// Takes over what the observers of another run know.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.secrets = Arc::new(Secrets::clone(&other.secrets));
        self.states = other.states.clone();
        self.invariants = other.invariants.clone();
        self.agenda = other.agenda.clone();
        self.unannotated = other.unannotated.clone();
        self.marks = other.marks.clone();
    }

    fn all(&mut self) -> impl Iterator<Item = &mut dyn Observer> {
        let mutant_state = self.mutant_state.as_mut().map(|mutant_state| mutant_state as &mut dyn Observer);
        let own: [&mut dyn Observer; 8] = [
            &mut self.secrets,
            &mut self.states,
            &mut self.invariants,
            &mut self.adoption,
            &mut self.agenda,
            &mut self.unannotated,
            &mut self.exports,
            &mut self.operator_logs,
        ];
        mutant_state.into_iter().chain(own)
    }

    /// Shows a change to all observers.
    pub(super) fn on_change(&mut self, change: &Change, view: &View, now: Time) {
        self.all().for_each(|observer| observer.on_change(change, view, now));
    }

    /// Shows a write to all observers.
    pub(super) fn on_write(&mut self, write: &WriteEvent, at: Time) {
        self.all().for_each(|observer| observer.on_write(write, at));
    }
}

impl Observer for Arc<Secrets> {
    fn on_change(&mut self, change: &Change, _: &View, _: Time) {
        if change.key.is_kind(&SECRETS) {
            self.learn_secret(&change.object);
        }
    }
}

//! The faults that are in effect, for the explanation of failures.

use windtunnel_core::clock::Time;

use crate::plan::{FaultTarget, InjectedFault};

/// The faults that are in effect, in the order of their beginnings.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct FaultsInEffect {
    now: Vec<(InjectedFault, Time)>,
    /// All that have begun in the run, also those that ended.
    begun: Vec<(InjectedFault, Time)>,
}

impl FaultsInEffect {
    /// Adds a fault that begins. It replaces an earlier one of the same target, unless the target can have
    /// several.
    pub(in crate::engine) fn begin(&mut self, fault: &InjectedFault, now: Time) {
        let can_have_several = matches!(
            fault,
            InjectedFault::Process(..) | InjectedFault::Release(..) | InjectedFault::Requests(_)
        );
        self.now
            .retain(|(other, _)| other != fault && (can_have_several || other.target() != fault.target()));
        self.now.push((fault.clone(), now));
        self.begun.push((fault.clone(), now));
    }

    /// Removes a fault that ends.
    pub(in crate::engine) fn end(&mut self, fault: &InjectedFault) {
        self.now.retain(|(other, _)| other != fault);
    }

    /// Removes all faults of a target. No requests mean those of all faults of the API server.
    pub(in crate::engine) fn end_all(&mut self, target: &FaultTarget) {
        self.now.retain(|(fault, _)| !target.includes(&fault.target()));
    }

    /// Whether a fault of a target is in effect, or ended by its own rules.
    pub(in crate::engine) fn has(&self, target: &FaultTarget) -> bool {
        self.now.iter().any(|(fault, _)| target.includes(&fault.target()))
    }

    /// The faults with the moments of their beginnings.
    pub(in crate::engine) fn iter(&self) -> impl Iterator<Item = &(InjectedFault, Time)> {
        self.now.iter()
    }

    /// The faults that have begun in the run, with the moments.
    pub(in crate::engine) fn begun(&self) -> impl Iterator<Item = &(InjectedFault, Time)> {
        self.begun.iter()
    }
}

//! Clusters that were installed before: suites begin many runs by the same cluster, and what an installation comes to follows from
//! the plan and the seed alone. The first run learns up to when nothing runs beside the engine, the second keeps a copy of
//! that moment, and all others go on from there.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;

use super::exports::Exports;
use super::simulation::Simulation;
use crate::base::clock::{Time, VirtualClock, after};
use crate::model::world::World;
use crate::record::{Header, Record};
use crate::scenario::plan::ClusterPlan;

/// How many clusters are remembered.
const REMEMBERED: usize = 8;
/// The nodes of the largest cluster that is: larger ones take memory, and their runs are long beside their installation.
const NODES_MAX: u32 = 30;
/// The grain of virtual time.
const GRAIN: SignedDuration = SignedDuration::from_millis(1);

/// What an installation follows from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Origin {
    pub(super) plan: ClusterPlan,
    pub(super) seed: u64,
    /// When the clock of the run starts.
    pub(super) epoch: Time,
}

/// A cluster that was installed before.
struct Known {
    origin: Origin,
    /// Up to when there are only actors, of which copies can be made.
    until: Time,
    /// The cluster as it was then.
    kept: Option<Simulation>,
}

/// How a cluster comes about.
pub(super) enum Beginning {
    /// It is installed.
    Install,
    /// The same, and at this moment a copy is to be kept.
    Keep(Time),
    /// It goes on from a copy.
    GoOn(Box<Simulation>),
}

/// The latest first.
static KNOWN: LazyLock<Mutex<VecDeque<Known>>> = LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, VecDeque<Known>> {
    // What is remembered is whole at any moment.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Origin {
    /// Whether a cluster of this origin is worth being remembered.
    pub(super) fn is_small(&self) -> bool {
        self.plan.control_plane_nodes + self.plan.worker_nodes <= NODES_MAX
    }

    /// How a cluster of this origin comes about, on the runtime of the caller and in a record with this header.
    pub(super) fn begin(&self, header: Header) -> Beginning {
        let mut known = known();
        let Some(place) = known.iter().position(|known| known.origin == *self) else {
            return Beginning::Install;
        };
        let Some(found) = known.remove(place) else { return Beginning::Install };
        let begin = match &found.kept {
            None => Beginning::Keep(found.until),
            Some(kept) => match kept.copied(header, found.until) {
                Some(copy) => Beginning::GoOn(Box::new(copy)),
                None => Beginning::Install,
            },
        };
        known.push_front(found);
        begin
    }

    /// Remembers that a cluster of this origin was installed.
    pub(super) fn remember(self, simulation: &Simulation) {
        let settled_at = simulation.record.header.epoch;
        let until = simulation.first_task.map_or(settled_at, |at| after(at, -GRAIN));
        let mut known = known();
        if known.iter().all(|known| known.origin != self) {
            known.truncate(REMEMBERED - 1);
            known.push_front(Known { origin: self, until, kept: None });
        }
    }

    /// Keeps a copy of a cluster of this origin.
    pub(super) fn keep(&self, simulation: &Simulation, now: Time) {
        let copy = simulation.copied(simulation.record.header.clone(), now);
        let mut known = known();
        if let Some(found) = known.iter_mut().find(|known| known.origin == *self && known.kept.is_none()) {
            found.kept = copy;
        }
    }
}

impl Simulation {
    /// A copy that goes on by itself from `now`, which is its moment, on the runtime of the caller; `None` where the API server or
    /// a process cannot be copied.
    fn copied(&self, header: Header, now: Time) -> Option<Self> {
        let clock = VirtualClock::starting_at(now);
        let mut door = self.door.copied(clock.clone())?;
        let exports = Arc::new(Exports::clone(&self.exports));
        door.answer_behind(exports.clone());
        let header = Header { epoch: self.record.header.epoch, ..header };
        let record = Record { header, entries: self.record.entries.clone() };
        let world = World { outages: self.world.outages.separate(), ..World::clone(&self.world) };
        let mut copy = Self::new(door, clock, Arc::new(world), self.streams, record);
        copy.exports = exports;
        copy.view = self.view.clone();
        copy.alerts.send_replace(self.alerts.borrow().clone());
        copy.processes = self.processes.copied()?;
        copy.machines = self.machines.clone();
        copy.phases = self.phases.clone();
        copy.invariants = self.invariants.clone();
        copy.pinned = self.pinned;
        copy.unserved.clone_from(&self.unserved);
        copy.agenda = self.agenda.clone();
        copy.take_over(self);
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use semver::Version;

    use super::*;
    use crate::engine::{EPOCH, Session};
    use crate::model::release::Release;

    /// The record of a cluster that is left alone.
    fn run(origin: &Origin, scenario: &str) -> Record {
        let mut session = Session::start(&origin.plan, scenario, &[], origin.seed).unwrap();
        session.advance(SignedDuration::from_mins(20)).unwrap();
        session.into_record()
    }

    #[test]
    fn runs_that_go_on_from_a_copy_have_the_same_record() {
        let release = Release::find(&Version::new(4, 18, 1)).unwrap();
        for insights in [false, true] {
            let plan = ClusterPlan { insights, worker_nodes: 1, ..ClusterPlan::of(release.clone()) };
            let origin = Origin { plan, seed: 1_402_776, epoch: EPOCH };
            let is_kept = || known().iter().any(|known| known.origin == origin && known.kept.is_some());
            let first = run(&origin, "one").hash();
            // Other tests have clusters remembered as well, and this one forgotten.
            let kept = (0..100).any(|_| {
                assert_eq!(run(&origin, "one").hash(), first, "insights: {insights}");
                is_kept()
            });
            assert!(kept, "insights: {insights}");
            assert_eq!(run(&origin, "one").hash(), first, "insights: {insights}");
            assert_eq!(run(&origin, "other").header.scenario, "other");
        }
    }
}

//! Clusters that were installed before: suites begin many runs by the same cluster, and what an installation comes to follows from
//! the plan and the seed alone. The first run keeps a copy of the moment when everything is written, and learns up to when
//! a copy is worth more; the second keeps one of that moment, and all others go on from there.
//!
//! Clusters that differ in what releases there are to go to are the same until somebody looks: copies are kept of the moment
//! before the first program runs in a container, which is mostly the cluster-version operator, and of that before something runs
//! beside the engine.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::clock::{Time, VirtualClock, after};
use windtunnel_openshift::graph::UpdateService;
use windtunnel_openshift::release::Release;
use windtunnel_openshift::world::World;

use crate::engine::runtime::Simulation;
use crate::engine::runtime::metrics::Exports;
use crate::plan::{ClusterPlan, ReleasePlan};
use crate::record::{Header, Record};

/// How many clusters are remembered.
const REMEMBERED: usize = 64;
/// The nodes of the largest cluster that is: larger ones take memory, and their runs are long beside their installation.
const NODES_MAX: u32 = 30;
/// The grain of virtual time.
const GRAIN: SignedDuration = SignedDuration::from_millis(1);

/// What an installation follows from.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) struct Origin {
    pub(in crate::engine) plan: ClusterPlan,
    pub(in crate::engine) seed: u64,
    /// When the clock of the run starts.
    pub(in crate::engine) epoch: Time,
    pub(in crate::engine) extent: Extent,
}

/// How far an installation follows from its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Extent {
    /// As long as nothing runs beside the engine.
    Actors,
    /// As long as no program of a container runs.
    Nodes,
}

/// A cluster that was installed before.
struct Known {
    origin: Origin,
    /// Up to when a copy can be made for others of this origin; `None` before that was seen.
    until: Option<Time>,
    /// The cluster as it was at a moment.
    kept: Option<(Time, Simulation)>,
}

/// How a cluster comes about.
#[derive(Default)]
pub(in crate::engine) struct Beginning {
    /// What it goes on from; without one it is installed.
    pub(in crate::engine) copy: Option<Box<Simulation>>,
    /// When a copy of it is to be kept.
    pub(in crate::engine) keep_at: Option<Time>,
}

/// The latest first.
static KNOWN: LazyLock<Mutex<VecDeque<Known>>> = LazyLock::new(Mutex::default);

fn known() -> MutexGuard<'static, VecDeque<Known>> {
    // What is remembered is whole at any moment.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Origin {
    /// All that an installation follows from, the one for the longest first; none where the cluster is not worth being remembered.
    pub(in crate::engine) fn all(plan: &ClusterPlan, seed: u64, epoch: Time) -> Vec<Self> {
        if plan.control_plane_nodes + plan.worker_nodes > NODES_MAX {
            return Vec::new();
        }
        let whole = Self { plan: plan.clone(), seed, epoch, extent: Extent::Actors };
        let inside = whole.inside();
        [whole].into_iter().chain(inside).collect()
    }

    /// What the cluster follows from before anybody looks which releases there are, and what the update service says of them;
    /// `None` where releases are told apart before, as by their images or payloads.
    fn inside(&self) -> Option<Self> {
        let mut plan = self.plan.clone();
        let own = &self.plan.release;
        // Nodes pull its images before that.
        let is_known = is_as_published(own)
            && plan.releases.iter().all(|planned| planned.release.version != own.version);
        let are_plain = |planned: &ReleasePlan| {
            planned.payload_version.is_none()
                && !planned.signature_config_map
                && is_as_published(&planned.release)
        };
        if !is_known || !plan.releases.iter().all(are_plain) {
            return None;
        }
        // Which operators there are depends on the minors.
        let first = |planned: &ReleasePlan| {
            let version = Version::new(planned.release.version.major, planned.release.version.minor, 0);
            Release::find(&version).ok().filter(|first| first.line() != own.line()).map(ReleasePlan::plain)
        };
        plan.releases = plan.releases.iter().filter_map(first).collect();
        plan.releases.sort_by(|one, other| one.release.version.cmp(&other.release.version));
        plan.releases.dedup();
        plan.update_service = UpdateService::default();
        Some(Self { plan, extent: Extent::Nodes, ..*self })
    }

    /// How a cluster of this origin comes about, on the runtime of the caller, in a record with this header and in that world.
    pub(in crate::engine) fn begin(&self, header: Header, world: &Arc<World>) -> Beginning {
        let mut known = known();
        let place = known.iter().position(|known| known.origin == *self);
        let Some(found) = place.and_then(|place| known.remove(place)) else { return Beginning::default() };
        let kept_at = found.kept.as_ref().map(|(at, _)| *at);
        let keep_at = found.until.filter(|until| kept_at.is_none_or(|at| at < *until));
        let copy = found.kept.as_ref().and_then(|(at, kept)| kept.copied(header, *at, Arc::clone(world)));
        known.push_front(found);
        Beginning { copy: copy.map(Box::new), keep_at }
    }

    /// Learns from a cluster of this origin up to when others are the same.
    pub(in crate::engine) fn learn(self, simulation: &Simulation) {
        let settled_at = simulation.record.header.epoch;
        let first = match self.extent {
            Extent::Actors => simulation.first_task,
            Extent::Nodes => simulation.first_program,
        };
        let until = first.map_or(settled_at, |at| after(at, -GRAIN));
        entry(&mut known(), self).until = Some(until);
    }

    /// Keeps a copy of a cluster of this origin.
    pub(in crate::engine) fn keep(&self, simulation: &Simulation, now: Time) {
        let world = Arc::clone(&simulation.world);
        let copy = simulation.copied(simulation.record.header.clone(), now, world);
        let mut known = known();
        let entry = entry(&mut known, self.clone());
        if entry.kept.as_ref().is_none_or(|(at, _)| *at < now) {
            entry.kept = copy.map(|copy| (now, copy));
        }
    }
}

/// What is known of an origin; the oldest is forgotten for a new one.
fn entry(known: &mut VecDeque<Known>, origin: Origin) -> &mut Known {
    let place = known.iter().position(|known| known.origin == origin).unwrap_or_else(|| {
        known.truncate(REMEMBERED - 1);
        known.push_front(Known { origin, until: None, kept: None });
        0
    });
    &mut known[place]
}

/// Whether a release is what is known of its version, for whatever machines.
fn is_as_published(release: &Release) -> bool {
    Release::find(&release.version).is_ok_and(|known| known.of(release.architecture) == *release)
}

impl Simulation {
    /// A copy that goes on by itself in `world` from `now`, which is its moment, on the runtime of the caller; `None` where the API
    /// server or a process cannot be copied.
    fn copied(&self, header: Header, now: Time, world: Arc<World>) -> Option<Self> {
        let clock = VirtualClock::starting_at(now);
        let mut door = self.door.copied(clock.clone())?;
        let exports = Arc::new(Exports::clone(&self.exports));
        door.answer_behind(exports.clone());
        let header = Header { epoch: self.record.header.epoch, ..header };
        let record = Record { header, entries: self.record.entries.clone() };
        let mut copy = Self::new(door, clock, world, self.streams, record);
        (copy.first_program, copy.first_task) = (self.first_program, self.first_task);
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
    use std::collections::BTreeMap;

    use windtunnel_controllers::registry::Pull;

    use super::*;
    use crate::engine::{EPOCH, Session};

    /// The record of a cluster that is left alone.
    fn run(origin: &Origin, scenario: &str) -> Record {
        let mut session = Session::start(&origin.plan, scenario, &[], origin.seed).unwrap();
        session.advance(SignedDuration::from_mins(20)).unwrap();
        session.into_record()
    }

    /// A cluster that nobody else installs, and what there is to go to.
    fn origin(insights: bool, releases: &[&str]) -> Origin {
        let find = |version: &str| Release::find(&version.parse().unwrap()).unwrap();
        let mut plan = ClusterPlan { insights, worker_nodes: 1, ..ClusterPlan::of(find("4.18.1")) };
        plan.releases = releases.iter().map(|version| ReleasePlan::plain(find(version))).collect();
        Origin { plan, seed: 1_402_776, epoch: EPOCH, extent: Extent::Actors }
    }

    #[test]
    fn runs_that_go_on_from_a_copy_have_the_same_record() {
        for insights in [false, true] {
            let origin = origin(insights, &[]);
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

    #[test]
    fn clusters_that_differ_in_where_they_can_go_begin_by_the_same_copy() {
        let (one, other) =
            (origin(true, &["4.18.3", "4.19.2"]), origin(true, &["4.19.1", "4.18.2", "4.18.7"]));
        assert_eq!(one.inside(), other.inside());
        // The first run of a plan installs its cluster, unless there is a copy.
        let hashes = || {
            known().clear();
            [&one, &other].map(|origin| run(origin, "").hash())
        };
        let installed = hashes();
        assert_ne!(installed[0], installed[1]);
        let inside = one.inside().unwrap();
        let kept = (0..100).any(|_| {
            known().retain(|known| known.origin.extent == Extent::Nodes);
            assert_eq!([&one, &other].map(|origin| run(origin, "").hash()), installed);
            known().iter().any(|known| known.origin == inside && known.kept.is_some())
        });
        assert!(kept);
        known().retain(|known| known.origin.extent == Extent::Nodes);
        assert_eq!(
            [&other, &one].map(|origin| run(origin, "").hash()),
            [installed[1].clone(), installed[0].clone()]
        );
    }

    #[test]
    fn what_is_seen_of_releases_at_once_keeps_clusters_apart() {
        let inside = |change: &dyn Fn(&mut ClusterPlan)| {
            let mut origin = origin(false, &["4.18.3"]);
            change(&mut origin.plan);
            origin.inside()
        };
        let plain = inside(&|_| {});
        assert_eq!(inside(&|plan| plan.releases[0].recommended = false), plain);
        assert_eq!(inside(&|plan| plan.releases[0].image.pull = Pull::Hangs), plain);
        assert_eq!(inside(&|plan| plan.update_service.channels = Some(BTreeMap::new())), plain);
        assert_ne!(
            inside(&|plan| plan.releases[0] =
                ReleasePlan::plain(Release::find(&Version::new(4, 19, 1)).unwrap())),
            plain
        );
        assert_eq!(inside(&|plan| plan.releases[0].signature_config_map = true), None);
        assert_eq!(inside(&|plan| plan.releases[0].payload_version = Some(Version::new(4, 18, 2))), None);
        assert_eq!(inside(&|plan| plan.releases[0].release = plan.release.clone()), None);
        assert_eq!(inside(&|plan| plan.releases[0].release.image.push('0')), None);
    }
}

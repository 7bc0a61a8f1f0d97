//! Snapshots of installed clusters. Suites start many runs from the same cluster, and an installation depends
//! on the plan and the seed alone. The first run takes a snapshot when all objects are written, and finds out
//! how long runs stay equal. The second run takes a snapshot of that later moment. All others start from it.
//!
//! Clusters that differ only in their update targets are equal until a component reads those. So there are
//! snapshots of two moments: before the first program runs in a container, which is mostly the cluster-version
//! operator, and before a task runs beside the engine.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;
use semver::Version;
use windtunnel_core::clock::{Time, after};
use windtunnel_openshift::environment::Environment;
use windtunnel_openshift::graph::UpdateService;
use windtunnel_openshift::release::Release;

use crate::engine::runtime::Simulation;
use crate::plan::{ClusterPlan, ReleasePlan};
use crate::record::{Header, Record};

/// The number of cached clusters.
const REMEMBERED: usize = 64;
/// The maximum number of nodes of a cached cluster. Larger ones take much memory, and their runs are long
/// compared to the installation.
const NODES_MAX: u32 = 30;
/// The resolution of virtual time.
const TIME_RESOLUTION: SignedDuration = SignedDuration::from_millis(1);

/// Everything that an installation depends on.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) struct SnapshotKey {
    pub(in crate::engine) plan: ClusterPlan,
    pub(in crate::engine) seed: u64,
    /// When the clock of the run starts.
    pub(in crate::engine) epoch: Time,
    pub(in crate::engine) extent: SnapshotExtent,
}

/// How long the origin determines the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum SnapshotExtent {
    /// Until a task runs beside the engine.
    Actors,
    /// Until a program runs in a container.
    Nodes,
}

/// A cluster that was installed before.
struct Known {
    origin: SnapshotKey,
    /// The latest time for a snapshot that others of this origin can continue; `None` until a run has shown
    /// it.
    until: Option<Time>,
    /// The snapshot, with its time.
    snapshot: Option<(Time, Simulation)>,
}

/// How to start a cluster.
#[derive(Default)]
pub(in crate::engine) struct StartPlan {
    /// The snapshot to continue; `None` to install the cluster.
    pub(in crate::engine) copy: Option<Box<Simulation>>,
    /// When to keep a snapshot of it.
    pub(in crate::engine) keep_at: Option<Time>,
}

/// The most recently used cluster first.
static KNOWN: LazyLock<Mutex<VecDeque<Known>>> = LazyLock::new(Mutex::default);

fn cache() -> MutexGuard<'static, VecDeque<Known>> {
    // A panic leaves no half-written entry.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SnapshotKey {
    /// The origins of a cluster, the one that determines it longest first; none if the cluster is too large
    /// to keep.
    pub(in crate::engine) fn all(plan: &ClusterPlan, seed: u64, epoch: Time) -> Vec<Self> {
        if plan.control_plane_nodes + plan.all_workers() > NODES_MAX {
            return Vec::new();
        }
        let whole = Self { plan: plan.clone(), seed, epoch, extent: SnapshotExtent::Actors };
        let inside = whole.shared_origin();
        [whole].into_iter().chain(inside).collect()
    }

    /// The origin of the cluster before a component looks at the other releases and the update service;
    /// `None` if releases make a difference earlier, such as by their images or payloads.
    fn shared_origin(&self) -> Option<Self> {
        let mut plan = self.plan.clone();
        let own = &self.plan.release;
        // Nodes pull the images of this release before that.
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
        // The set of operators depends on the minors.
        let first = |planned: &ReleasePlan| {
            let version = Version::new(planned.release.version.major, planned.release.version.minor, 0);
            Release::find(&version).ok().filter(|first| first.line() != own.line()).map(ReleasePlan::plain)
        };
        plan.releases = plan.releases.iter().filter_map(first).collect();
        plan.releases.sort_by(|one, other| one.release.version.cmp(&other.release.version));
        plan.releases.dedup();
        plan.update_service = UpdateService::default();
        Some(Self { plan, extent: SnapshotExtent::Nodes, ..*self })
    }

    /// Decides how to start a cluster of this origin, on the runtime of the caller, with this record header
    /// and environment.
    pub(in crate::engine) fn look_up(&self, header: Header, environment: &Arc<Environment>) -> StartPlan {
        let mut known = cache();
        let place = known.iter().position(|known| known.origin == *self);
        let Some(found) = place.and_then(|place| known.remove(place)) else { return StartPlan::default() };
        let snapshot_at = found.snapshot.as_ref().map(|(at, _)| *at);
        let keep_at = found.until.filter(|until| snapshot_at.is_none_or(|at| at < *until));
        let latest = found.snapshot.as_ref();
        let copy = latest.and_then(|(at, snapshot)| snapshot.snapshot(header, *at, Arc::clone(environment)));
        known.push_front(found);
        StartPlan { copy: copy.map(Box::new), keep_at }
    }

    /// Learns from a cluster of this origin how long others are equal.
    pub(in crate::engine) fn record_validity(self, simulation: &Simulation) {
        let settled_at = simulation.record.header.epoch;
        let first = match self.extent {
            SnapshotExtent::Actors => simulation.processes.first_task,
            SnapshotExtent::Nodes => simulation.processes.first_program,
        };
        let until = first.map_or(settled_at, |at| after(at, -TIME_RESOLUTION));
        entry(&mut cache(), self).until = Some(until);
    }

    /// Keeps a snapshot of a cluster of this origin.
    pub(in crate::engine) fn keep(&self, simulation: &Simulation, now: Time) {
        let environment = Arc::clone(&simulation.environment);
        let copy = simulation.snapshot(simulation.record.header.clone(), now, environment);
        let mut known = cache();
        let entry = entry(&mut known, self.clone());
        if entry.snapshot.as_ref().is_none_or(|(at, _)| *at < now) {
            entry.snapshot = copy.map(|copy| (now, copy));
        }
    }
}

/// The entry of an origin. A new entry replaces the oldest.
fn entry(known: &mut VecDeque<Known>, origin: SnapshotKey) -> &mut Known {
    let place = known.iter().position(|known| known.origin == origin).unwrap_or_else(|| {
        known.truncate(REMEMBERED - 1);
        known.push_front(Known { origin, until: None, snapshot: None });
        0
    });
    &mut known[place]
}

/// Whether a release is equal to the published one of its version, for any architecture.
fn is_as_published(release: &Release) -> bool {
    Release::find(&release.version)
        .is_ok_and(|known| known.for_architecture(release.architecture) == *release)
}

impl Simulation {
    /// A separate copy that continues the record under this header; `None` if something in it cannot be copied.
    fn snapshot(&self, header: Header, now: Time, environment: Arc<Environment>) -> Option<Self> {
        if self.processes.has_tasks() {
            return None;
        }
        let header = Header { epoch: self.record.header.epoch, ..header };
        let record = Record::new(header, self.record.entries.clone());
        self.fork(record, now, environment)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use windtunnel_controllers::registry::Pull;

    use super::*;
    use crate::engine::{EPOCH, Session};
    use crate::plan::Plan;

    /// The record of an idle cluster.
    fn run(origin: &SnapshotKey, scenario: &str) -> Record {
        let plan = Plan { name: scenario.to_owned(), ..Plan::new(origin.plan.clone(), Vec::new()) };
        let mut session = Session::start(&plan, origin.seed).unwrap();
        session.advance(SignedDuration::from_mins(20)).unwrap();
        session.into_record()
    }

    /// A cluster that no other test installs, with these update targets.
    fn origin(insights: bool, releases: &[&str]) -> SnapshotKey {
        let find = |version: &str| Release::find(&version.parse().unwrap()).unwrap();
        let mut plan = ClusterPlan { insights, worker_nodes: 1, ..ClusterPlan::new(find("4.18.1")) };
        plan.releases = releases.iter().map(|version| ReleasePlan::plain(find(version))).collect();
        SnapshotKey { plan, seed: 1_402_776, epoch: EPOCH, extent: SnapshotExtent::Actors }
    }

    #[test]
    fn runs_from_a_snapshot_have_the_same_record() {
        for insights in [false, true] {
            let origin = origin(insights, &[]);
            let is_cached = || cache().iter().any(|known| known.origin == origin && known.snapshot.is_some());
            let first = run(&origin, "one").hash();
            // Other tests cache clusters as well, which can push this one out.
            let was_cached = (0..100).any(|_| {
                assert_eq!(run(&origin, "one").hash(), first, "insights: {insights}");
                is_cached()
            });
            assert!(was_cached, "insights: {insights}");
            assert_eq!(run(&origin, "one").hash(), first, "insights: {insights}");
            assert_eq!(run(&origin, "other").header.scenario, "other");
        }
    }

    #[test]
    fn clusters_that_differ_in_update_targets_share_a_snapshot() {
        let (one, other) =
            (origin(true, &["4.18.3", "4.19.2"]), origin(true, &["4.19.1", "4.18.2", "4.18.7"]));
        assert_eq!(one.shared_origin(), other.shared_origin());
        // The first run of a plan installs its cluster, unless there is a snapshot.
        let hashes = || {
            cache().clear();
            [&one, &other].map(|origin| run(origin, "").hash())
        };
        let installed = hashes();
        assert_ne!(installed[0], installed[1]);
        let inside = one.shared_origin().unwrap();
        let was_cached = (0..100).any(|_| {
            cache().retain(|known| known.origin.extent == SnapshotExtent::Nodes);
            assert_eq!([&one, &other].map(|origin| run(origin, "").hash()), installed);
            cache().iter().any(|known| known.origin == inside && known.snapshot.is_some())
        });
        assert!(was_cached);
        cache().retain(|known| known.origin.extent == SnapshotExtent::Nodes);
        assert_eq!(
            [&other, &one].map(|origin| run(origin, "").hash()),
            [installed[1].clone(), installed[0].clone()]
        );
    }

    #[test]
    fn releases_that_matter_at_once_prevent_sharing() {
        let inside = |change: &dyn Fn(&mut ClusterPlan)| {
            let mut origin = origin(false, &["4.18.3"]);
            change(&mut origin.plan);
            origin.shared_origin()
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

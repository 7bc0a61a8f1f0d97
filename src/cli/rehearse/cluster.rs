//! The cluster of one dump, and its runs.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use semver::Version;
use windtunnel_core::Object;
use windtunnel_openshift::release::Release;

use super::{check_targets, what_if};
use crate::cli::args::RehearseArgs;
use crate::cli::dump_files::cluster::Dumped;
use crate::cli::parallel::in_parallel;
#[cfg(feature = "live")]
use crate::cli::print_notice;
use crate::cli::start_from::{StartFrom, other_facts};
use crate::cli::terminal::progress::Progress;
use crate::engine::SessionError;
use crate::plan::{ClusterPlan, Plan, ReleasePlan};
use crate::record::Record;
use crate::rehearsal::{Rehearsed, Report, Unseen, rehearse, unseen, warnings};

/// What every rehearsal takes for granted.
const ASSUMED: [&str; 3] = [
    "webhooks with a URL, and those whose Service has a ready endpoint, allow every request",
    "images that a dump cannot show can be pulled; the release is signed as the cluster expects",
    "conditional risks do not come true: the warnings have those that apply or may apply",
];

/// A cluster to rehearse.
pub(super) struct Cluster {
    pub(super) dumped: Dumped,
    pub(super) plan: Plan,
    pub(super) targets: Vec<Version>,
    start: StartFrom,
    /// What was read of a live cluster; `None` for a dump.
    live: Option<Live>,
}

/// What was read of a live cluster, and what could not be.
#[derive(Clone)]
struct Live {
    unread: Vec<Unseen>,
    notice: String,
}

/// The result of the runs of a cluster.
pub(super) struct Outcome {
    pub(super) report: Report,
    /// The run with the first seed, and its record.
    pub(super) first: Rehearsed,
    pub(super) record: Record,
}

impl Cluster {
    /// Reads a dump or a record, without the values of Secrets.
    ///
    /// # Errors
    /// It cannot be read, has no cluster that can be simulated, or cannot be updated to the releases of the arguments.
    pub(super) fn read(path: &Path, args: &RehearseArgs) -> Result<Self, String> {
        Self::of(Dumped::read(path, None)?.without_secrets(), path, args)
    }

    /// Reads the cluster of a kubeconfig.
    ///
    /// # Errors
    /// It does not answer, cannot be simulated, or cannot be updated to the releases of the arguments.
    #[cfg(feature = "live")]
    pub(super) fn read_live(kubeconfig: &Path, args: &RehearseArgs) -> Result<Self, String> {
        let read = super::live::read(kubeconfig)?;
        print_notice(&read.notice);
        let live = Live { unread: read.unread, notice: read.notice };
        Ok(Self { live: Some(live), ..Self::of(read.dumped, kubeconfig, args)? })
    }

    /// The same cluster with a change.
    ///
    /// # Errors
    /// The change cannot be parsed, or the dump has no such object.
    pub(super) fn changed(&self, path: &Path, args: &RehearseArgs, change: &str) -> Result<Self, String> {
        let mut dumped = self.dumped.clone();
        what_if::apply(&mut dumped, change)?;
        Ok(Self { live: self.live.clone(), ..Self::of(dumped, path, args)? })
    }

    fn of(dumped: Dumped, path: &Path, args: &RehearseArgs) -> Result<Self, String> {
        let start = StartFrom::of(&dumped, path, &[])?;
        let mut targets: Vec<Version> =
            start.unfinished().cloned().into_iter().chain(args.targets()).collect();
        targets.dedup();
        let releases = targets.iter().map(|target| ReleasePlan::plain(Release::nearest(target))).collect();
        let cluster = ClusterPlan { releases, ..ClusterPlan::new(Release::nearest(&args.to)) };
        let mut plan = Plan::new(cluster, Vec::new());
        start.apply(&mut plan);
        check_targets(&plan.cluster.release.version, &targets)?;
        Ok(Self { dumped, plan, targets, start, live: None })
    }

    /// The release of the cluster.
    pub(super) fn from(&self) -> &Version {
        &self.plan.cluster.release.version
    }

    /// The objects of the dump.
    pub(super) fn objects(&self) -> Vec<&Object> {
        self.dumped.objects.iter().map(|(_, object)| object).collect()
    }

    /// The kinds of objects that can hold the update up, and that the copy leaves out.
    pub(super) fn left_out_kinds(&self) -> Vec<String> {
        let mut kinds: Vec<String> = self.start.left_out().map(|left| left.kind.clone()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Runs the update with each seed.
    ///
    /// # Errors
    /// The copy of the cluster cannot run.
    pub(super) fn rehearse(
        &self,
        args: &RehearseArgs,
        jobs: usize,
        progress: &Progress,
    ) -> Result<Outcome, String> {
        let seeds: Vec<u64> = args.seeds.iter().collect();
        let first = seeds.first().copied();
        let runs = in_parallel(&seeds, jobs, |seed| {
            let run = rehearse(&self.plan, &self.targets, *seed);
            let failed = run.as_ref().map_or(true, |(run, _)| !run.stops.is_empty());
            progress.done(next_run(), String::new(), &format!("{} with seed {seed}", self.from()), failed);
            // Only the first record is used, and records of large clusters are large.
            run.map(|(run, record)| (run, (Some(*seed) == first).then_some(record)))
        });
        let runs: Vec<(Rehearsed, Option<Record>)> = runs
            .into_iter()
            .collect::<Result<_, SessionError>>()
            .map_err(|error| format!("the copy of the cluster cannot run: {error}"))?;
        let (mut runs, mut records): (Vec<Rehearsed>, Vec<Option<Record>>) = runs.into_iter().unzip();
        let mut report = Report::new(self.from().clone(), &self.targets, &runs);
        let record = records.swap_remove(0).ok_or("there is no seed")?;
        let first = runs.swap_remove(0);
        report.explain_length(&record, &first);
        self.complete(&mut report);
        Ok(Outcome { report, first, record })
    }

    /// Adds what needs no run.
    fn complete(&self, report: &mut Report) {
        let objects = self.objects();
        report.warnings = warnings(&self.dumped.evidence(&objects), &report.from, &self.targets);
        // A kind without objects in a live cluster was seen.
        report.unseen = match &self.live {
            Some(live) => live.unread.clone(),
            None => unseen(&objects),
        };
        let left_out = self.start.left_out().map(|left| Unseen {
            what: format!("what {} {} does: {}", left.kind, left.name, left.why),
            collect: format!("it is in {}, and not taken over", left.file),
        });
        report.unseen.extend(left_out);
        let facts = self.targets.iter().filter_map(|target| other_facts(&Release::nearest(target)));
        let live = self.live.iter().map(|live| live.notice.clone());
        let assumed = ASSUMED.iter().map(ToString::to_string).chain(live).chain(facts);
        report.assumed = assumed.chain(self.start.notices().iter().cloned()).collect();
    }
}

/// The number of a run in this process.
fn next_run() -> usize {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    RUNS.fetch_add(1, Ordering::Relaxed)
}
